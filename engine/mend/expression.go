package mend

import (
	"regexp"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

// contextWords are what expressions of GitHub Actions read, with what says the same.
func contextWords() map[string]string {
	return map[string]string{
		"github.run_id": "run.id", "github.workflow": "run.workflow", "github.run_attempt": "run.attempt", "github.event_name": "run.trigger",
		"workflow.name": "run.id", "workflow.uid": "run.id", "execution.id": "run.id", "execution.startDate": "run.started_at", "flow.id": "run.workflow",
		"job.status": "run.status", "workflow.status": "run.status",
	}
}

// otherContext is for `github`, `env`, `vars`, `matrix`, `needs` and their like.
func otherContext(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil {
		return nil
	}
	chain := chainAt(s.node.Text[at:])
	parts := strings.Split(strings.ReplaceAll(chain, "?.", "."), ".")
	change := func(instead string, certain bool, hint string) *mend {
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + len(chain), Text: instead}), certain: certain, hint: hint}
	}
	if instead := contextWords()[chain]; instead != "" {
		return change(instead, true, "did you mean `"+instead+"`?")
	}
	last := parts[len(parts)-1]
	switch parts[0] {
	case "needs", "jobs", "tasks", "outputs":
		return f.stepOfOthers(parts, change)
	case "matrix", "strategy":
		if item := f.itemAround(s); item != "" {
			return change(item+strings.TrimPrefix(strings.Join(parts[min(1, len(parts)):], "."), last), false, "in a loop the item is `"+item+"`")
		}
		return f.asInput(s, at, chain, last, "there is no matrix: `foreach` over `cross(a, b)` makes a step of each pair, and its item is `item`; a single value is an input")
	case "github", "env", "vars", "runner", "job", "gitlab", "params", "parameters", "trigger_inputs", "variables", "labels", "taskrun", "dag":
		if len(parts) < 2 {
			return nil
		}
		return f.asInput(s, at, chain, last, "`"+parts[0]+"` is another product's: what a run is given are its `inputs`, and what is known of it stands in `run` and `trigger`")
	}
	return nil
}

// stepOfOthers is for outputs of steps under the names of other products.
func (f *file) stepOfOthers(parts []string, change func(string, bool, string) *mend) *mend {
	if len(parts) >= 2 && f.hasStep(strings.ReplaceAll(parts[1], "-", "_")) {
		id, rest := strings.ReplaceAll(parts[1], "-", "_"), parts[2:]
		switch {
		case len(rest) > 0 && (rest[0] == "result" || rest[0] == "outcome"):
			rest[0] = "status"
		case len(rest) > 0 && rest[0] != "outputs" && rest[0] != "status":
			rest = append([]string{"outputs"}, rest...)
		}
		instead := strings.Join(append([]string{"steps", id}, rest...), ".")
		return change(instead, true, "did you mean `"+instead+"`?")
	}
	return &mend{hint: "what a step gave is read by its id: `steps.ID.outputs.NAME`"}
}

// itemAround is the name of the item of the loop around, "" where there is none.
func (f *file) itemAround(s *spot) string {
	for i, n := range s.around {
		if n.Kind == spec.Mapping && n.Get("foreach") != nil && i > 0 {
			if as := n.Get("as"); as != nil {
				return as.Text
			}
			return "item"
		}
	}
	return ""
}

// asInput reads an input in the place of what is not there, and declares it where it is
// not.
func (f *file) asInput(s *spot, at int, chain, name, hint string) *mend {
	if !isField(name) {
		return &mend{hint: hint}
	}
	edits := s.node.Change(spec.Change{Start: at, End: at + len(chain), Text: "inputs." + name})
	declared := f.declared(name)
	if !declared {
		more := f.declare(name + ": {type: string}")
		if more == nil || len(edits) == 0 {
			return &mend{hint: hint}
		}
		edits = append(edits, more...)
	}
	return &mend{edits: edits, certain: declared && strings.Contains(chain, "inputs."), hint: hint}
}

func (f *file) declared(name string) bool { return f.root.Get("inputs").Get(name) != nil }

