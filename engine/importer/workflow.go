package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/spec"
)

// workflow is one in the making.
type workflow struct {
	name  string
	head  []string // comments above all
	heads []pair   // description, labels, inputs, triggers, and so on, in order
	steps []*step

	onSuccess, onFailure, finally []*step
	outputs                       []pair

	inputs   []pair
	declared map[string]kind // inputs that are declared, with their types
	triggers []pair
	state    []pair
	ids      map[string]bool
	items    map[string]bool // names of items

	commands []command
	clients  []client
	scripts  []Script

	notes   []Note
	taken   int
	left    []string // words that mean nothing here, such as runs-on
	without []string // comments where the triggers stand, or would
}

func newWorkflow(name string) *workflow {
	return &workflow{name: workflowName(name), ids: map[string]bool{}, items: map[string]bool{}, declared: map[string]kind{}}
}

// step is a step in the making.
type step struct {
	above   []string // comments
	id      string
	name    string
	needs   []string
	ordered bool   // needs is written, also when it is empty
	cond    string // `if`
	runIf   string
	keys    []pair // uses, with and all that follows
	steps   []*step
	behind  []pair // keys of a loop below its steps

	absent bool // it may be skipped, or fail without an end of the run: its outputs may be missing
}

func (s *step) add(key string, v *value) *step {
	if v != nil {
		s.keys = append(s.keys, pair{key: key, value: v})
	}
	return s
}

// note remembers what was not taken over, and returns its comment.
func (w *workflow) note(line int, format string, args ...any) string {
	message := oneLine(fmt.Sprintf(format, args...))
	if !slices.Contains(w.notes, Note{Line: line, Text: message}) {
		w.notes = append(w.notes, Note{Line: line, Text: message})
	}
	return fmt.Sprintf("import: line %d: %s", line, message)
}

// gap notes something of a step above it.
func (w *workflow) gap(s *step, line int, format string, args ...any) {
	comment := w.note(line, format, args...)
	if !slices.Contains(s.above, comment) {
		s.above = append(s.above, comment)
	}
}

// longest is how much of another product's text a comment has.
const longest = 300

// oneLine is a text for a comment: on one line, and not without end.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(cleanComment(text)), " ")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}

