package check

import (
	"slices"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// steps checks the steps of a list, each after those that it follows, and
// returns their plans in file order.
func (c *checker) steps(l *list) []plan.Step {
	if len(l.steps) == 0 {
		return nil
	}
	plans := make([]plan.Step, len(l.steps))
	for _, s := range inOrder(l) {
		plans[s.index] = c.step(s)
	}
	return plans
}

// inOrder returns the steps so that each comes after what it follows.
func inOrder(l *list) []*step {
	var order []*step
	seen := map[*step]bool{}
	var visit func(*step)
	visit = func(s *step) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, e := range s.needs {
			visit(e.to)
		}
		order = append(order, s)
	}
	for _, s := range l.steps {
		visit(s)
	}
	return order
}

// step checks one step by the rules of its kind.
func (c *checker) step(s *step) plan.Step {
	p := plan.Step{ID: s.planID(), Pos: position(s.src.Node.FirstKey()), RunIf: c.runIf(s)}
	for _, e := range s.needs {
		switch id := e.to.planID(); {
		case e.read:
			p.Reads = append(p.Reads, id)
		case !slices.Contains(p.Needs, id):
			p.Needs = append(p.Needs, id)
		}
	}
	if s.src.Name != nil && c.scalar(s.src.Name, "a title") {
		p.Title = s.src.Name.Text
	}
	p.If = c.condition(s)
	switch s.src.Kind {
	case spec.ActionStep:
		c.actionStep(s, &p)
	case spec.LetStep:
		c.letStep(s, &p)
	case spec.LoopStep:
		c.loopStep(s, &p)
	case spec.SetStateStep:
		c.laterStep(s)
	default:
		c.leftovers(s)
	}
	if s.output == nil {
		s.output = anyType()
	}
	return p
}

// runIf reads the upstream condition.
func (c *checker) runIf(s *step) plan.RunIf {
	if s.src.RunIf == nil {
		return plan.RunIfOK
	}
	word, ok := c.word(s.src.RunIf, "a value of `run_if`", string(plan.RunIfOK), string(plan.RunIfFailed), string(plan.RunIfAny))
	if !ok {
		return plan.RunIfOK
	}
	return plan.RunIf(word)
}

// condition checks a step's `if`: one strictly boolean expression.
func (c *checker) condition(s *step) *plan.Expr {
	node := s.src.If
	if node == nil {
		return nil
	}
	expr, parsed := c.strictlyBool(node, c.scopeOf(s, false))
	s.ownIf = parsed
	return expr
}

// strictlyBool checks a bare expression that must give true or false.
func (c *checker) strictlyBool(node *spec.Node, scope *eval.Scope) (*plan.Expr, *eval.Expression) {
	t := c.bare(node)
	if t.bad || t.whole == nil {
		return nil, nil
	}
	for _, issue := range t.whole.parsed.CheckCondition(scope) {
		if issue.Code == eval.CodeCondition && issue.Start == 0 && issue.End >= len(t.whole.source) {
			// The whole value is wrong: it is shown at its first character.
			c.errorAt(node.Pos, issue.Code, "%s", issue.Message).Hint = issue.Hint
			continue
		}
		c.issue(node, t.whole.offset, issue)
	}
	expr := t.expr(t.whole)
	return &expr, t.whole.parsed
}

// letStep checks named values; each sees the ones above it by name.
func (c *checker) letStep(s *step, p *plan.Step) {
	p.Kind = plan.StepLet
	if s.src.Let == nil {
		return
	}
	v := &valuer{c: c, scope: c.scopeOf(s, true)}
	var fields []schema.Field
	for _, pair := range s.src.Let.Pairs {
		name := pair.Key.Text
		c.freshName(pair.Key, s, "a value of `let`")
		v.failed = false
		value, t := v.value(pair.Value, anyType(), "")
		if v.failed {
			t = anyType()
		}
		p.Let = append(p.Let, plan.Binding{Name: name, Value: value})
		fields = append(fields, always(name, t))
		v.scope = v.scope.With(name, t)
	}
	s.output = schema.ObjectOf(fields...)
}

// leftovers checks the expressions of a step whose kind is not known, so that
// mistakes in them are told in the same pass.
func (c *checker) leftovers(s *step) {
	v := &valuer{c: c, scope: c.scopeOf(s, true)}
	for _, node := range []*spec.Node{s.src.With, s.src.Let} {
		if node != nil {
			v.value(node, anyType(), "")
		}
	}
}
