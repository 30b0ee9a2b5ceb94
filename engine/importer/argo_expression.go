package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// argoScope is what tags mean within a template.
type argoScope struct {
	*argo
	args  map[string]expr      // inputs.parameters
	calls map[string]*argoCall // steps and tasks that were written out
	item  string
	of    kind   // of the item
	tags  []expr // of a condition, by their numbers
	loose bool
}

// argoCall is a call of a template, and what it gives.
type argoCall struct {
	ends       []string
	result     expr
	parameters map[string]expr
	status     string // the step whose status it has
	command    bool   // it is a command, with an exit code
}

// inner is the scope of a template that is called with arguments.
func (s *argoScope) inner(args map[string]expr) *argoScope {
	return &argoScope{argo: s.argo, args: args, calls: map[string]*argoCall{}, item: "", loose: s.loose}
}

func (s *argoScope) translator() *translator { return &translator{scope: s, dialect: dialect{}} }

// template translates a text with `{{ }}` and `{{= }}`.
func (s *argoScope) template(source string) template {
	parts := split(source, "{{", "}}")
	var made template
	for _, p := range parts {
		if !p.isExpr {
			made.parts = append(made.parts, translated{text: p.text})
			continue
		}
		e, err := s.tag(p.text)
		if err != nil {
			shown := "{{" + p.text + "}}"
			made.gaps = append(made.gaps, "`"+oneLine(shown)+"`: "+err.Error())
			made.parts = append(made.parts, translated{text: shown, left: true})
			continue
		}
		made.parts = append(made.parts, translated{expr: e, isExpr: true})
	}
	return made
}

func (s *argoScope) tag(source string) (expr, error) {
	source = strings.TrimSpace(source)
	if expression, ok := strings.CutPrefix(source, "="); ok {
		return s.translator().expression(expression)
	}
	return s.read(strings.Split(source, "."))
}

func (s *argoScope) read(path []string) (expr, error) {
	if len(path) == 1 && strings.HasPrefix(path[0], "tag__") {
		if n, err := strconv.Atoi(path[0][5:]); err == nil && n < len(s.tags) {
			return s.tags[n], nil
		}
	}
	switch {
	case len(path) == 3 && path[0] == "inputs" && path[1] == "parameters":
		if e, ok := s.args[path[2]]; ok {
			return e, nil
		}
		return expr{}, fmt.Errorf("the template is called without `%s`", path[2])
	case len(path) == 3 && path[0] == "workflow" && path[1] == "parameters":
		if _, ok := s.declared[identifierOr(path[2])]; ok {
			return expr{source: "inputs." + identifierOr(path[2]), kind: kindText}, nil
		}
	case path[0] == "workflow" && len(path) == 2:
		names := map[string]string{"name": "run.id", "uid": "run.id", "status": "run.status", "creationTimestamp": "run.started_at", "scheduledTime": "run.scheduled_at", "mainEntrypoint": "run.workflow"}
		if source := names[path[1]]; source != "" {
			return expr{source: source, kind: map[bool]kind{true: kindText, false: kindAny}[!strings.HasSuffix(source, "_at")]}, nil
		}
	case path[0] == "item" && s.item != "":
		e := expr{source: s.item, kind: s.of}
		for _, name := range path[1:] {
			e = member(e, name)
		}
		return e, nil
	case (path[0] == "steps" || path[0] == "tasks") && len(path) > 2:
		return s.called(path[1], path[2:])
	case s.tags != nil: // a word of a condition is a text
		return expr{source: quoteText(strings.Join(path, ".")), kind: kindText}, nil
	}
	return expr{}, fmt.Errorf("%s has no counterpart", oneLine(strings.Join(path, ".")))
}

func (s *argoScope) called(name string, path []string) (expr, error) {
	call := s.calls[name]
	switch {
	case call == nil:
		return expr{}, fmt.Errorf("there is no step `%s` before", oneLine(name))
	case path[0] == "status" && call.status != "":
		return expr{source: "steps." + call.status + ".status", kind: kindText}, nil
	case path[0] == "outputs" && len(path) == 2 && path[1] == "result" && call.result.source != "":
		return call.result, nil
	case path[0] == "outputs" && len(path) == 3 && path[1] == "parameters":
		if e, ok := call.parameters[path[2]]; ok {
			return e, nil
		}
	case path[0] == "exitCode" && call.command:
		return expr{source: "steps." + call.status + "?.outputs?.exit_code", kind: kindNumber, absent: true}, nil
	}
	return expr{}, fmt.Errorf("the step `%s` gives no %s here", oneLine(name), oneLine(strings.Join(path, ".")))
}

// argoStatus are the words for the ends of steps and workflows.
var argoStatus = sync.OnceValue(func() map[string]string {
	return map[string]string{"Succeeded": "succeeded", "Failed": "failed", "Error": "failed", "Skipped": "skipped", "Omitted": "blocked"}
})

// compare knows what `{{steps.a.status}} == Succeeded` means.
func (s *argoScope) compare(op string, a, b *node) (expr, bool) {
	of, err := s.translator().value(a)
	if err != nil || !strings.HasSuffix(of.source, ".status") {
		return expr{}, false
	}
	word := b.text
	status := argoStatus()[word]
	if status == "" {
		return expr{}, false
	}
	return expr{source: of.source + " " + op + " " + quoteText(status), kind: kindBool, joined: true}, true
}

