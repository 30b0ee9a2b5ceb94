package importer

import (
	"fmt"
	"strings"
)

// filter translates `value | name(arguments)` of Pebble and of templates like it.
func (t *translator) filter(n *node) (expr, error) {
	if of := n.args[0]; n.text == "first" && of.op == "filter" && of.text == "jq" {
		return t.value(of) // a program of jq gives a list of results
	}
	args := make([]expr, len(n.args))
	for i, arg := range n.args {
		e, err := t.value(arg)
		if err != nil && !(i == 0 && n.text == "default") {
			return e, err
		}
		args[i] = e
	}
	for _, arg := range args {
		if err := secretAlone(arg); err != nil {
			return arg, err
		}
	}
	if e, ok := textFilter(n.text, args); ok {
		return e, nil
	}
	if e, ok := listFilter(n.text, args); ok {
		return e, nil
	}
	of := args[0]
	switch n.text {
	case "default":
		if len(args) != 2 {
			break
		}
		if of.source == "" { // of what nothing is known
			return args[1], nil
		}
		of.absent = true
		return t.join("??", of, args[1])
	case "jq":
		return jq(of, n.args[1:])
	case "json", "toJson":
		return expr{source: "toJSON(" + of.present().source + ")", kind: kindText}, nil
	case "fromJson", "ion":
		return expr{source: "fromJSON(" + of.asText() + ")", kind: kindAny}, nil
	case "date":
		return dateFilter(of, n.args[1:])
	case "number", "numberFormat":
		return expr{source: "float(" + of.asText() + ")", kind: kindNumber}, nil
	case "string":
		return expr{source: of.asText(), kind: kindText}, nil
	case "abs":
		return expr{source: "abs(" + of.present().source + ")", kind: kindNumber}, nil
	}
	return expr{}, fmt.Errorf("the filter `%s` has no counterpart", n.text)
}

func textFilter(name string, args []expr) (expr, bool) {
	of := args[0].asText()
	made := func(source string) (expr, bool) { return expr{source: source, kind: kindText}, true }
	switch {
	case name == "upper" || name == "lower" || name == "trim":
		return made(name + "(" + of + ")")
	case name == "replace" && len(args) == 3:
		return made("replace(" + of + ", " + args[1].source + ", " + args[2].source + ")")
	case name == "split" && len(args) == 2:
		return expr{source: "split(" + of + ", " + args[1].source + ")", kind: kindList}, true
	case name == "base64encode":
		return made("toBase64(" + of + ")")
	case name == "base64decode":
		return made("fromBase64(" + of + ")")
	case name == "sha256":
		return made("sha256(" + of + ")")
	}
	return expr{}, false
}

func listFilter(name string, args []expr) (expr, bool) {
	of := args[0].present().source
	switch {
	case name == "first" || name == "last":
		return expr{source: name + "(" + of + ")", kind: kindAny, absent: true}, true
	case name == "length":
		return expr{source: "len(" + of + ")", kind: kindNumber}, true
	case name == "keys" || name == "values" || name == "sort" || name == "reverse":
		return expr{source: name + "(" + of + ")", kind: kindList}, true
	case name == "join":
		by := `""`
		if len(args) == 2 {
			by = args[1].source
		}
		return expr{source: "join(" + of + ", " + by + ")", kind: kindText}, true
	}
	return expr{}, false
}

// jq translates the simplest of its programs: a path of names.
func jq(of expr, args []*node) (expr, error) {
	if len(args) == 1 {
		program, ok := args[0].literalText()
		if path, dotted := strings.CutPrefix(program, "."); ok && dotted {
			if path == "" {
				return of, nil
			}
			simple := true
			for _, name := range strings.Split(path, ".") {
				simple = simple && isField(name)
			}
			if simple {
				return expr{source: "get(" + of.present().source + ", " + quoteText(path) + ")", kind: kindAny, absent: true}, nil
			}
		}
	}
	return expr{}, fmt.Errorf("jq has no counterpart but for `.a.b`: write it with map, filter, get")
}

// javaLayout are the letters of Java's layouts of times, the longest first.
var javaLayout = []string{
	"yyyy", "2006", "SSS", "000", "yy", "06", "MM", "01", "dd", "02", "HH", "15", "hh", "03", "mm", "04", "ss", "05", "EEEE", "Monday", "a", "PM",
}

// dateFilter translates `now() | date("yyyy-MM-dd")`.
func dateFilter(of expr, args []*node) (expr, error) {
	if len(args) == 0 {
		return of, nil
	}
	layout, ok := args[0].literalText()
	if !ok {
		return expr{}, fmt.Errorf("a layout that is not written out has no counterpart")
	}
	if layout == "" || strings.ContainsAny(layout, "'") {
		return expr{}, fmt.Errorf("the layout `%s` has no counterpart: formatTime has Go's", layout)
	}
	return expr{source: "formatTime(" + of.source + ", " + quoteText(strings.NewReplacer(javaLayout...).Replace(layout)) + ")", kind: kindText}, nil
}

// test translates `value is name`.
func (t *translator) test(n *node) (expr, error) {
	of, err := t.value(n.args[0])
	if err != nil {
		return of, err
	}
	switch n.text {
	case "defined":
		if !of.absent {
			return expr{source: "true", kind: kindBool}, nil
		}
		return expr{source: of.operand() + " != nil", kind: kindBool, joined: true}, nil
	case "null":
		return expr{source: of.operand() + " == nil", kind: kindBool, joined: true}, nil
	case "empty":
		return expr{source: "not (" + of.condition() + ")", kind: kindBool, joined: true}, nil
	case "even", "odd":
		rest := map[string]string{"even": "0", "odd": "1"}[n.text]
		return expr{source: of.operand() + " % 2 == " + rest, kind: kindBool, joined: true}, nil
	}
	return expr{}, fmt.Errorf("the test `is %s` has no counterpart", n.text)
}
