package check

import (
	"time"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// handlerTimeout is the timeout of a handler's step (docs/language.md, rule 25).
const handlerTimeout = 5 * time.Minute

// steps checks the steps of a list and returns their plans.
func (c *checker) steps(l *list) []plan.Step {
	if len(l.steps) == 0 {
		return nil
	}
	out := make([]plan.Step, 0, len(l.steps))
	for _, s := range l.steps {
		c.checkStep(s)
		out = append(out, *s.plan)
	}
	return out
}

// checkStep checks a step once: before the steps that read it, whatever stands
// first in the file.
func (c *checker) checkStep(s *step) {
	if s.plan != nil {
		return
	}
	s.plan = &plan.Step{ID: s.planID(), Pos: position(s.src.Node.FirstKey()), RunIf: plan.RunIfOK}
	if s.src.Kind == spec.NoKind {
		s.output = schema.Of(schema.Any)
		c.loose(s)
		return
	}
	// Around it first: the type of the item is known by then.
	if loop := s.list.loop; loop != nil {
		c.checkForeach(loop)
	}
	c.common(s)
	switch s.src.Kind {
	case spec.ActionStep:
		c.actionStep(s)
	case spec.LetStep:
		c.letStep(s)
	case spec.SetStateStep:
		c.setStateStep(s)
	case spec.LoopStep:
		c.loopStep(s)
	}
	if s.output == nil {
		s.output = schema.Of(schema.Any)
	}
}

// loose checks the expressions of a step of which nothing else is known.
func (c *checker) loose(s *step) {
	v := valuer{c: c, scope: c.scope(s, false, true)}
	for _, node := range []*spec.Node{s.src.With, s.src.SetState} {
		if node != nil {
			v.value(node, nil, "", false)
		}
	}
}

// common reads the keys that every kind of step has.
func (c *checker) common(s *step) {
	src, out := s.src, s.plan
	if node := src.Name; node != nil && c.static(node) {
		out.Title = node.Text
	}
	out.Needs, out.Reads = s.planned()
	if node := src.RunIf; node != nil {
		wordInto(c, &out.RunIf)(c.key("step", "run_if"), node)
	}
	c.others(src.Others)
	c.checkIf(s)
}

// planned are the ids of the steps that s follows: those that are written, or stand
// above it, and the others, which it reads.
func (s *step) planned() (needs, reads []string) {
	if len(s.needs) == 0 {
		return nil, nil
	}
	written := make(map[string]bool, len(s.needs))
	for _, e := range s.needs {
		if id := e.to.planID(); !e.read && !written[id] {
			written[id] = true
			needs = append(needs, id)
		}
	}
	for _, e := range s.needs {
		if id := e.to.planID(); e.read && !written[id] {
			reads = append(reads, id)
		}
	}
	return needs, reads
}

// checkIf checks a step's `if` and keeps what it proves. A loop's is checked
// before what stands inside.
func (c *checker) checkIf(s *step) {
	node := s.src.If
	if node == nil || node.Bad || s.plan != nil && s.plan.If != nil || s.ownIf != nil {
		return
	}
	text := c.bare(node)
	if text.bad && len(text.parts) == 1 && text.parts[0].parsed != nil && !text.looked {
		text.looked = true
		_, issues := c.infer(&text.parts[0], c.scope(s, false, false))
		for _, issue := range issues {
			c.issue(node, text.parts[0].offset, issue)
		}
	}
	if text.bad || text.whole == nil {
		return
	}
	x := text.expr(text.whole)
	if s.plan != nil {
		s.plan.If = &x
	}
	c.condition(text, c.scope(s, false, false))
	s.ownIf = text.whole.parsed
}

// condition checks that a bare expression gives true or false. What is wrong
// with the whole is told at its first character.
func (c *checker) condition(text *text, scope *eval.Scope) {
	x := text.whole.parsed
	found, issues := c.infer(text.whole, scope)
	for _, issue := range issues {
		c.issue(text.node, text.whole.offset, issue)
	}
	if eval.HasErrors(issues) {
		return
	}
	c.knownType(text, found)
	for _, issue := range x.CheckCondition(scope) {
		problem := c.errorAt(text.node.Pos, issue.Code, "%s", issue.Message)
		problem.Hint = issue.Hint
		problem.Mend = mendOf(issue.Sure, text.node.Change(changesAt(text.whole.offset, issue.Changes)...))
	}
}

// timeouts reads `timeout` and `within`, with what holds when they are not
// written.
func (c *checker) timeouts(s *step) {
	out := s.plan
	switch {
	case s.list.handler != handlerNone:
		out.Timeout = handlerTimeout
	case s.action == nil || s.action.builtin():
	case c.timeout > 0:
		out.Timeout = c.timeout
	case s.action.plan.DefaultTimeout > 0:
		out.Timeout = min(s.action.plan.DefaultTimeout, c.plan.Timeout)
	default:
		out.Timeout = min(time.Minute, c.plan.Timeout)
	}
	if node := s.src.Timeout; node != nil {
		if d := c.bounded(c.key("step", "timeout"), node); d > 0 {
			out.Timeout = d
		}
	}
	if node := s.src.Within; node != nil {
		out.Within = c.bounded(c.key("step", "within"), node)
	}
}
