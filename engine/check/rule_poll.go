package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// repeat checks `repeat`; the outputs are those of the last round.
func (c *checker) repeat(s *step, output *schema.Type) *schema.Type {
	node := s.src.Repeat
	if node == nil {
		return output
	}
	out := &plan.Repeat{}
	c.fields(node, "repeat", map[string]reader{
		"until": func(_ *spec.Key, n *spec.Node) { c.until(s, n, output, out) },
		"every": into(&out.Every, c.duration),
		"max":   into(&out.Max, c.integer),
	})
	if s.action == nil {
		return output
	}
	pair, _ := s.src.Node.Pair("repeat")
	switch effect := s.action.plan.Effect; {
	case s.action.builtin():
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`repeat` does not belong to `%s`", s.src.Uses.Text).Hint = diag.Say("leave `repeat` out")
	case effect != plan.EffectRead && effect != plan.EffectIdempotent:
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` can't be repeated: its effect is `%s`", s.src.Uses.Text, effect).Hint =
			diag.Say("only actions that read, or that may be sent twice, can be polled")
	}
	s.plan.Repeat = out
	return output
}

func (c *checker) until(s *step, node *spec.Node, output *schema.Type, out *plan.Repeat) {
	if node.Kind != spec.Scalar {
		c.errorAt(node.Pos, CodeShape, "`until` must be an expression, not a %s", node.Kind)
		return
	}
	text := c.bare(node)
	if text.bad || text.whole == nil {
		return
	}
	out.Until = text.expr(text.whole)
	c.condition(text, c.scope(s, false, true).With("result", output))
}
