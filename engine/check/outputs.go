package check

import (
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// outputs checks the workflow's outputs. They are evaluated when all steps
// ended well.
func (c *checker) outputs() {
	if c.tree.Outputs == nil {
		return
	}
	var fields []schema.Field
	defer func() { c.plan.OutputSchema = schema.ObjectOf(fields...).JSONSchema() }()
	for _, pair := range c.tree.Outputs.Pairs {
		name := pair.Key.Text
		if !isField(name) {
			c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for an output", name).Hint = diag.Say(fieldHint)
		}
		t := c.output(name, pair.Value)
		fields = append(fields, schema.Required(name, t))
	}
}

// output checks one output and returns its type.
func (c *checker) output(name string, node *spec.Node) *schema.Type {
	format, content := (*spec.Node)(nil), node
	if node.Get("value") != nil {
		format, content = node.Get("format"), node.Get("value")
		c.formattedKeys(node)
	}
	whole := &step{list: &list{}} // stands for the place after all steps
	content.EachScalar(func(n *spec.Node) { c.outputReads(whole, c.text(n)) })
	steps := schema.Of(schema.Any)
	if !whole.readsAll {
		steps = c.readsType(nil, whole.reads, true, func(read) bool { return true })
	}
	v := valuer{c: c, scope: c.proven(nil, c.roots.With(stepsRoot, steps), whole.reads)}
	out := v.value(content, schema.Of(schema.Any), "", false)
	planned := plan.Output{Name: name, Value: out.plan}
	if format != nil {
		if word, ok := c.word(c.key("output", "format"), format); ok {
			planned.Format = word
			c.format(content, word, out.typ)
			planned.Columns = eval.ColumnsOf(out.typ)
		}
	}
	if to := node.Get("to"); content != node && to != nil && !to.Bad {
		c.destinations(&planned, to, out.typ)
	}
	c.plan.Outputs = append(c.plan.Outputs, planned)
	if out.typ == nil {
		return schema.Of(schema.Any)
	}
	return out.typ
}

func (c *checker) outputReads(whole *step, t *text) {
	for _, p := range t.parts {
		if p.parsed == nil {
			continue
		}
		for _, r := range p.parsed.Reads() {
			switch {
			case r.Path[0] != stepsRoot:
			case !c.literalRead(t.node, p.offset, r):
				whole.readsAll = true
			default:
				found := read{node: t.node, id: r.Path[1], pos: place(t.node, p.offset, r.Places[1])}
				found.target = c.visible(nil, found)
				whole.reads = append(whole.reads, found)
			}
		}
	}
}

// formattedKeys checks what stands beside `value` in an output: an output with a
// format has no other keys.
func (c *checker) formattedKeys(node *spec.Node) {
	known := c.tree.Language.Map("output").KeyNames("")
	for _, pair := range node.Pairs {
		if slices.Contains(known, pair.Key.Text) {
			continue
		}
		problem := c.errorAt(pair.Key.Pos, CodeUnknownKey, "an output has no key `%s` beside `value`", pair.Key.Text)
		if problem.Hint = diag.DidYouMean(pair.Key.Text, known); problem.Hint.Text == "" {
			problem.Hint = diag.Say("it has `format`; an object with a field `value` of its own stands below it: `value: {value: …}`")
		}
	}
}

// format checks that a value can be shown in a format: text always can, rows
// can be a table.
func (c *checker) format(node *spec.Node, word string, t *schema.Type) {
	rows := word == "csv" && isTable(t)
	if !t.Known() || (t.Kind == schema.String || rows) && !t.MayBeNull() {
		return
	}
	hint := "mdTable(rows) makes a table"
	if word == "csv" {
		hint = "a list of objects or of lists is a table, and toCSV(rows) makes the text"
	}
	c.errorAt(node.Pos, CodeFormat, "the format %s needs text, got %s", word, t.Article()).Hint = diag.Say(hint)
}

// isTable reports whether t may be rows: objects or lists.
func isTable(t *schema.Type) bool {
	if t.Kind != schema.List {
		return false
	}
	row := t.Element()
	return isA(row, schema.Object, schema.List) && !row.MayBeNull()
}
