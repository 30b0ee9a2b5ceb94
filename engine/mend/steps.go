package mend

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// malformedID writes an id with the letters that it may have, where it stands and where
// it is read.
func malformedID(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || s.key() != "id" || !strings.HasSuffix(p.Message, "is not an id") {
		return nil
	}
	id := s.node.Text
	fixed := strings.Trim(regexp.MustCompile(`[^a-z0-9_]+`).ReplaceAllString(strings.ToLower(id), "_"), "_")
	if fixed == "" || fixed[0] < 'a' || f.ids()[fixed] > 0 {
		return nil
	}
	edits := append(s.node.Rewrite(fixed), f.reads("steps."+id, "steps."+fixed)...)
	edits = append(edits, f.needsOf(id, fixed)...)
	return &mend{edits: edits, certain: true, hint: "write `" + fixed + "`: small letters, digits and `_`"}
}

// needsOf are the edits that name a step by another id under `needs`.
func (f *file) needsOf(id, instead string) []diag.Edit {
	var edits []diag.Edit
	f.eachStep(func(step *spec.Node) {
		for _, key := range []string{"needs", "depends_on", "depends", "dependsOn", "dependencies"} {
			step.Get(key).EachScalar(func(n *spec.Node) {
				if n.Text == id {
					edits = append(edits, n.Rewrite(instead)...)
				}
			})
		}
	})
	return edits
}

// eachStep visits the maps of all steps.
func (f *file) eachStep(visit func(step *spec.Node)) {
	var walk func(list *spec.Node)
	walk = func(list *spec.Node) {
		if list == nil {
			return
		}
		for _, item := range list.Items {
			visit(item)
			walk(item.Get("steps"))
		}
	}
	for _, key := range []string{"steps", "on_success", "on_failure", "finally"} {
		walk(f.root.Get(key))
	}
}

// ids are those that are written, with how often.
func (f *file) ids() map[string]int {
	found := map[string]int{}
	f.eachStep(func(step *spec.Node) {
		if id := step.Get("id"); id != nil {
			found[id.Text]++
		}
	})
	return found
}

// takenID gives the second of two steps an id of its own.
func takenID(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || s.key() != "id" || !strings.HasSuffix(p.Message, "is taken") {
		return nil
	}
	ids := f.ids()
	for n := 2; n < 100; n++ {
		if next := s.node.Text + "_" + strconv.Itoa(n); ids[next] == 0 {
			return &mend{edits: s.node.Rewrite(next), hint: "ids are unique in the file, inside loops and handlers too: call this one `" + next + "`"}
		}
	}
	return nil
}

// loopOfAction puts an action that stands beside `foreach` into the loop's steps.
func loopOfAction(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || !s.isKey {
		return nil
	}
	step := s.parent()
	if step.Get("foreach") == nil || step.Get("uses") == nil || step.Get("steps") != nil || step.Flow {
		return nil
	}
	hint := "put the work of one item into the loop's `steps`: `steps: [{uses: " + step.Get("uses").Text + "}]`"
	column := f.column(f.keyStart(step.Pairs[0]))
	table := spec.V1().Map("step")
	var own []string
	var edits []diag.Edit
	at := -1
	for i, pair := range step.Pairs {
		if table.KeyOf(string(spec.LoopStep), pair.Key.Text) != nil {
			continue
		}
		from, to := f.keyStart(pair), f.pairEnd(pair)
		if f.column(from) != f.indent(f.lineOf(from)) {
			return &mend{hint: hint} // behind the sign of the item
		}
		lines := strings.Split(f.src[from:to], f.line)
		for n, line := range lines {
			if n > 0 {
				lines[n] = "    " + line
			}
		}
		own = append(own, strings.Join(lines, "\n"))
		if at < 0 {
			at = from
			edits = append(edits, f.edit(from, to, ""))
			continue
		}
		edits = append(edits, f.remove(step, i)...)
	}
	if at < 0 {
		return &mend{hint: hint}
	}
	name := step.Get("uses").Text
	name = strings.ReplaceAll(name[strings.LastIndex(name, ".")+1:], "-", "_")
	collect := ""
	if step.Get("collect") == nil && f.ids()[name] == 0 && f.hasOutputs(step) {
		collect = "\n" + spaces(column) + "collect: ${{ steps." + name + ".outputs }}"
	}
	edits[0].New = strings.ReplaceAll("steps:\n"+spaces(column+2)+"- "+strings.Join(own, "\n"+spaces(column+4))+collect, "\n", f.line)
	return &mend{edits: edits, hint: hint}
}

func (f *file) hasOutputs(step *spec.Node) bool {
	if f.known == nil {
		return false
	}
	action, ok := f.known.Action(step.Get("uses").Text)
	if !ok {
		return false
	}
	t, err := schema.FromJSON(action.Output)
	return err == nil && len(t.Fields) > 0
}

