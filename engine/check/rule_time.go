package check

import (
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	defaultRunTimeout     = 24 * time.Hour
	defaultStepTimeout    = time.Minute
	defaultHandlerTimeout = 5 * time.Minute
)

// times reads the bounds of one attempt and of the whole step.
func (c *checker) times(s *step, p *plan.Step) {
	core := s.action != nil && s.action.plan.Plugin == corePlugin
	switch {
	case s.list.handler != handlerNone:
		p.Timeout = defaultHandlerTimeout
	case core:
	case c.timeout > 0:
		p.Timeout = c.timeout
	case s.action != nil && s.action.plan.DefaultTimeout > 0:
		p.Timeout = s.action.plan.DefaultTimeout
	default:
		p.Timeout = defaultStepTimeout
	}
	for _, bound := range []struct {
		node *spec.Node
		name string
		into *plan.Duration
	}{{s.src.Timeout, "timeout", &p.Timeout}, {s.src.Within, "within", &p.Within}} {
		if bound.node == nil {
			continue
		}
		if d, ok := c.duration(bound.node); ok {
			*bound.into = d
			c.notAboveRun(bound.node, bound.name, d)
		}
	}
}

// notAboveRun reports a bound that the workflow's own timeout makes useless.
func (c *checker) notAboveRun(node *spec.Node, name string, d time.Duration) {
	if d <= c.plan.Timeout {
		return
	}
	problem := c.errorAt(node.Pos, CodeTooLong, "`%s` is longer than the workflow's `timeout`", name)
	problem.Hint = "the workflow's is the default of 24h: write a longer `timeout` at the top"
	if c.tree.Timeout != nil {
		problem.Hint = "the workflow's is " + c.tree.Timeout.Text
	}
}
