package check

import (
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// outputs checks what the workflow yields: each a value, or a value with a
// format.
func (c *checker) outputs() {
	if c.tree.Outputs == nil {
		return
	}
	var reads []read
	for _, pair := range c.tree.Outputs.Pairs {
		scalars(pair.Value, func(n *spec.Node) { reads = append(reads, c.outputReads(n)...) })
	}
	scope := c.roots.With(stepsRoot, c.readsType(nil, reads, false))
	for _, pair := range c.tree.Outputs.Pairs {
		if !namePattern.MatchString(pair.Key.Text) {
			c.errorAt(pair.Key.Pos, CodeName, "`%s` can't be the name of an output", pair.Key.Text).Hint = "a name has letters, digits and `_`"
		}
		v := &valuer{c: c, scope: scope}
		c.plan.Outputs = append(c.plan.Outputs, c.output(pair, v))
	}
}

// outputReads finds the steps that a scalar of the outputs reads.
func (c *checker) outputReads(node *spec.Node) []read {
	var reads []read
	t := c.text(node)
	for _, p := range t.parts {
		if p.parsed == nil {
			continue
		}
		for _, r := range p.parsed.Reads() {
			if r.Path[0] != stepsRoot || !c.literalRead(node, p.offset, r) {
				continue
			}
			found := read{node: node, id: r.Path[1], pos: place(node, p.offset, r.Places[1])}
			found.target = c.visible(nil, found)
			reads = append(reads, found)
		}
	}
	return reads
}

func (c *checker) output(pair spec.Pair, v *valuer) plan.Output {
	out := plan.Output{Name: pair.Key.Text}
	node := pair.Value
	if formatted, ok := c.formatted(node, &out); ok {
		node = formatted
	}
	value, t := v.value(node, anyType(), "")
	out.Value = value
	if v.failed {
		return out
	}
	if misfit := t.Fits(anyType()); misfit != nil {
		c.errorAt(node.Pos, CodeSecretText, "%s", misfit.Message).Hint = misfit.Hint
		return out
	}
	if out.Format == "" {
		return out
	}
	if misfit := t.Fits(textType()); misfit != nil {
		problem := c.errorAt(node.Pos, CodeFormat, "an output with a format must be text: it %s", misfit.Message)
		problem.Hint = "toCSV(rows) and mdTable(rows) make text of a list"
	}
	return out
}

// formatted reads {value, format}. A map with other keys is a value itself.
func (c *checker) formatted(node *spec.Node, out *plan.Output) (*spec.Node, bool) {
	format, hasFormat := node.Pair("format")
	value, hasValue := node.Pair("value")
	want := 0
	for _, has := range []bool{hasFormat, hasValue} {
		if has {
			want++
		}
	}
	if want == 0 || len(node.Pairs) != want || !hasValue {
		return nil, false
	}
	if hasFormat {
		out.Format, _ = c.word(format.Value, "a format", "markdown", "csv")
	}
	return value.Value, true
}
