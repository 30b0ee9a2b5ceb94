package check

import (
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

const maxAttempts = 100

// defaultRetry is the engine's own (LANGUAGE.md, the annotated example).
func defaultRetry() plan.Retry {
	return plan.Retry{
		Attempts: 4, Delay: time.Second, Factor: 2, MaxDelay: 30 * time.Second, Jitter: 0.2, On: plan.DefaultRetryKinds(),
	}
}

// defaults reads the workflow's `defaults` for steps that call a plugin.
func (c *checker) defaults() {
	c.retry = defaultRetry()
	if c.tree.Defaults == nil {
		return
	}
	c.fields(c.tree.Defaults, "`defaults`",
		field{"timeout", func(n *spec.Node) {
			if d, ok := c.duration(n); ok {
				c.timeout = d
				c.notAboveRun(n, "timeout", d)
			}
		}},
		field{"retry", func(n *spec.Node) { c.retry = c.readRetry(n, c.retry) }},
	)
}

// retryOf reads a step's `retry`, on top of the defaults.
func (c *checker) retryOf(s *step, p *plan.Step) {
	core := s.action != nil && s.action.plan.Plugin == corePlugin
	if s.src.Retry == nil {
		if !core {
			retry := c.retry
			p.Retry = &retry
		}
		return
	}
	retry := c.readRetry(s.src.Retry, c.retry)
	retry.Explicit = true
	p.Retry = &retry
}

func (c *checker) readRetry(node *spec.Node, from plan.Retry) plan.Retry {
	if node.Kind != spec.Mapping {
		c.errorAt(node.Pos, CodeShape, "`retry` must be a map").Hint = "write `retry: {attempts: 4}`"
		return from
	}
	c.fields(node, "`retry`",
		field{"attempts", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxAttempts); ok {
				from.Attempts = v
			}
		}},
		field{"delay", func(n *spec.Node) {
			if v, ok := c.duration(n); ok {
				from.Delay = v
				from.MaxDelay = max(from.MaxDelay, v)
			}
		}},
		field{"factor", func(n *spec.Node) {
			if v, ok := c.number(n, 1, 100); ok {
				from.Factor = v
			}
		}},
		field{"max_delay", func(n *spec.Node) {
			if v, ok := c.duration(n); ok {
				from.MaxDelay = v
			}
		}},
		field{"jitter", func(n *spec.Node) {
			if v, ok := c.number(n, 0, 1); ok {
				from.Jitter = v
			}
		}},
		field{"on", func(n *spec.Node) { from.On = c.errorKinds(n) }},
	)
	return from
}

// errorKinds reads one kind or a list of them.
func (c *checker) errorKinds(node *spec.Node) []plan.ErrorKind {
	nodes := []*spec.Node{node}
	if node.Kind == spec.Sequence {
		nodes = node.Items
	}
	kinds := []plan.ErrorKind{}
	for _, n := range nodes {
		if n.Bad || !c.scalar(n, "a kind of error") {
			continue
		}
		if kind, ok := c.errorKind(n); ok && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func (c *checker) errorKind(node *spec.Node) (plan.ErrorKind, bool) {
	kind := plan.ErrorKind(node.Text)
	if slices.Contains(plan.ErrorKinds(), kind) {
		return kind, true
	}
	names := make([]string, 0, len(plan.ErrorKinds()))
	for _, known := range plan.ErrorKinds() {
		names = append(names, string(known))
	}
	problem := c.errorAt(node.Pos, CodeWord, "`%s` is not a kind of error", node.Text)
	if problem.Hint = diag.DidYouMean(node.Text, names); problem.Hint == "" {
		problem.Hint = "the kinds are " + join(names)
	}
	return "", false
}