// stepByItself is for `a.outputs.x` of a step `a`.
func stepByItself(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil {
		return nil
	}
	chain := chainAt(s.node.Text[at:])
	parts := strings.Split(strings.ReplaceAll(chain, "?.", "."), ".")
	switch {
	case f.hasStep(parts[0]) && len(parts) > 1:
		instead := "steps." + parts[0] + "."
		certain := true
		switch parts[1] {
		case "outputs", "status", "error", "attempts":
		case "output":
			return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + len(parts[0]) + len(".output"), Text: instead + "outputs"}), certain: true, hint: "write `steps." + parts[0] + ".outputs`"}
		default:
			instead += "outputs."
		}
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + len(parts[0]) + 1, Text: instead}), certain: certain, hint: "steps are read as `" + instead + strings.Join(parts[1:], ".") + "`"}
	case len(parts) == 1 && f.declared(parts[0]):
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at, Text: "inputs."}), certain: true, hint: "write `inputs." + parts[0] + "`"}
	case len(parts) == 1 && f.root.Get("state").Get(parts[0]) != nil:
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at, Text: "state."}), certain: true, hint: "write `state." + parts[0] + "`"}
	}
	return nil
}

// outsideLoop is for a loop's item that is read behind the loop.
func outsideLoop(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil {
		return nil
	}
	chain := chainAt(s.node.Text[at:])
	name, _, _ := strings.Cut(chain, ".")
	var loop *spec.Node
	f.eachStep(func(step *spec.Node) {
		as := step.Get("as")
		if step.Get("foreach") != nil && (as != nil && as.Text == name || as == nil && name == "item") {
			loop = step
		}
	})
	if loop == nil {
		return nil
	}
	m := &mend{hint: "`" + name + "` is an item of a loop, which is there inside of the loop alone: put the step into its `steps`, or read what its `collect` yields, `steps.ID.outputs.items`"}
	id := loop.Get("id")
	if id == nil || loop.Flow {
		return m
	}
	instead := "steps." + id.Text + ".outputs.items"
	if f.mixed(s.node, at, at+len(chain)) {
		instead = "toJSON(" + instead + ")"
	}
	m.edits = s.node.Change(spec.Change{Start: at, End: at + len(chain), Text: instead})
	if loop.Get("collect") == nil && m.edits != nil {
		m.edits = append(m.edits, f.behind(loop, len(loop.Pairs)-1, "collect: ${{ "+chain+" }}")...)
	}
	return m
}

// undeclaredInput declares an input that is read and not there.
func undeclaredInput(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil || !strings.HasSuffix(p.Message, "in `inputs`") || p.Hint.Near != "" {
		return nil
	}
	name := wordAt(s.node.Text, at)
	declared := f.declare(name + ": {type: string}")
	if declared == nil || f.declared(name) {
		return nil
	}
	hint := "declare it at the top: `inputs: {" + name + ": {type: string}}`"
	if p.Hint.Text != "" {
		hint = p.Hint.Text + "; or " + hint
	}
	return &mend{edits: declared, hint: hint}
}

// otherFunction is for functions that conditions of other products have.
func otherFunction(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil {
		return nil
	}
	text := s.node.Text
	name := wordAt(text, at)
	args, end, ok := callArguments(text, at+len(name))
	if !ok {
		return nil
	}
	change := func(from, to int, instead string, certain bool, hint string) *mend {
		return &mend{edits: s.node.Change(spec.Change{Start: from, End: to, Text: instead}), certain: certain, hint: hint}
	}
	switch name {
	case "always", "success", "failure", "cancelled", "canceled":
		return f.statusFunction(s, name, at, end)
	case "format":
		return f.formatCall(s, at, end, args)
	case "toString", "str":
		return change(at, at+len(name), "string", true, "did you mean `string`?")
	case "length", "size", "count_of":
		return change(at, at+len(name), "len", true, "did you mean `len`?")
	case "toLower", "toLowerCase", "lowercase":
		return change(at, at+len(name), "lower", true, "did you mean `lower`?")
	case "toUpper", "toUpperCase", "uppercase":
		return change(at, at+len(name), "upper", true, "did you mean `upper`?")
	case "parseInt", "toInt":
		return change(at, at+len(name), "int", true, "did you mean `int`?")
	case "toJson", "tojson", "jsonify":
		return change(at, at+len(name), "toJSON", true, "did you mean `toJSON`?")
	case "fromJson", "fromjson", "parseJSON":
		return change(at, at+len(name), "fromJSON", true, "did you mean `fromJSON`?")
	case "startswith", "endswith", "includes", "hasPrefix", "hasSuffix":
		return f.textTest(s, name, at, end, args)
	}
	return nil
}

