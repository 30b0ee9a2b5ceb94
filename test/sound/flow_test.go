package sound

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// flow is a generated workflow with the actions that it calls.
type flow struct {
	source  string
	actions map[string]*plan.Action
	inputs  *schema.Type
}

// author draws a workflow. A step sees what stands above it.
type author struct {
	*generator
	flow  *flow
	lines []string
	seen  []string // ids that may be needed here
	next  int
}

func (d draws) flow() *flow {
	f := &flow{actions: map[string]*plan.Action{}}
	for _, builtin := range interp.Builtins() {
		f.actions[builtin.FullName()] = builtin
	}
	for i := range 3 {
		output := d.objectSchema(2)
		f.add("read"+strconv.Itoa(i), output, d.objectSchema(1))
		if i == 0 { // what one gives, another takes as it is
			f.add("take", object{"type": "object"}, object{"type": "object", "properties": object{"all": output}, "additionalProperties": false})
		}
	}
	f.add("list", object{"type": "object", "required": []any{"rows"}, "additionalProperties": false, "properties": object{
		"rows": object{"type": "array", "items": d.objectSchema(1)}, "next": object{"type": []any{"string", "null"}},
	}}, object{"type": "object", "properties": object{"q": object{"type": "string"}, "cursor": object{"type": "string"}}, "additionalProperties": false}).
		Paging = &plan.Paging{CursorField: "cursor", ItemsField: "rows", NextField: "next"}
	a := &author{generator: &generator{draws: d, slips: pick(d, 0, 0, 2, 5), size: 60}, flow: f}
	a.head()
	a.write("steps:")
	for range 3 + d.IntN(4) {
		a.step("  ", true)
	}
	a.foot()
	f.source = strings.Join(a.lines, "\n") + "\n"
	return f
}

func (f *flow) add(name string, output, input object) *plan.Action {
	encode := func(s object) json.RawMessage {
		raw, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return raw
	}
	action := &plan.Action{Plugin: "svc", Name: name, Effect: plan.EffectRead, Input: encode(input), Output: encode(output)}
	f.actions["svc."+name] = action
	return action
}

func (a *author) write(format string, args ...any) {
	a.lines = append(a.lines, fmt.Sprintf(format, args...))
}

// quoted writes a text as a YAML scalar.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func (a *author) program(goal *schema.Type) string {
	a.size = 30
	return a.expr(goal, 1+a.IntN(3)).String()
}

func (a *author) whole(goal *schema.Type) string { return quoted("${{ " + a.program(goal) + " }}") }

// worded is text with expressions in it.
func (a *author) worded() string {
	return quoted("a ${{ " + a.program(a.scalar()) + " }} b ${{ " + a.program(text) + " }}")
}

// declared turns a drawn schema into the words that workflows take.
func declared(s object) object {
	out := object{}
	for word, value := range s {
		switch word {
		case "anyOf":
			continue
		case "type":
			if both, ok := value.([]any); ok {
				out["nullable"], value = true, both[0]
			}
		case "items", "additionalProperties":
			if inner, ok := value.(object); ok {
				value = declared(inner)
			}
		case "enum":
			value = slices.DeleteFunc(slices.Clone(value.([]any)), func(v any) bool { return v == nil })
		case "properties":
			properties := object{}
			for name, inner := range value.(object) {
				properties[name] = declared(inner.(object))
			}
			value = properties
		}
		out[word] = value
	}
	return out
}

func (a *author) head() {
	a.write("flowrun: v1")
	a.write("name: t")
	properties, required := object{}, []any{}
	for _, name := range []string{"a", "b", "c"} {
		properties[name] = declared(a.schemaOf(2))
		required = append(required, name)
	}
	raw, err := json.Marshal(properties)
	if err != nil {
		panic(err)
	}
	a.write("inputs: %s", raw)
	a.flow.inputs = typeOf(object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}).Exact()
	a.names = []binding{{"inputs", a.flow.inputs}, {"run", schema.ObjectOf(schema.Required("id", text), schema.Required("scheduled_at", moment), schema.Required("attempt", integer))}}
}

// step draws a step of any kind.
func (a *author) step(indent string, top bool) {
	a.next++
	id := "s" + strconv.Itoa(a.next)
	a.write("%s- id: %s", indent, id)
	in := indent + "  "
	absent, known := a.conditions(in)
	a.names = append(slices.Clone(a.names), known...)
	var outputs *schema.Type
	switch n := a.IntN(10); {
	case len(known) > 0 && a.chance(60):
		outputs = a.use(in, known)
	case n < 4:
		more := false
		outputs, more = a.action(in)
		absent = absent || more
	case n < 7 || !top && n < 9:
		outputs = a.values(in)
	case n == 7:
		a.assertion(in)
	case n == 8:
		a.write("%suses: core.log", in)
		a.write("%swith: {text: %s}", in, a.worded())
	default:
		outputs = a.loop(in, id)
	}
	a.seen = append(a.seen, id)
	a.names = slices.DeleteFunc(slices.Clone(a.names), func(b binding) bool { return slices.Contains(known, b) })
	if outputs == nil {
		return
	}
	if absent && !a.chance(4*a.slips) {
		outputs = schema.Nullable(outputs)
	}
	a.names = append(a.names, binding{"steps." + id + ".outputs", outputs})
	if absent && a.chance(50) {
		a.names = append(a.names, binding{"steps." + id + ".error", schema.Nullable(failure())})
	}
}

