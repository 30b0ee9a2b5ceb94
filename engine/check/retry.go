package check

import (
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// retryWords reads the words of `retry` over what stands in r.
func (c *checker) retryWords(node *spec.Node, r *plan.Retry) {
	c.fields(node, "retry", map[string]reader{
		"attempts":  into(&r.Attempts, c.integer),
		"delay":     into(&r.Delay, c.duration),
		"factor":    into(&r.Factor, c.number),
		"max_delay": into(&r.MaxDelay, c.duration),
		"jitter":    into(&r.Jitter, c.number),
		"on":        func(key *spec.Key, n *spec.Node) { r.On = c.kinds(key, n) },
	})
}

// kinds reads one error kind or a list of them.
func (c *checker) kinds(key *spec.Key, node *spec.Node) []plan.ErrorKind {
	nodes := []*spec.Node{node}
	if node.Kind == spec.Sequence {
		nodes = node.Items
	}
	kinds := []plan.ErrorKind{}
	for _, n := range nodes {
		if kind, ok := c.word(key, n); ok {
			kinds = append(kinds, plan.ErrorKind(kind))
		}
	}
	return kinds
}

func kindWords() []string { return spec.V1().Map("retry").Key("on").Values }

// reactions reads an action's `on_error`: one word for all kinds or a map.
func (c *checker) reactions(s *step, out *plan.Step) {
	node := s.src.OnError
	if node == nil {
		return
	}
	key := c.key("step", "on_error")
	if node.Kind == spec.Scalar {
		if word, ok := c.word(key, node); ok {
			out.OnErrorAll = plan.Reaction(word)
		}
		return
	}
	out.OnError = map[plan.ErrorKind]plan.Reaction{}
	for _, pair := range node.Pairs {
		kind, exists := c.word(c.key("retry", "on"), pair.Key)
		word, ok := c.word(key, pair.Value)
		if exists && ok {
			out.OnError[plan.ErrorKind(kind)] = plan.Reaction(word)
		}
	}
}

// continues reports whether the run may go on after a failure of the step.
func (s *step) continues() bool {
	node := s.src.OnError
	if node == nil || s.src.Kind != spec.ActionStep {
		return false
	}
	if node.Kind == spec.Scalar {
		return node.Text == string(plan.ReactContinue)
	}
	for _, pair := range node.Pairs {
		if pair.Value.Text == string(plan.ReactContinue) {
			return true
		}
	}
	return false
}