func (f *file) textTest(s *spot, name string, at, end int, args []string) *mend {
	operator := map[string]string{"startswith": "startsWith", "endswith": "endsWith", "includes": "contains", "hasPrefix": "startsWith", "hasSuffix": "endsWith"}[name]
	if len(args) != 2 {
		return nil
	}
	instead := args[0] + " " + operator + " " + args[1]
	return &mend{edits: s.node.Change(spec.Change{Start: at, End: end, Text: instead}), certain: true, hint: "it stands between its operands: `" + instead + "`"}
}

// statusFunction is for `always()` and its like in an `if`.
func (f *file) statusFunction(s *spot, name string, at, end int) *mend {
	pair, ok := s.own()
	if !ok || pair.Key.Text != "if" {
		return nil
	}
	word := map[string]string{"always": "any", "success": "", "failure": "failed", "cancelled": "", "canceled": ""}[name]
	source, from, issue := eval.Bare(s.node.Text)
	hint := map[string]string{
		"always": "write `run_if: any` in its place", "failure": "write `run_if: failed` in its place",
		"success":   "leave it out: a step runs when all that it needs has ended well",
		"cancelled": "what must run on cancel too stands under `finally`", "canceled": "what must run on cancel too stands under `finally`",
	}[name]
	switch {
	case issue != nil || name == "cancelled" || name == "canceled":
		return &mend{hint: hint}
	case at == from && end == from+len(source):
		if s.parent().Get("run_if") != nil || word == "" {
			return &mend{edits: f.remove(s.parent(), s.pair), certain: true, hint: hint}
		}
		return &mend{edits: f.replace(pair, "run_if: "+word), certain: true, hint: hint}
	}
	hint = strings.Replace(hint, "in its place", "beside `if`", 1)
	// A part of a condition: with what joins it to the rest.
	joined := regexp.MustCompile(`^\s*(?:&&|and)\s*`).FindString(s.node.Text[end:])
	to, begin := end+len(joined), at
	if joined == "" {
		before := regexp.MustCompile(`\s*(?:&&|and)\s*$`).FindString(s.node.Text[:at])
		if before == "" {
			return &mend{hint: hint}
		}
		begin -= len(before)
	}
	edits := s.node.Change(spec.Change{Start: begin, End: to})
	if word != "" && s.parent().Get("run_if") == nil {
		edits = append(edits, f.behind(s.parent(), s.pair, "run_if: "+word)...)
	}
	return &mend{edits: edits, certain: true, hint: hint}
}

var formatPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\d)\}`) })

// formatCall is for `format('hello {0}', who)` as a whole expression.
func (f *file) formatCall(s *spot, at, end int, args []string) *mend {
	text := s.node.Text
	open := strings.LastIndex(text[:at], "${{")
	shut := strings.Index(text[end:], "}}")
	if len(args) == 0 || open < 0 || shut < 0 || strings.TrimSpace(text[open+3:at]) != "" || strings.TrimSpace(text[end:end+shut]) != "" {
		return nil
	}
	form := args[0]
	if len(form) < 2 || form[0] != '\'' && form[0] != '"' || strings.ContainsAny(form[1:len(form)-1], "\\'\"") {
		return nil
	}
	bad := false
	instead := formatPlace().ReplaceAllStringFunc(form[1:len(form)-1], func(place string) string {
		n := int(place[1] - '0')
		if n+1 >= len(args) {
			bad = true
			return place
		}
		return "${{ " + args[n+1] + " }}"
	})
	if bad {
		return nil
	}
	return &mend{
		edits: s.node.Change(spec.Change{Start: open, End: end + shut + 2, Text: instead}), certain: true,
		hint: "put the values into text: `" + instead + "`",
	}
}

// callArguments are the texts of a call's arguments: text[at] is its bracket.
func callArguments(text string, at int) (args []string, end int, ok bool) {
	if at >= len(text) || text[at] != '(' {
		return nil, 0, false
	}
	depth, quote, from := 0, byte(0), at+1
	for i := at; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0 && b == '\\':
			i++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'' || b == '`':
			quote = b
		case strings.IndexByte("([{", b) >= 0:
			depth++
		case b == ',' && depth == 1:
			args, from = append(args, strings.TrimSpace(text[from:i])), i+1
		case strings.IndexByte(")]}", b) >= 0:
			if depth--; depth == 0 {
				if last := strings.TrimSpace(text[from:i]); last != "" {
					args = append(args, last)
				}
				return args, i + 1, true
			}
		}
	}
	return nil, 0, false
}

// containsCall is for operators that stand before their operands, as functions do.
func containsCall(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil {
		return nil
	}
	name := wordAt(s.node.Text, at)
	switch name {
	case "contains", "startsWith", "endsWith", "matches":
	default:
		return nil
	}
	args, end, ok := callArguments(s.node.Text, at+len(name))
	if !ok || len(args) != 2 {
		return &mend{hint: "it stands between its operands: `text " + name + " part`"}
	}
	instead := args[0] + " " + name + " " + args[1]
	if name == "contains" && (strings.HasPrefix(args[0], "[") || strings.Contains(args[0], "fromJSON(")) {
		instead = args[1] + " in " + args[0]
	}
	return &mend{edits: s.node.Change(spec.Change{Start: at, End: end, Text: instead}), certain: true, hint: "it stands between its operands: `" + instead + "`"}
}

// emptyExpression takes an expression out that says nothing.
func emptyExpression(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil || p.Message != "the expression is empty" {
		return nil
	}
	open := strings.LastIndex(s.node.Text[:at], "${{")
	shut := strings.Index(s.node.Text[at:], "}}")
	if open < 0 || shut < 0 {
		return nil
	}
	m := &mend{hint: "write what it is to give between the braces, or leave `${{ }}` out"}
	if s.node.Style == spec.Plain && strings.TrimSpace(s.node.Text[:open]+s.node.Text[at+shut+2:]) == "" {
		m.edits = s.node.Rewrite(`""`)
		return m
	}
	m.edits = s.node.Change(spec.Change{Start: open, End: at + shut + 2})
	return m
}

// doubleQuotes is for `=` and its like, of which the hint names what is meant.
func doubleQuotes(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil {
		return nil
	}
	at := f.inText(s.node, p)
	switch {
	case at < 0:
	case strings.HasPrefix(p.Message, "unexpected `=`") && strings.HasPrefix(s.node.Text[at:], "==="):
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + 3, Text: "=="}), certain: true, hint: "compare with `==`"}
	case strings.HasPrefix(p.Message, "unexpected `=`") && at > 0 && s.node.Text[at-1] == '=': // the third of ===
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + 1}), certain: true, hint: "compare with `==`"}
	case strings.HasPrefix(p.Message, "unexpected `=`"):
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + 1, Text: "=="}), certain: true, hint: "compare with `==`"}
	case strings.HasPrefix(p.Message, "unexpected `&`"):
		return &mend{edits: s.node.Change(spec.Change{Start: at, End: at + 1, Text: "and"}), hint: "write `and`"}
	}
	return nil
}

// unclosedExpression closes `${{ x }`.
func unclosedExpression(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.HasPrefix(p.Message, "`${{` is not closed") {
		return nil
	}
	at := f.inText(s.node, p)
	if at < 0 {
		return nil
	}
	text := s.node.Text
	trimmed := strings.TrimRight(text, " \n")
	change := spec.Change{Start: len(trimmed), End: len(trimmed), Text: " }}"}
	inside := strings.TrimSpace(trimmed[at+3:])
	if closed := strings.IndexByte(trimmed[at:], '}'); closed >= 0 {
		closed += at
		inside = strings.TrimSpace(trimmed[at+3 : closed])
		change = spec.Change{Start: closed, End: closed, Text: "}"}
	}
	if _, issues := eval.Parse(inside); len(issues) > 0 {
		return nil
	}
	return &mend{edits: s.node.Change(change), certain: true}
}

