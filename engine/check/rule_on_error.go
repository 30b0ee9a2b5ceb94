package check

import (
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

func join(words []string) string { return strings.Join(words, ", ") }

// onError reads what follows a failure: one word for all kinds, or one for
// each.
func (c *checker) onError(s *step, p *plan.Step) {
	node := s.src.OnError
	if node == nil || node.Bad {
		return
	}
	if node.Kind == spec.Scalar {
		if reaction, ok := c.reaction(node); ok {
			p.OnErrorAll = reaction
		}
		return
	}
	p.OnError = map[plan.ErrorKind]plan.Reaction{}
	for _, pair := range node.Pairs {
		kind, known := c.errorKind(pair.Key)
		reaction, ok := c.reaction(pair.Value)
		if known && ok {
			p.OnError[kind] = reaction
		}
	}
}

func (c *checker) reaction(node *spec.Node) (plan.Reaction, bool) {
	word, ok := c.word(node, "a value of `on_error`", string(plan.ReactContinue), string(plan.ReactFail), string(plan.ReactPause))
	return plan.Reaction(word), ok
}

// onUnknown reads what follows a call whose outcome is not known.
func (c *checker) onUnknown(s *step, p *plan.Step) {
	if s.src.OnUnknown == nil {
		return
	}
	word, ok := c.word(s.src.OnUnknown, "a value of `on_unknown`", "ask", "retry", "fail")
	if !ok {
		return
	}
	p.OnUnknown = word
	if s.action != nil && s.action.plan.Effect != plan.EffectOnce {
		pair, _ := s.src.Node.Pair("on_unknown")
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`on_unknown` is for actions of effect `once`; %s is `%s`",
			s.action.plan.FullName(), s.action.plan.Effect).Hint = "leave it out: the call is sent again"
	}
}