// insideLoop is for a step of a loop that is read from outside.
func insideLoop(f *file, p *diag.Problem) *mend {
	s, at := f.textAt(p)
	if s == nil {
		return nil
	}
	id := wordAt(s.node.Text, at)
	loop := f.loopOf(id)
	if loop == nil || loop.Get("id") == nil || loop.Get("collect") != nil || loop.Flow {
		return nil
	}
	from := strings.LastIndex(s.node.Text[:at], "steps.")
	if from < 0 {
		return nil
	}
	to := from + len(chainAt(s.node.Text[from:]))
	read := s.node.Text[from:to]
	instead := "steps." + loop.Get("id").Text + ".outputs.items"
	if f.mixed(s.node, from, to) {
		instead = "toJSON(" + instead + ")"
	}
	edits := s.node.Change(spec.Change{Start: from, End: to, Text: instead})
	last := len(loop.Pairs) - 1
	edits = append(edits, f.behind(loop, last, "collect: ${{ "+read+" }}")...)
	return &mend{edits: edits, hint: "it is inside the loop `" + loop.Get("id").Text + "`: write `collect: ${{ " + read + " }}` there, and read `steps." + loop.Get("id").Text + ".outputs.items`"}
}

// loopOf is the loop around the step with an id, nil where none is.
func (f *file) loopOf(id string) *spec.Node {
	var found *spec.Node
	f.eachStep(func(step *spec.Node) {
		inner := step.Get("steps")
		if inner == nil {
			return
		}
		for _, item := range inner.Items {
			own := ""
			if node := item.Get("id"); node != nil {
				own = node.Text
			} else if uses := item.Get("uses"); uses != nil {
				own = uses.Text[strings.LastIndex(uses.Text, ".")+1:]
			}
			if own == id {
				found = step
			}
		}
	})
	return found
}

// inText is the offset in a scalar's text of a problem's place; -1 where it is not in it.
func (f *file) inText(n *spec.Node, p *diag.Problem) int {
	at := f.offset(p.Line, p.Column)
	for i := range len(n.Text) {
		if n.Offset(i) == at {
			return i
		}
	}
	return -1
}