// failure is the type of a step's error, as far as it is read.
func failure() *schema.Type {
	return schema.ObjectOf(schema.Required("kind", text), schema.Required("message", text))
}

// conditions draws needs, run_if and if. absent: the step may have no outputs.
// known is what they seem to prove for the step itself.
func (a *author) conditions(in string) (absent bool, known []binding) {
	if len(a.seen) > 0 && a.chance(30) {
		var needs []string
		for _, id := range a.seen {
			if a.chance(40) {
				needs = append(needs, id)
			}
		}
		if len(needs) > 0 && a.chance(40) {
			needs = needs[:1]
		}
		a.write("%sneeds: [%s]", in, strings.Join(needs, ", "))
		if len(needs) > 0 && a.chance(40) {
			after := pick(a.draws, "failed", "failed", "any")
			a.write("%srun_if: %s", in, after)
			absent = true
			if after == "failed" && a.chance(70) {
				known = append(known, binding{"steps." + needs[0] + ".error", failure()})
			}
		}
	}
	if a.chance(35) {
		condition := a.program(boolean)
		if b := a.nullable(); b != nil && a.chance(30) {
			condition = b.source + " != nil"
		} else if len(a.seen) > 0 && a.chance(70) {
			var proven []binding
			condition, proven = a.status(a.awaited())
			known = append(known, proven...)
		}
		a.write("%sif: %s", in, quoted(condition))
		absent = true
	}
	return absent, known
}

// awaited draws a step, rather one that may have no outputs.
func (a *author) awaited() string {
	var without []string
	for _, b := range a.names {
		id, isOutputs := strings.CutSuffix(strings.TrimPrefix(b.source, "steps."), ".outputs")
		if isOutputs && b.typ.MayBeNull() && slices.Contains(a.seen, id) {
			without = append(without, id)
		}
	}
	if len(without) > 0 && a.chance(70) {
		return pick(a.draws, without...)
	}
	return pick(a.draws, a.seen...)
}

// status draws a condition on the status of a step, and what it seems to prove of
// it: mostly what it does prove.
func (a *author) status(id string) (condition string, proven []binding) {
	word := pick(a.draws, "succeeded", "failed")
	condition = "steps." + id + ".status " + pick(a.draws, "==", "==", "==", "!=") + " " + quoted(word)
	of := "steps." + id + ".outputs"
	for _, b := range slices.Backward(a.names) {
		if b.source == of && a.chance(60) && (word == "succeeded" || a.chance(60)) {
			proven = append(proven, binding{of, schema.NonNull(b.typ)})
			break
		}
	}
	if word == "failed" && a.chance(60) {
		proven = append(proven, binding{"steps." + id + ".error", failure()})
	}
	return condition, proven
}

// action draws a call: each input gets a literal, an expression or text.
func (a *author) action(in string) (outputs *schema.Type, absent bool) {
	if given := a.given(); given != "" && a.chance(30) {
		a.write("%suses: svc.take", in)
		a.write("%swith: {all: %s}", in, quoted("${{ "+given+" }}"))
		return schema.MapOf(nil), false
	}
	if a.chance(20) {
		a.write("%suses: svc.list", in)
		a.write("%swith: {q: %s}", in, a.whole(text))
		a.write("%spaginate: {max_pages: 3}", in)
		rows, _ := schema.MustFromJSON(string(a.flow.actions["svc.list"].Output)).Field("rows")
		outputs = schema.ObjectOf(schema.Required("items", rows), schema.Required("pages", integer), schema.Required("truncated", boolean))
	} else {
		name := "svc.read" + strconv.Itoa(a.IntN(3))
		a.write("%suses: %s", in, name)
		input := schema.MustFromJSON(string(a.flow.actions[name].Input))
		var with []string
		for _, field := range input.Fields {
			if field.Required || a.chance(50) {
				with = append(with, quoted(field.Name)+": "+a.input(field.Type))
			}
		}
		a.write("%swith: {%s}", in, strings.Join(with, ", "))
		outputs = schema.MustFromJSON(string(a.flow.actions[name].Output))
	}
	if a.chance(30) {
		a.write("%son_error: %s", in, pick(a.draws, "continue", "{not_found: continue}"))
		absent = true
	}
	return outputs, absent
}

