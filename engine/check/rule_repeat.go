package check

import (
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	maxRounds       = 1_000_000
	defaultMaxPages = 100
	defaultMaxItems = 10_000
	maxPages        = 100_000
	maxItems        = 1_000_000
)

// repeat reads a poll: until a condition on the round's outputs holds.
func (c *checker) repeat(s *step, p *plan.Step) {
	node := s.src.Repeat
	if node == nil || node.Bad {
		return
	}
	pair, _ := s.src.Node.Pair("repeat")
	if s.action != nil && s.action.plan.Effect != plan.EffectRead && s.action.plan.Effect != plan.EffectIdempotent {
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`repeat` is for read and idempotent actions; %s is `%s`",
			s.action.plan.FullName(), s.action.plan.Effect)
	}
	repeat := &plan.Repeat{}
	c.fields(node, "`repeat`",
		field{"until", func(n *spec.Node) {
			if n.Kind != spec.Scalar {
				c.errorAt(n.Pos, CodeShape, "`until` must be a condition, not a %s", n.Kind)
				return
			}
			if expr, _ := c.strictlyBool(n, c.roundScope(s)); expr != nil {
				repeat.Until = *expr
			}
		}},
		field{"every", func(n *spec.Node) {
			if d, ok := c.duration(n); ok {
				repeat.Every = d
			}
		}},
		field{"max", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxRounds); ok {
				repeat.Max = v
			}
		}},
	)
	for _, name := range []string{"until", "every"} {
		if _, ok := node.Pair(name); !ok {
			c.errorAt(node.FirstKey(), CodeMissing, "`repeat` has no `%s`", name).Hint =
				"write `repeat: {until: \"result.…\", every: 30s}`"
		}
	}
	p.Repeat = repeat
}

// roundScope is what `until` sees: the outputs of the round besides.
func (c *checker) roundScope(s *step) *eval.Scope {
	result := anyType()
	if s.output != nil {
		result = s.output
	}
	return c.scopeOf(s, true).With(resultName, result)
}

// paginate reads how far an action's pages are followed. Its outputs are then
// those of all pages.
func (c *checker) paginate(s *step, p *plan.Step) {
	node := s.src.Paginate
	if node == nil || node.Bad {
		return
	}
	if s.action != nil && s.action.plan.Paging == nil {
		pair, _ := s.src.Node.Pair("paginate")
		c.errorAt(pair.Key.Pos, CodeNotForAction, "%s has no pages", s.action.plan.FullName()).Hint = "leave `paginate` out"
	}
	p.Paginate = &plan.Paginate{MaxPages: defaultMaxPages, MaxItems: defaultMaxItems}
	c.fields(node, "`paginate`",
		field{"max_pages", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxPages); ok {
				p.Paginate.MaxPages = v
			}
		}},
		field{"max_items", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxItems); ok {
				p.Paginate.MaxItems = v
			}
		}},
	)
	if s.action != nil && s.action.plan.Paging != nil {
		s.output = pagedType(s.output, s.action.plan)
	}
}
