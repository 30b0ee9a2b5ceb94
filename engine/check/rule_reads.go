package check

import (
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

// stepsRoot is the root name under which steps are read.
const stepsRoot = "steps"

// reads finds the steps that each step's expressions read, checks that they can
// be seen and can have finished, and adds the inferred edges.
func (c *checker) reads(l *list) {
	for _, s := range l.steps {
		c.readsOf(s)
		if s.inner != nil {
			c.reads(s.inner)
			// What stands inside a loop and what it collects belong to it.
			for _, node := range []*spec.Node{s.src.Key, s.src.Collect} {
				node.EachScalar(func(n *spec.Node) { c.readsIn(s, c.text(n), node == s.src.Collect) })
			}
		}
	}
}

func (c *checker) readsOf(s *step) {
	src := s.src
	for _, node := range []*spec.Node{src.Foreach, src.Connection, src.With, src.Let, src.SetState} {
		node.EachScalar(func(n *spec.Node) { c.readsIn(s, c.text(n), false) })
	}
	bare := []*spec.Node{src.If}
	if src.Repeat != nil {
		bare = append(bare, src.Repeat.Get("until"))
	}
	for _, node := range bare {
		if node != nil && node.Kind == spec.Scalar {
			c.readsIn(s, c.bare(node), false)
		}
	}
}

// readsIn takes the reads of one scalar.
func (c *checker) readsIn(s *step, t *text, collect bool) {
	for _, p := range t.parts {
		if p.parsed == nil {
			continue
		}
		for _, r := range p.parsed.Reads() {
			if r.Path[0] == stepsRoot {
				c.readStep(s, t.node, p.offset, r, collect)
			}
		}
	}
}

func (c *checker) readStep(s *step, node *spec.Node, base int, r eval.Read, collect bool) {
	if !c.literalRead(node, base, r) {
		s.readsAll = true
		return
	}
	found := read{node: node, id: r.Path[1], pos: place(node, base, r.Places[1]), collect: collect}
	key := readKey{found.id, collect}
	if found.target = c.visible(s, found); found.target != nil && !s.readsOnce[key] {
		c.inferredEdge(s, &found)
	}
	if s.readsOnce == nil {
		s.readsOnce = map[readKey]bool{}
	}
	s.readsOnce[key] = true
	s.reads = append(s.reads, found)
}

// literalRead reports `steps` that is read as a whole or by a computed id: the
// order of the steps could not be known.
func (c *checker) literalRead(node *spec.Node, base int, r eval.Read) bool {
	if len(r.Path) > 1 && len(r.Places) > 1 {
		return true
	}
	c.errorAt(place(node, base, [2]int{r.Start, r.End}), CodeStepsWhole, "steps are read by their ids, such as `steps.fetch.outputs`").Hint =
		diag.Say("without a literal id it is not known which steps must come before")
	return false
}

// visible finds the step that a read names and reports one that can't be seen
// from s; s is nil for the workflow's outputs.
func (c *checker) visible(s *step, r read) *step {
	target := c.byID[r.id]
	if target == nil {
		c.errorAt(r.pos, CodeUnknownStep, "no step has the id `%s`", r.id).Hint = diag.DidYouMean(r.id, c.visibleIDs(s, r.collect))
		return nil
	}
	if c.sees(s, target, r.collect) {
		return target
	}
	problem := c.errorAt(r.pos, CodeHiddenStep, "step `%s` can't be seen from here", r.id)
	switch {
	case target.list.handler != handlerNone:
		problem.Hint = diag.Say("it is a step of `" + string(target.list.handler) + "`")
	case target.list.loop != nil && target.list.loop.id != "":
		loop := target.list.loop.id
		problem.Hint = diag.Say("it is inside the loop `" + loop + "`: read what `collect` yields, `steps." + loop + ".outputs.items`")
	default:
		problem.Hint = diag.Say("it is inside a loop: outside one sees only what the loop's `collect` yields")
	}
	return nil
}

// sees reports whether s may name target: a step of its own list or of one
// around it, the items' steps in a loop's collect, a main step in a handler.
func (c *checker) sees(s *step, target *step, collect bool) bool {
	switch {
	case s == nil:
		return target.list == c.main
	case collect && target.list == s.inner:
		return true
	case s.list.handler != handlerNone && target.list == c.main:
		return true
	}
	return s.within(target.list) != nil
}

// maxHints bounds the problems for which all ids are compared: a file can hold
// thousands of both.
const maxHints = 100

func (c *checker) visibleIDs(s *step, collect bool) []string {
	var ids []string
	if len(c.problems) > maxHints {
		return nil
	}
	for id, target := range c.byID {
		if target != s && c.sees(s, target, collect) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// inferredEdge makes the step of the target's list that is or contains s follow
// the target, unless the target follows it.
func (c *checker) inferredEdge(s *step, r *read) {
	target := r.target
	if r.collect && target.list == s.inner || target.list.handler != s.list.handler {
		return // has ended by then
	}
	holder := s.within(target.list)
	if holder != target && c.letFollow(holder, target) {
		if !holder.hasEdge(target) {
			holder.needs = append(holder.needs, edge{to: target, pos: r.pos, read: true})
			holder.follows[target] = true
		}
		return
	}
	problem := c.errorAt(r.pos, CodeTooEarly, "step `%s` can't have finished here", r.id)
	switch {
	case target == s:
		problem.Message = "a step can't read itself"
		if s.src.Repeat != nil {
			problem.Hint = diag.Say("the outputs of a round are `result`")
		}
	case target == holder:
		problem.Message = "the steps inside the loop `" + r.id + "` can't read its outputs"
	default:
		problem.Hint = diag.Say("it follows this step; give it `needs` of its own, or move it up")
	}
	r.target = nil
}