// given finds what svc.read0 gave as a whole, "" where no step has called it.
func (a *author) given() string {
	output := schema.MustFromJSON(string(a.flow.actions["svc.read0"].Output))
	for _, b := range a.names {
		if b.typ.Equal(output) {
			return b.source
		}
	}
	return ""
}

func (a *author) input(t *schema.Type) string {
	goal := schema.NonNull(t)
	if t.Kind == schema.String && len(t.Enum) == 0 && a.chance(30) {
		return a.worded()
	}
	switch {
	case !goal.Known():
		goal = a.goal()
	case len(goal.Enum) > 0 && a.chance(80):
		return fmt.Sprint(pick(a.draws, goal.Enum...))
	case goal.Kind == schema.Object && len(goal.Fields) > 0 && !a.chance(10):
		var fields []string
		for _, field := range goal.Fields {
			if field.Required || a.chance(50) {
				fields = append(fields, quoted(field.Name)+": "+a.input(field.Type))
			}
		}
		return "{" + strings.Join(fields, ", ") + "}"
	case goal.Kind == schema.List && !a.chance(40):
		return "[" + a.input(goal.Element()) + ", " + a.input(goal.Element()) + "]"
	}
	return a.whole(goal)
}

// use draws a let that reads what the conditions seem to prove.
func (a *author) use(in string, known []binding) *schema.Type {
	below := paths(pick(a.draws, known...), 2, nil)
	b := pick(a.draws, below[min(1, len(below)-1):]...)
	a.write("%slet:", in)
	a.write("%s  v0_: %s", in, quoted("${{ "+b.source+" }}"))
	return schema.ObjectOf(schema.Required("v0_", b.typ))
}

// values draws a let.
func (a *author) values(in string) *schema.Type {
	a.write("%slet:", in)
	var fields []schema.Field
	old := a.names
	for i := range 1 + a.IntN(3) {
		name, goal := "v"+strconv.Itoa(i)+"_", a.goal()
		if b := a.nullable(); b != nil && a.chance(20) { // a flag
			goal = boolean
			a.write("%s  %s: %s", in, name, quoted("${{ "+b.source+" != nil }}"))
			a.names = append(slices.Clone(a.names), binding{"(" + name + " ? " + b.source + " : " + a.literal(schema.NonNull(b.typ)).String() + ")", schema.NonNull(b.typ)})
		} else {
			a.write("%s  %s: %s", in, name, a.whole(goal))
		}
		fields = append(fields, schema.Required(name, goal))
		a.names = append(slices.Clone(a.names), binding{name, goal})
	}
	a.names = old
	return schema.ObjectOf(fields...)
}

// assertion draws a core.assert; what it says is taken for granted behind it.
func (a *author) assertion(in string) {
	a.write("%suses: core.assert", in)
	if b := a.nullable(); b != nil {
		a.write("%swith: {that: %s}", in, quoted("${{ "+b.source+" != nil }}"))
		if a.chance(70) {
			a.names = append(slices.Clone(a.names), binding{b.source, schema.NonNull(b.typ)})
		}
		return
	}
	a.write("%swith: {that: %s}", in, a.whole(boolean))
}

// loop draws a loop with one or two steps.
func (a *author) loop(in, id string) *schema.Type {
	goal := schema.ListOf(pick(a.draws, text, integer, schema.MapOf(nil)))
	list, elem := a.list(goal, 2)
	a.write("%sforeach: %s", in, quoted("${{ "+list.String()+" }}"))
	a.write("%sas: x%s", in, id)
	if a.chance(25) {
		a.write("%sbatch: %d", in, 1+a.IntN(3))
		elem = schema.AtLeast(schema.ListOf(elem), 1)
	}
	if a.chance(50) {
		a.write("%son_error: %s", in, pick(a.draws, "collect", "stop"))
	}
	names, seen := a.names, a.seen
	a.names, a.seen = append(slices.Clone(a.names), binding{"x" + id, elem}, binding{"index", integer}), nil
	a.write("%ssteps:", in)
	for range 1 + a.IntN(2) {
		a.step(in+"  ", false)
	}
	collected := a.goal()
	a.write("%scollect: %s", in, a.whole(collected))
	a.names, a.seen = names, seen
	return schema.ObjectOf(schema.Required("items", schema.ListOf(collected)))
}

func (a *author) foot() {
	a.write("outputs:")
	for _, name := range []string{"p", "q"} {
		if a.chance(20) {
			a.write("  %s: %s", name, a.worded())
			continue
		}
		a.write("  %s: %s", name, a.whole(a.goal()))
	}
	if a.chance(30) {
		a.write("on_failure:")
		a.write("  - uses: core.log")
		a.write("    with: {text: \"${{ error.kind }} in ${{ error.step }}: ${{ error.message }}\"}")
	}
	if a.chance(30) {
		a.write("finally:")
		a.write("  - let: {x: %s}", quoted("${{ error?.message ?? run.status }}"))
	}
}