func wordAt(text string, at int) string {
	end := at
	for end < len(text) && isNameByte(text[end]) {
		end++
	}
	return text[at:end]
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// chainAt is the chain of members that a text begins with: `steps.a.outputs.b`.
func chainAt(text string) string {
	end := 0
	for end < len(text) {
		switch b := text[end]; {
		case isNameByte(b):
		case b == '-' && end > 0 && end+1 < len(text) && isNameByte(text[end-1]) && isNameByte(text[end+1]):
		case (b == '.' || b == '?') && end+1 < len(text) && (text[end+1] == '.' || isNameByte(text[end+1])):
		default:
			return text[:end]
		}
		end++
	}
	return text[:end]
}

// mixed reports whether an expression's part must become text: the scalar holds more than
// that expression, or stands in a field of text.
func (f *file) mixed(n *spec.Node, from, to int) bool {
	before, after := strings.TrimSpace(n.Text[:from]), strings.TrimSpace(n.Text[to:])
	if before != "${{" || after != "}}" {
		open := strings.LastIndex(n.Text[:from], "${{")
		shut := strings.Index(n.Text[to:], "}}")
		return open >= 0 && shut >= 0 && strings.TrimSpace(n.Text[open+3:from]) == "" && strings.TrimSpace(n.Text[to:to+shut]) == ""
	}
	return true
}

// otherAction is for what is no action: a file, a plugin, a shell.
func otherAction(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || s.key() != "uses" || s.node.Kind != spec.Scalar {
		return nil
	}
	name, step := s.node.Text, s.parent()
	switch {
	case strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml"):
		at := "./" + name
		base := "./" + path.Base(name)
		for _, other := range []string{base, strings.TrimSuffix(base, path.Ext(base)) + ".yaml", strings.TrimSuffix(base, path.Ext(base)) + ".yml"} {
			if !f.isFile(at) && f.isFile(other) {
				at = other
			}
		}
		return &mend{edits: s.node.Rewrite(at), certain: f.isFile(at), hint: "a workflow as a step is named by its path from this file: `" + at + "`"}
	case name == "core.http":
		verb := "get"
		if method := step.Get("with").Get("method"); method != nil {
			verb = strings.ToLower(method.Text)
		}
		return &mend{edits: s.node.Rewrite("http." + verb)}
	}
	switch name {
	case "shell", "bash", "sh", "run", "script", "command", "exec", "core.shell", "core.exec", "core.run":
		return f.shellAction(s)
	}
	if f.known == nil {
		return nil
	}
	if strings.Contains(name, ".") {
		return nil
	}
	var fitting []string
	for _, action := range f.known.ActionNames() {
		if strings.HasPrefix(action, name+".") && f.takes(action, step) {
			fitting = append(fitting, action)
		}
	}
	if len(fitting) > 0 {
		return &mend{edits: s.node.Rewrite(fitting[0]), hint: "`" + name + "` is a plugin; of its actions these take what stands here: " + strings.Join(fitting, ", ")}
	}
	for _, action := range f.known.ActionNames() {
		if strings.HasSuffix(action, "."+name) && f.takes(action, step) {
			return &mend{edits: s.node.Rewrite(action), hint: "did you mean `" + action + "`?"}
		}
	}
	if !f.isFile("./" + name + ".yaml") {
		return nil
	}
	return &mend{edits: s.node.Rewrite("./" + name + ".yaml"), hint: "an action is written `plugin.action`, a workflow of the project by its path, `./" + name + ".yaml`"}
}

// files is Known that reads files of the project, relative to the workflow.
type files interface {
	File(name string) ([]byte, error)
}

func (f *file) isFile(name string) bool {
	known, ok := f.known.(files)
	if !ok {
		return false
	}
	_, err := known.File(name)
	return err == nil
}

// otherFile is for a path that leads to no file where one other lies beside.
func otherFile(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	_, names, found := strings.Cut(p.Hint.Text, "beside it there are ")
	if s == nil || s.key() != "uses" || !found || strings.Contains(names, ", ") {
		return nil
	}
	return &mend{edits: s.node.Rewrite(names)}
}

// onlyTarget is for a notify target that is not there where one is.
func onlyTarget(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	names, found := strings.CutPrefix(p.Hint.Text, "the targets are ")
	if s == nil || s.key() != "to" || !found || strings.Contains(names, ", ") {
		return nil
	}
	return &mend{edits: s.node.Rewrite(names)}
}

// shellAction is a command by the plugin exec.
func (f *file) shellAction(s *spot) *mend {
	step := s.parent()
	m := &mend{hint: "there are no shell steps: the plugin `exec` runs a command that its connection in flowrun.yaml declares: `uses: exec.run` with `command: NAME` (docs/services/exec.md)"}
	m.edits = s.node.Rewrite("exec.run")
	with := step.Get("with")
	if with == nil {
		for i, pair := range step.Pairs {
			if pair.Value == s.node {
				m.edits = f.replace(pair, "uses: exec.run\n"+spaces(f.column(f.keyStart(pair)))+"with: {command: command}")
			}
			_ = i
		}
		return m
	}
	for _, pair := range with.Pairs {
		switch pair.Key.Text {
		case "command", "run", "script", "cmd":
			if pair.Value.Kind == spec.Scalar {
				m.edits = append(m.edits, f.replace(pair, "command: "+commandName(pair.Value.Text))...)
			}
		}
	}
	return m
}

// takes reports whether an action takes what a step gives, and needs no more.
func (f *file) takes(name string, step *spec.Node) bool {
	action, ok := f.known.Action(name)
	if !ok {
		return false
	}
	t, err := schema.FromJSON(action.Input)
	if err != nil {
		return false
	}
	with := step.Get("with")
	if with == nil {
		return len(requiredOf(action.Input)) == 0
	}
	for _, pair := range with.Pairs {
		if _, ok := t.Field(pair.Key.Text); !ok {
			return false
		}
	}
	for _, need := range requiredOf(action.Input) {
		if with.Get(need) == nil {
			return false
		}
	}
	return true
}

// constantIf takes a condition out that is always true.
func constantIf(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil || s.key() != "if" || !strings.HasSuffix(p.Message, "always true") {
		return nil
	}
	return &mend{edits: f.remove(s.parent(), s.pair)}
}

// unread takes a declaration out that nothing reads.
func unread(f *file, p *diag.Problem) *mend {
	s, _ := f.keyAt(p)
	if s == nil || len(s.parent().Pairs) < 2 {
		return nil
	}
	return &mend{edits: f.remove(s.parent(), s.pair)}
}

// leaveOut takes a key out that does not belong to what it stands at.
func leaveOut(f *file, p *diag.Problem) *mend {
	s := f.spot(p)
	if s == nil {
		return nil
	}
	pair, ok := s.own()
	switch {
	case !ok || s.step() != s.parent():
		return nil
	case pair.Key.Text == "connection" && strings.HasPrefix(p.Message, "no connection has the name"):
		plugin, _, _ := strings.Cut(p.Hint.Text, " under `connections`")
		return &mend{edits: f.remove(s.parent(), s.pair), hint: plugin + " under `connections` in flowrun.yaml, or leave `connection` out"}
	case s.isKey && strings.Contains(p.Hint.Text, "leave `"+pair.Key.Text+"` out"):
		return &mend{edits: f.remove(s.parent(), s.pair)}
	}
	return nil
}
