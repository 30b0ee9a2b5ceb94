package check

import (
	"slices"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/spec"
)

// proven adds to what s sees what is known whenever it runs: what `core.assert`
// has let pass before, what the status of a step says of it, and that the one
// step that a `run_if: failed` follows has an error. s is nil for the workflow's
// outputs.
func (c *checker) proven(s *step, scope *eval.Scope, reads []read) *eval.Scope {
	for _, r := range reads {
		if r.target == nil {
			continue
		}
		of := func(name string) []string { return []string{stepsRoot, r.id, name} }
		scope = scope.Implies(of("status"), []string{string(runs.StepSucceeded)}, of("outputs")).
			Implies(of("status"), []string{string(runs.StepFailed)}, of("error"))
		if s != nil && s.followsFailureOf(r.target) {
			scope = scope.NonNull(of("error"))
		}
	}
	for _, condition := range c.asserted(s) {
		scope = condition.Proves(scope)
	}
	return scope
}

// followsFailureOf reports whether s runs only when target has failed, with an
// error of its own: a blocked step has none.
func (s *step) followsFailureOf(target *step) bool {
	node := s.src.RunIf
	if node == nil || node.Text != string(plan.RunIfFailed) || len(s.needs) != 1 || s.needs[0].to != target {
		return false
	}
	return len(target.needs) == 0 || !target.runsOnOK()
}

// asserted lists the conditions that held before s: those of the `core.assert`
// steps that it follows, directly or not, through steps that run only when all
// went well.
func (c *checker) asserted(s *step) []*eval.Expression {
	var expressions []*eval.Expression
	if s == nil || s.src.Node == nil { // the place of the outputs: all steps ended well
		for _, one := range c.main.steps {
			expressions = c.assertion(one, expressions)
		}
		return expressions
	}
	for at := s; at != nil; at = at.list.loop {
		expressions = joined(expressions, c.assertedBefore(at))
	}
	return expressions
}

// assertedBefore lists what the steps of its list that s follows have asserted, once
// for each step.
func (c *checker) assertedBefore(s *step) []*eval.Expression {
	if !c.asserts || !s.runsOnOK() {
		return nil
	}
	if s.askedProof {
		return s.proof
	}
	s.askedProof = true
	for _, e := range s.needs {
		c.walked++
		s.proof = joined(c.assertion(e.to, s.proof), c.assertedBefore(e.to))
	}
	return s.proof
}

// joined adds to a list what it does not have.
func joined(list, more []*eval.Expression) []*eval.Expression {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// assertion adds the condition of a step that let nothing else pass.
func (c *checker) assertion(s *step, expressions []*eval.Expression) []*eval.Expression {
	src := s.src
	if src.Uses == nil || src.Uses.Text != runs.CoreAssert || src.If != nil || src.Written("if") || !s.runsOnOK() || s.continues() {
		return expressions
	}
	node := src.With.Get("that")
	if node == nil || node.Kind != spec.Scalar || node.Bad {
		return expressions
	}
	if text := c.text(node); text.whole != nil && text.whole.parsed != nil && !slices.Contains(expressions, text.whole.parsed) {
		expressions = append(expressions, text.whole.parsed)
	}
	return expressions
}

// impliesIf reports whether target's `if` holds whenever s runs: each of its
// conditions is one of s, where that is asked for, of a loop around s or of an
// assertion before, and gives the same at any time.
func (c *checker) impliesIf(s, target *step, own bool) bool {
	wanted := c.conditions(target)
	if wanted == nil || s == nil {
		return false
	}
	var held []string
	for at := s; at != nil && at.src.Node != nil; at = at.list.loop {
		if x := c.ifOf(at); x != nil && (own || at != s) {
			held = append(held, x.Conditions()...)
		}
	}
	for _, x := range c.asserted(s) {
		held = append(held, x.Conditions()...)
	}
	return !slices.ContainsFunc(wanted, func(one string) bool { return !slices.Contains(held, one) })
}

// conditions lists what the `if` of a step joins with `and`; nil where that may
// give another result later.
func (c *checker) conditions(s *step) []string {
	x := c.ifOf(s)
	if x == nil {
		return nil
	}
	for _, r := range x.Reads() {
		if !slices.Contains([]string{stepsRoot, "inputs", "state", "trigger"}, r.Path[0]) && !s.namesItem(r.Path[0]) {
			return nil
		}
	}
	if x.ReadsTime() {
		return nil
	}
	return x.Conditions()
}

// namesItem reports whether a name is that of an item of a loop around.
func (s *step) namesItem(name string) bool {
	return slices.ContainsFunc(s.loops(), func(loop *step) bool { return loop.as() == name })
}

// ifOf is the `if` of a step as far as it can be read.
func (c *checker) ifOf(s *step) *eval.Expression {
	node := s.src.If
	if node == nil || node.Bad || node.Kind != spec.Scalar {
		return nil
	}
	if text := c.bare(node); text.whole != nil {
		return text.whole.parsed
	}
	return nil
}

// usesAssert reports whether any step of the file asserts something: most files
// have none.
func usesAssert(l *list) bool {
	return slices.ContainsFunc(l.steps, func(s *step) bool {
		return s.src.Uses != nil && s.src.Uses.Text == runs.CoreAssert || s.inner != nil && usesAssert(s.inner)
	})
}
