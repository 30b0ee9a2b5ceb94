package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// needs finds the steps that each step follows by what is written: the step
// above it in its list, or exactly those under `needs`.
func (c *checker) needs(l *list) {
	for i, s := range l.steps {
		switch {
		case s.src.Needs != nil:
			c.writtenNeeds(s)
		case i > 0 && !s.src.Written("needs"):
			s.needs = []edge{{to: l.steps[i-1], pos: s.src.Node.FirstKey()}}
		}
		if s.inner != nil {
			c.needs(s.inner)
		}
	}
}

func (c *checker) writtenNeeds(s *step) {
	nodes := []*spec.Node{s.src.Needs}
	if s.src.Needs.Kind == spec.Sequence {
		nodes = s.src.Needs.Items
	}
	for _, node := range nodes {
		if node.Bad {
			continue
		}
		if node.Kind != spec.Scalar {
			c.errorAt(node.Pos, CodeShape, "`needs` takes ids of steps, not a %s", node.Kind)
			continue
		}
		if target := c.needed(s, node); target != nil {
			s.needs = append(s.needs, edge{to: target, pos: node.Pos, written: true})
			s.list.ahead = s.list.ahead || target.index >= s.index
		}
	}
}

// needed finds the sibling with the id, and reports when there is none.
func (c *checker) needed(s *step, node *spec.Node) *step {
	if !c.static(node) {
		return nil
	}
	target := c.byID[node.Text]
	if target != nil && target.list == s.list {
		return target
	}
	if target == nil {
		c.errorAt(node.Pos, CodeUnknownStep, "no step has the id `%s`", node.Text).Hint =
			diag.DidYouMean(node.Text, c.siblingIDs(s))
		return nil
	}
	problem := c.errorAt(node.Pos, CodeHiddenStep, "step `%s` does not stand in the same list", node.Text)
	switch holder := target.within(s.list); {
	case holder != nil && holder.id != "":
		problem.Hint = diag.Say("it is inside the loop `" + holder.id + "`: write `needs: " + holder.id + "`")
	case s.within(target.list) != nil:
		problem.Hint = diag.Say("the loop around this step follows it: write `needs` at the loop")
	default:
		problem.Hint = diag.Say("`needs` names steps of its own list")
	}
	return nil
}

func (c *checker) siblingIDs(s *step) []string {
	var ids []string
	if len(c.problems) > maxHints {
		return nil
	}
	for _, sibling := range s.list.steps {
		if sibling.id != "" && sibling != s {
			ids = append(ids, sibling.id)
		}
	}
	return ids
}
