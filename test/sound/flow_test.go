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
	absent := a.conditions(in)
	var outputs *schema.Type
	switch n := a.IntN(10); {
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
	if outputs == nil {
		return
	}
	if absent {
		outputs = schema.Nullable(outputs)
	}
	a.names = append(a.names, binding{"steps." + id + ".outputs", outputs})
	if absent && a.chance(50) {
		a.names = append(a.names, binding{"steps." + id + ".error", schema.Nullable(schema.ObjectOf(schema.Required("kind", text), schema.Required("message", text)))})
	}
}

// conditions draws needs, run_if and if; true when the step may have no outputs.
func (a *author) conditions(in string) (absent bool) {
	if len(a.seen) > 0 && a.chance(30) {
		var needs []string
		for _, id := range a.seen {
			if a.chance(40) {
				needs = append(needs, id)
			}
		}
		a.write("%sneeds: [%s]", in, strings.Join(needs, ", "))
		if len(needs) > 0 && a.chance(30) {
			a.write("%srun_if: %s", in, pick(a.draws, "failed", "any"))
			absent = true
		}
	}
	if a.chance(25) {
		condition := a.program(boolean)
		if b := a.nullable(); b != nil && a.chance(50) {
			condition = b.source + " != nil"
		} else if len(a.seen) > 0 && a.chance(30) {
			condition = "steps." + pick(a.draws, a.seen...) + `.status == "succeeded"`
		}
		a.write("%sif: %s", in, quoted(condition))
		absent = true
	}
	return absent
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