var functionHint = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(string|toJSON|date|int|float|values)\(x\) makes`) })

// wrapped puts the function of a hint around the whole of an expression.
func wrapped(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil {
		return nil
	}
	from, to, ok := f.expressionOf(s.node, p)
	if !ok {
		return nil
	}
	if found := functionHint().FindStringSubmatch(p.Hint.Text); found != nil {
		return &mend{edits: s.node.Change(spec.Change{Start: from, End: from, Text: found[1] + "("}, spec.Change{Start: to, End: to, Text: ")"})}
	}
	if strings.Contains(p.Message, "may be null, which can't stand inside text") {
		return &mend{edits: s.node.Change(spec.Change{Start: from, End: from, Text: "toJSON("}, spec.Change{Start: to, End: to, Text: ")"})}
	}
	return nil
}

// rangeOf is for a number where a loop needs a list.
func rangeOf(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || s.key() != "foreach" || s.node.Kind != spec.Scalar || !strings.HasPrefix(p.Message, "expects a list, got an integer") {
		return nil
	}
	from, to, ok := f.expressionOf(s.node, p)
	if !ok {
		return nil
	}
	return &mend{edits: s.node.Change(spec.Change{Start: from, End: from, Text: "1.."}), hint: "the integers from 1 on are `1.." + s.node.Text[from:to] + "`"}
}

// expressionOf is where the expression stands in a scalar's text that a problem is about:
// that at its place, or the only one.
func (f *file) expressionOf(n *spec.Node, p *diag.Problem) (from, to int, ok bool) {
	segments, issue := eval.Split(n.Text)
	if issue != nil {
		return 0, 0, false
	}
	at := f.inText(n, p)
	for _, segment := range segments {
		if !segment.IsExpr {
			continue
		}
		whole := len(segments) == 1
		if whole || at >= segment.Offset && at < segment.Offset+len(segment.Text) {
			return segment.Offset, segment.Offset + len(segment.Text), true
		}
	}
	return 0, 0, false
}

// loopList writes an expression of a name that stands without signs, and a range of a
// number.
func loopList(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil || !strings.HasPrefix(p.Message, "a loop needs a list") {
		return nil
	}
	text := strings.TrimSpace(s.node.Text)
	if isInteger(text) {
		return &mend{edits: s.node.Rewrite("${{ 1.." + text + " }}"), hint: "the integers from 1 on are `${{ 1.." + text + " }}`"}
	}
	x, issues := eval.Parse(text)
	if len(issues) > 0 || len(x.Reads()) == 0 {
		return nil
	}
	quoted := "${{ " + text + " }}"
	if s.parent().Flow {
		var ok bool
		if quoted, ok = spec.Quoted(quoted); !ok {
			return nil
		}
	}
	return &mend{edits: s.node.Rewrite(quoted), certain: true, hint: "write `${{ " + text + " }}`"}
}

// secretInText takes a secret out of a text.
func secretInText(f *file, p *diag.Problem) *mend {
	s := f.scalarAt(p)
	if s == nil {
		return nil
	}
	m := &mend{}
	if p.Hint.Text == "" {
		m.hint = "a secret is no text: it stands alone, as the whole value of an input that is marked secret, or in a connection of flowrun.yaml; logs and messages have none"
	}
	at := f.inText(s.node, p)
	if at < 0 {
		return m
	}
	open, shut := strings.LastIndex(s.node.Text[:at], "${{"), strings.Index(s.node.Text[at:], "}}")
	if open < 0 || shut < 0 {
		return m
	}
	m.edits = s.node.Change(spec.Change{Start: open, End: at + shut + 2, Text: "***"})
	return m
}
