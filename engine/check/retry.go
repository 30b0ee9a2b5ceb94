package check

import (
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	maxAttempts = 1000
	maxFactor   = 100
)

// retryWords reads the words of `retry` over what stands in r.
func (c *checker) retryWords(node *spec.Node, r *plan.Retry) {
	if node.Kind != spec.Mapping {
		c.errorAt(node.Pos, CodeShape, "`retry` must be a map, not a %s", node.Kind).Hint = "write `retry: {attempts: 4}`"
		return
	}
	c.fields(node, "`retry`",
		field{"attempts", func(n *spec.Node) {
			if v, ok := c.integer(n, 1, maxAttempts); ok {
				r.Attempts = v
			}
		}},
		field{"delay", func(n *spec.Node) { c.durationInto(n, &r.Delay) }},
		field{"factor", func(n *spec.Node) { c.numberInto(n, 1, maxFactor, &r.Factor) }},
		field{"max_delay", func(n *spec.Node) { c.durationInto(n, &r.MaxDelay) }},
		field{"jitter", func(n *spec.Node) { c.numberInto(n, 0, 1, &r.Jitter) }},
		field{"on", func(n *spec.Node) { r.On = c.kinds(n) }},
	)
}

func (c *checker) durationInto(node *spec.Node, d *time.Duration) {
	if v, ok := c.duration(node); ok {
		*d = v
	}
}

func (c *checker) numberInto(node *spec.Node, least, most float64, f *float64) {
	if v, ok := c.number(node, least, most); ok {
		*f = v
	}
}

// kinds reads one error kind or a list of them.
func (c *checker) kinds(node *spec.Node) []plan.ErrorKind {
	nodes := []*spec.Node{node}
	if node.Kind == spec.Sequence {
		nodes = node.Items
	}
	kinds := []plan.ErrorKind{}
	for _, n := range nodes {
		if kind, ok := c.word(n, "a kind of error", kindWords()...); ok {
			kinds = append(kinds, plan.ErrorKind(kind))
		}
	}
	return kinds
}

func kindWords() []string {
	var words []string
	for _, kind := range plan.ErrorKinds() {
		words = append(words, string(kind))
	}
	return words
}

// reactions reads an action's `on_error`: one word for all kinds or a map.
func (c *checker) reactions(s *step, out *plan.Step) {
	node := s.src.OnError
	if node == nil {
		return
	}
	words := []string{string(plan.ReactContinue), string(plan.ReactFail), string(plan.ReactPause)}
	const what = "what can follow an error"
	if node.Kind == spec.Scalar {
		if word, ok := c.word(node, what, words...); ok {
			out.OnErrorAll = plan.Reaction(word)
		}
		return
	}
	out.OnError = map[plan.ErrorKind]plan.Reaction{}
	for _, pair := range node.Pairs {
		kind, known := c.word(pair.Key, "a kind of error", kindWords()...)
		word, ok := c.word(pair.Value, what, words...)
		if known && ok {
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
