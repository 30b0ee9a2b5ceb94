package importer

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

var daguVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\\$\\{([A-Za-z_]\\w*|[0-9]+)((?:\\.[\\w-]+|\\[[0-9]+\\])*)\\}|\\$([A-Za-z_]\\w*|[0-9]+)|`[^`]*`")
})

// value is what a variable stands for, with a path into its JSON behind it.
func (d *dagu) value(name, path string) (expr, error) {
	if _, is := d.secrets[name]; is && path == "" {
		return expr{source: "secrets." + d.secrets[name], kind: kindText, secret: d.secrets[name]}, nil
	}
	if name == "ITEM" && d.item != "" {
		e := expr{source: d.item, kind: kindAny}
		for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
			e = member(e, part)
		}
		return e, nil
	}
	if e, ok := d.names[name]; ok {
		if path == "" {
			return e, nil
		}
		return expr{source: "get(fromJSON(" + e.asText() + "), " + quoteText(strings.TrimPrefix(path, ".")) + ")", kind: kindAny, absent: true}, nil
	}
	switch name {
	case "DAG_NAME":
		return expr{source: "run.workflow", kind: kindText}, nil
	case "DAG_RUN_ID", "DAG_REQUEST_ID":
		return expr{source: "run.id", kind: kindText}, nil
	case "DAG_RUN_STATUS":
		return expr{source: "run.status", kind: kindText}, nil
	}
	if id, ok := d.steps[name]; ok {
		switch path {
		case ".stdout":
			return expr{source: "trim(steps." + id + `?.outputs?.text ?? "")`, kind: kindText}, nil
		case ".exit_code", ".exitCode":
			return expr{source: "steps." + id + "?.outputs?.exit_code", kind: kindNumber, absent: true}, nil
		case ".status":
			return expr{source: "steps." + id + ".status", kind: kindText}, nil
		}
	}
	return expr{}, fmt.Errorf("nothing of the file sets `%s`: make it an input", name)
}

// template translates a text with variables.
func (d *dagu) template(source string) template {
	var t template
	last := 0
	for _, at := range daguVariable().FindAllStringSubmatchIndex(source, -1) {
		if at[0] > last {
			t.parts = append(t.parts, translated{text: source[last:at[0]]})
		}
		last = at[1]
		shown := source[at[0]:at[1]]
		if shown[0] == '`' {
			t.gaps = append(t.gaps, shown+": what a command says is the output of a step")
			t.parts = append(t.parts, translated{text: shown})
			continue
		}
		name, path := "", ""
		if at[2] >= 0 {
			name, path = source[at[2]:at[3]], source[at[4]:at[5]]
		} else {
			name = source[at[6]:at[7]]
		}
		e, err := d.value(name, path)
		if err == nil && e.secret != "" && len(shown) != len(source) {
			err = secretAlone(e)
		}
		if err != nil {
			t.gaps = append(t.gaps, "`"+shown+"`: "+err.Error())
			t.parts = append(t.parts, translated{text: shown, left: true})
			continue
		}
		t.parts = append(t.parts, translated{expr: e, isExpr: true})
	}
	if last < len(source) || len(t.parts) == 0 {
		t.parts = append(t.parts, translated{text: source[last:]})
	}
	return t
}

// inShell is the text of a script: variables that the file sets are given to it by their
// names, parts of JSON by names of their own. A shell knows the others, or nobody does.
func (d *dagu) inShell(c *command, source string) string {
	return daguVariable().ReplaceAllStringFunc(source, func(shown string) string {
		at := daguVariable().FindStringSubmatch(shown)
		if shown[0] == '`' {
			for _, inner := range daguVariable().FindAllStringSubmatch(strings.Trim(shown, "`"), -1) {
				d.give(c, inner[1]+inner[3], inner[2])
			}
			return shown
		}
		if name, ok := d.give(c, at[1]+at[3], at[2]); ok && (at[2] != "" || at[1]+at[3] != name) {
			return "${" + name + "}"
		}
		return shown
	})
}

// give gives a command what a variable stands for.
func (d *dagu) give(c *command, name, path string) (string, bool) {
	e, err := d.value(name, path)
	if err != nil {
		return "", false
	}
	if e.secret != "" {
		return c.giveSecret(name, e.secret), true
	}
	return c.give(name+strings.ReplaceAll(path, ".", "_"), "${{ "+e.asText()+" }}"), true
}

var comparison = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^`?\\s*(?:test|\\[)\\s+\"?(\\S+?)\"?\\s+(-lt|-le|-gt|-ge|-eq|-ne|=|==|!=)\\s+\"?([^\\s\"]+)\"?\\s*\\]?\\s*(?:&&\\s*echo\\s+\\S+)?\\s*`?$")
})

// compared translates `test A -lt B`.
func (d *dagu) compared(source string, own map[string]expr) (string, bool) {
	found := comparison().FindStringSubmatch(source)
	if found == nil {
		return "", false
	}
	operator := map[string]string{"-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">=", "-eq": "==", "-ne": "!=", "=": "==", "==": "==", "!=": "!="}[found[2]]
	sides := [2]expr{}
	for i, side := range []string{found[1], found[3]} {
		t := d.templateWith(side, own)
		if len(t.gaps) > 0 || t.hasSecret() {
			return "", false
		}
		sides[i] = t.source()
		if !strings.HasPrefix(found[2], "-") {
			continue
		}
		if isInteger(side) {
			sides[i] = expr{source: side, kind: kindNumber}
		} else {
			sides[i] = expr{source: "float(" + sides[i].asText() + ")", kind: kindNumber}
		}
	}
	return sides[0].operand() + " " + operator + " " + sides[1].operand(), true
}

// templateWith is template where some variables mean something of their own.
func (d *dagu) templateWith(source string, own map[string]expr) template {
	before := map[string]expr{}
	for name, e := range own {
		before[name] = d.names[name]
		d.names[name] = e
	}
	t := d.template(source)
	for name, e := range before {
		if e.source == "" {
			delete(d.names, name)
		} else {
			d.names[name] = e
		}
	}
	return t
}