func (s *argoScope) call(name string, args []*node, t *translator) (expr, error) {
	values := make([]expr, len(args))
	for i, arg := range args {
		e, err := t.plain(arg)
		if err != nil {
			return e, err
		}
		values[i] = e
	}
	if len(values) == 0 {
		return expr{}, fmt.Errorf("`%s()` has no counterpart", name)
	}
	of := values[0]
	made := func(k kind, function string) (expr, error) {
		return expr{source: function + "(" + of.present().source + ")", kind: k}, nil
	}
	switch strings.TrimPrefix(name, "sprig.") {
	case "asInt", "int", "atoi":
		return expr{source: "int(" + of.present().source + ")", kind: kindNumber}, nil
	case "asFloat", "float":
		return made(kindNumber, "float")
	case "string", "toString":
		return expr{source: of.asText(), kind: kindText}, nil
	case "toJson", "toJSON":
		return made(kindText, "toJSON")
	case "fromJson", "fromJSON":
		return made(kindAny, "fromJSON")
	case "upper", "lower", "trim":
		return made(kindText, strings.TrimPrefix(name, "sprig."))
	case "len":
		return made(kindNumber, "len")
	case "jsonpath":
		if path, ok := args[len(args)-1].literalText(); ok && len(args) == 2 && strings.HasPrefix(path, "$.") {
			return expr{source: "get(fromJSON(" + of.asText() + "), " + quoteText(path[2:]) + ")", kind: kindAny, absent: true}, nil
		}
	case "default":
		if len(values) == 2 {
			return choice(values[1], values[1], of), nil
		}
	}
	return expr{}, fmt.Errorf("`%s()` has no counterpart", name)
}

// condition translates `when`: tags among words.
func (s *argoScope) condition(source string) (string, error) {
	if expression, ok := strings.CutPrefix(strings.TrimSpace(source), "{{="); ok && strings.HasSuffix(strings.TrimSpace(source), "}}") && strings.Count(source, "{{") == 1 {
		return s.translator().condition(strings.TrimSuffix(strings.TrimSpace(expression), "}}"))
	}
	inner := *s
	inner.tags = []expr{}
	var b strings.Builder
	for _, p := range split(source, "{{", "}}") {
		if !p.isExpr {
			b.WriteString(p.text)
			continue
		}
		e, err := s.tag(p.text)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, " tag__%d ", len(inner.tags))
		inner.tags = append(inner.tags, e)
	}
	t := &translator{scope: &inner, dialect: dialect{hyphens: true}}
	unquoted := strings.NewReplacer(`"  tag__`, " tag__", `' tag__`, " tag__", `" tag__`, " tag__").Replace(b.String())
	for i := range inner.tags {
		for _, sign := range []string{`"`, "'"} {
			unquoted = strings.ReplaceAll(unquoted, fmt.Sprintf("tag__%d %s", i, sign), fmt.Sprintf("tag__%d ", i))
		}
	}
	return t.condition(unquoted)
}

// depends translates `A && (B.Succeeded || C.Failed)`.
func (s *argoScope) depends(source string) (needs []string, runIf, cond string, err error) {
	n, err := parseExpression(source, dialect{hyphens: true})
	if err != nil {
		return nil, "", "", err
	}
	plain := true
	var walk func(n *node) (string, error)
	walk = func(n *node) (string, error) {
		if path, ok := n.path(); ok {
			call := s.calls[path[0]]
			if call == nil || len(path) > 2 || call.status == "" {
				return "", fmt.Errorf("there is no task `%s` before", oneLine(strings.Join(path, ".")))
			}
			for _, end := range call.ends {
				if !slices.Contains(needs, end) {
					needs = append(needs, end)
				}
			}
			of := "steps." + call.status + ".status"
			switch last := path[len(path)-1]; {
			case len(path) == 1:
				return of + ` in ["succeeded", "skipped"]`, nil
			case argoStatus()[last] != "":
				plain = plain && last == "Succeeded"
				return of + " == " + quoteText(argoStatus()[last]), nil
			}
			plain = false
			return "", fmt.Errorf("%s has no counterpart", path[1])
		}
		switch n.op {
		case "&&", "||":
			plain = plain && n.op == "&&"
			a, err := walk(n.args[0])
			if err != nil {
				return "", err
			}
			b, err := walk(n.args[1])
			if bindsLess(b) && n.op == "&&" {
				b = "(" + b + ")"
			}
			if bindsLess(a) && n.op == "&&" {
				a = "(" + a + ")"
			}
			return a + " " + n.op + " " + b, err
		case "not":
			plain = false
			of, err := walk(n.args[0])
			return "not (" + of + ")", err
		}
		return "", fmt.Errorf("it is no condition over tasks")
	}
	cond, err = walk(n)
	if plain || err != nil {
		return needs, "", "", err
	}
	return needs, "any", cond, nil
}

// withItem is the scope within a loop.
func (s *argoScope) withItem(item string, list *value) *argoScope {
	inner := *s
	inner.item, inner.of = item, kindAny
	if slices.ContainsFunc(list.items, func(v *value) bool { return v.kind == spec.Mapping }) {
		inner.of = kindObject
	}
	inner.args = maps.Clone(s.args)
	return &inner
}
