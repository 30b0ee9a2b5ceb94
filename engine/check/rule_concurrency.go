package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const defaultQueueMax = 100

// concurrency reads how many runs may go on at a time (docs/language.md, rule 16). A
// workflow that keeps something between runs goes on one at a time unless it
// says otherwise. It comes after the steps, which tell that.
func (c *checker) concurrency() {
	out := &plan.Concurrency{
		Key: literal(jsonText("workflow:" + c.plan.Name)), Limit: 1, OnFull: plan.OnFullQueue, QueueMax: defaultQueueMax,
	}
	node := c.tree.Concurrency
	switch {
	case node != nil && node.Kind == spec.Scalar:
		c.concurrencyKey(node, out)
	case node != nil:
		c.fields(node, "concurrency", map[string]reader{
			"key":       func(_ *spec.Key, n *spec.Node) { c.concurrencyKey(n, out) },
			"limit":     into(&out.Limit, c.integer),
			"queue_max": into(&out.QueueMax, c.integer),
			"on_full":   wordInto(c, &out.OnFull),
		})
	case c.plan.State == nil && len(c.memory.cursors) == 0:
		return
	default:
		out.Implied = true
	}
	c.plan.Concurrency = out
}

// concurrencyKey reads a key: text, or text with expressions over the inputs,
// which are known when a run is accepted.
func (c *checker) concurrencyKey(node *spec.Node, out *plan.Concurrency) {
	if node.Kind != spec.Scalar {
		c.errorAt(node.Pos, CodeShape, "the key of `concurrency` must be text, not a %s", node.Kind)
		return
	}
	v := valuer{c: c, scope: eval.NewScope().With("inputs", c.inputs)}
	before := len(c.problems)
	result := v.value(node, nil, "", false)
	if v.bad || len(c.problems) > before {
		return
	}
	if t := result.typ; result.plan.Kind == plan.ValueExpr && t != nil {
		if t.MayBeNull() || !isA(t, schema.String, schema.Int, schema.Bool) {
			c.errorAt(node.Pos, CodeType, "the key of `concurrency` must be text, got %s", t.Article()).Hint =
				diag.Say("runs with the same text share the places")
			return
		}
	}
	if text := c.text(node); !text.hasExpr() && text.literal() == "" {
		c.errorAt(node.Pos, CodeName, "the key of `concurrency` is empty")
		return
	}
	if result.plan.Kind == plan.ValueLiteral { // a number or a boolean is text here
		result.plan = literal(jsonText(c.text(node).literal()))
	}
	out.Key = result.plan
}