var notInID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9]+`) })

// identifier makes a name of small letters, digits and `_` of any text.
func identifier(text string) string {
	name := strings.Trim(notInID().ReplaceAllString(strings.ToLower(text), "_"), "_")
	if runes := []rune(name); len(runes) > 60 {
		name = strings.Trim(string(runes[:60]), "_")
	}
	if name == "" || name[0] < 'a' {
		name = strings.TrimSuffix("s_"+name, "_")
	}
	return name
}

// newID returns an id for a step that no other has.
func (w *workflow) newID(wanted string) string {
	base := identifier(wanted)
	id := base
	for n := 2; w.ids[id]; n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	w.ids[id] = true
	return id
}

// itemName returns a name for the items of a loop, which no step has and no root of an
// expression. open are those of the loops around.
func (w *workflow) itemName(wanted string, open ...string) string {
	name := identifier(wanted)
	if w.items[name] && !slices.Contains(open, name) {
		return name // of another loop, beside this one
	}
	roots := []string{"run", "inputs", "steps", "trigger", "state", "secrets", "error", "index", "result", "request", "output", "connections"}
	if w.ids[name] || slices.Contains(roots, name) || !isField(name) {
		name += "_item"
	}
	name = w.newID(name)
	w.items[name] = true
	return name
}

// workflowName makes the name of a workflow, which may have most characters.
func workflowName(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.', r == ' ':
			return r
		}
		return '-'
	}, text)
	name = strings.Trim(name, "-_. ")
	if len(name) > 60 {
		name = strings.Trim(name[:60], "-_. ")
	}
	if name == "" {
		return "imported"
	}
	return name
}

// nameOfFile is the name of a workflow by its file's.
func nameOfFile(file string) string {
	file = file[strings.LastIndexAny(file, `/\`)+1:]
	for _, ending := range []string{".yaml", ".yml"} {
		file = strings.TrimSuffix(file, ending)
	}
	return file
}

// declare declares an input. One that is declared already stays.
func (w *workflow) declare(name string, of kind, above []string, schema *value) {
	if _, twice := w.declared[name]; twice {
		return
	}
	w.declared[name] = of
	w.inputs = append(w.inputs, pair{key: name, value: schema, above: above})
}

// leaveOut remembers a word that flowrun has no need of.
func (w *workflow) leaveOut(words ...string) {
	for _, word := range words {
		if word = oneLine(word); !slices.Contains(w.left, word) {
			w.left = append(w.left, word)
		}
	}
}

// noTrigger notes what starts no run here, at the place of the triggers.
func (w *workflow) noTrigger(line int, format string, args ...any) {
	w.without = append(w.without, w.note(line, format, args...))
}

// trigger adds a trigger, whose name is its own.
func (w *workflow) trigger(name string, above []string, v *value) {
	base := identifier(name)
	name = base
	if name == "manual" {
		name = "by_hand"
	}
	for n := 2; slices.ContainsFunc(w.triggers, func(p pair) bool { return p.key == name }); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	w.triggers = append(w.triggers, pair{key: name, value: v, above: above})
	w.taken++
}

// head adds a key of the workflow.
func (w *workflow) key(key string, v *value, above ...string) {
	if v != nil && !slices.ContainsFunc(w.heads, func(p pair) bool { return p.key == key }) {
		w.heads = append(w.heads, pair{key: key, value: v, above: above})
	}
}

// outlast gives a workflow more time than the longest of its steps may take, where that is
// more than it has without a word.
func (w *workflow) outlast() {
	longest := 24 * time.Hour
	var walk func(steps []*step)
	walk = func(steps []*step) {
		for _, s := range steps {
			for _, p := range s.keys {
				if p.key != "timeout" {
					continue
				}
				if length, err := duration.Parse(p.value.text); err == nil {
					longest = max(longest, length)
				}
			}
			walk(s.steps)
		}
	}
	walk(w.steps)
	if longest > 24*time.Hour {
		w.key("timeout", bare(strconv.FormatInt(int64(longest/(24*time.Hour))+1, 10)+"d"), "longer than the longest of its steps")
	}
}

// giveDefaults gives a default to each input that a trigger gives nothing for: a run that
// nobody starts by hand needs a value.
func (w *workflow) giveDefaults() {
	for i, in := range w.inputs {
		has := func(v *value) bool {
			return slices.ContainsFunc(v.pairs, func(p pair) bool { return p.key == "default" })
		}
		given := !slices.ContainsFunc(w.triggers, func(t pair) bool {
			return !slices.ContainsFunc(t.value.pairs, func(p pair) bool {
				return p.key == "inputs" && slices.ContainsFunc(p.value.pairs, func(p pair) bool { return p.key == in.key })
			})
		})
		if has(in.value) || given || len(w.triggers) == 0 {
			continue
		}
		var def *value
		switch w.declared[in.key] {
		case kindNumber:
			def = bare("0")
		case kindBool:
			def = bare("false")
		case kindList:
			def = list()
		case kindText:
			def = text("")
			for _, p := range in.value.pairs {
				if p.key == "enum" && len(p.value.items) > 0 {
					def = p.value.items[0]
				}
			}
		case kindAny, kindObject, kindNull:
			in.value.add("nullable", bare("true"))
			def = bare("null")
		}
		w.inputs[i].above = append(w.inputs[i].above, "import: a run that a trigger starts takes this default")
		in.value.add("default", def)
	}
}

// hideSecrets takes secrets out of steps: none of the fields that an import writes is one
// that takes them. Those of commands stand in flowrun.yaml.
func (w *workflow) hideSecrets(steps []*step) {
	for _, s := range steps {
		var walk func(v *value)
		walk = func(v *value) {
			if name, ok := strings.CutPrefix(v.text, "${{ secrets."); ok && v.kind == spec.Scalar && strings.HasSuffix(name, " }}") {
				v.text = "secrets." + strings.TrimSuffix(name, " }}")
				w.gap(s, 1, "%s: a secret stands alone in a secret field: in the connection of flowrun.yaml, or in secret_env of a command", v.text)
			}
			for _, p := range v.pairs {
				walk(p.value)
			}
			for _, item := range v.items {
				walk(item)
			}
		}
		for _, p := range append(slices.Clone(s.keys), s.behind...) {
			walk(p.value)
		}
		w.hideSecrets(s.steps)
	}
}

// text writes the workflow.
func (w *workflow) text() string {
	w.outlast()
	w.giveDefaults()
	for _, steps := range [][]*step{w.steps, w.onSuccess, w.onFailure, w.finally} {
		w.hideSecrets(steps)
	}
	out := &writer{}
	out.comments(0, w.head)
	if len(w.left) > 0 {
		out.comments(0, []string{"import: left out, since flowrun needs nothing of the kind: " + strings.Join(w.left, ", ")})
	}
	out.line(0, "flowrun: v1")
	out.behind(0, "name:", text(w.name))
	for _, key := range []string{"description", "labels"} {
		w.section(out, key, false)
	}
	if len(w.inputs) > 0 {
		w.heads = append(w.heads, field("inputs", &value{kind: spec.Mapping, pairs: w.inputs, block: true}))
	}
	switch {
	case len(w.triggers) > 0:
		w.key("triggers", &value{kind: spec.Mapping, pairs: w.triggers, block: true}, w.without...)
	case len(w.without) > 0:
		w.heads = append(w.heads, pair{key: "triggers", above: w.without})
	}
	if len(w.state) > 0 {
		w.heads = append(w.heads, field("state", &value{kind: spec.Mapping, pairs: w.state, block: true}))
	}
	for _, key := range []string{"inputs", "triggers", "concurrency", "timeout", "defaults", "state"} {
		w.section(out, key, true)
	}
	if len(w.steps) == 0 {
		nothing := &step{id: w.newID("nothing"), above: []string{w.note(1, "nothing of the file could be made a step: write what shall be done")}}
		w.steps = append(w.steps, nothing.add("uses", text("core.log")).add("with", mapping(field("text", text("nothing to do")))))
	}
	for _, part := range []struct {
		key   string
		steps []*step
	}{{"steps", w.steps}, {"on_success", w.onSuccess}, {"on_failure", w.onFailure}, {"finally", w.finally}} {
		if len(part.steps) > 0 {
			out.line(0, "")
			out.line(0, part.key+":")
			out.steps(2, part.steps, true)
		}
	}
	if len(w.outputs) > 0 {
		out.line(0, "")
		out.line(0, "outputs:")
		out.pairs(2, "", w.outputs)
	}
	w.fragment(out)
	return out.out.String()
}

func (w *workflow) section(out *writer, key string, apart bool) {
	for _, p := range w.heads {
		if p.key != key {
			continue
		}
		if apart {
			out.line(0, "")
		}
		out.comments(0, p.above)
		if p.value != nil {
			out.behind(0, p.key+":", p.value)
		}
	}
}

// steps writes a list of steps.
func (w *writer) steps(indent int, steps []*step, apart bool) {
	for i, s := range steps {
		if apart && i > 0 {
			w.line(0, "")
		}
		w.comments(indent, s.above)
		pairs := s.pairs()
		if len(s.steps) == 0 {
			w.pairs(indent, "- ", append(pairs, s.behind...))
			continue
		}
		w.pairs(indent, "- ", pairs)
		w.line(indent+2, "steps:")
		w.steps(indent+4, s.steps, false)
		w.pairs(indent+2, "", s.behind)
	}
}

// pairs are the keys of a step in their order.
func (s *step) pairs() []pair {
	var pairs []pair
	add := func(key string, v *value) { pairs = append(pairs, pair{key: key, value: v}) }
	if s.id != "" {
		add("id", text(s.id))
	}
	if s.name != "" {
		add("name", text(s.name))
	}
	if s.ordered {
		add("needs", texts(s.needs))
	}
	if s.cond == "false" || s.cond == "true" {
		add("if", bare(s.cond))
	} else if s.cond != "" {
		add("if", condition(s.cond))
	}
	if s.runIf != "" {
		add("run_if", text(s.runIf))
	}
	return append(pairs, s.keys...)
}

// condition is an expression that stands without `${{ }}`, where YAML lets it.
func condition(source string) *value {
	safe := source[0] != '"' && source[0] != '\'' && !strings.ContainsAny(source[:1], "!&*[]{}|>%@`#,?:-") &&
		!strings.Contains(source, ": ") && !strings.Contains(source, " #") && !strings.HasSuffix(source, ":") && !strings.ContainsFunc(source, escaped)
	return &value{kind: spec.Scalar, text: source, plain: safe}
}
