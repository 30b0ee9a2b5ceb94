package check

import (
	"slices"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	maxLoopDepth    = 8
	defaultParallel = 16
	maxParallel     = 256
)

// loopStep checks a foreach, then its steps, then what an item yields.
func (c *checker) loopStep(s *step, p *plan.Step) {
	p.Kind = plan.StepLoop
	if len(s.loops()) == maxLoopDepth {
		c.errorAt(s.src.Node.FirstKey(), CodeDepth, "loops are nested more than %d deep", maxLoopDepth)
	}
	loop := &plan.Loop{As: s.itemName(), MaxParallel: defaultParallel}
	p.Loop = loop
	loop.Foreach = c.foreach(s)
	c.loopName(s)
	if node := s.src.MaxParallel; node != nil {
		if n, ok := c.integer(node, 1, maxParallel); ok {
			loop.MaxParallel = n
		}
	}
	if node := s.src.OnError; node != nil {
		word, _ := c.word(node, "a value of a loop's `on_error`", "stop", "collect")
		loop.Collecting = word == "collect"
	}
	loop.Key = c.loopKey(s)
	loop.Steps = c.steps(s.inner)
	s.output = loopType(c.collect(s, loop))
}

// foreach checks the list, written out or given by an expression, and finds the
// type of its items.
func (c *checker) foreach(s *step) plan.Value {
	node := s.src.Foreach
	s.elem = anyType()
	if node == nil || node.Bad {
		return plan.Value{}
	}
	if node.Kind == spec.Scalar && !c.text(node).bad && c.text(node).whole == nil {
		c.errorAt(node.Pos, CodeLoopList, "`foreach` needs a list").Hint =
			"write an expression that gives one, `${{ … }}`, or a list such as [a, b]"
		v := &valuer{c: c, scope: c.scopeOf(s, true)}
		v.names(c.text(node))
		return plan.Value{}
	}
	v := &valuer{c: c, scope: c.scopeOf(s, true)}
	value, t := v.value(node, anyType(), "")
	switch {
	case v.failed:
	case t.Kind == schema.List && !t.Nullable:
		s.elem = t.Element()
	case t.Kind == schema.List:
		s.elem = t.Element()
		c.errorAt(node.Pos, CodeLoopList, "`foreach` needs a list, but this may be null").Hint = "give a list for that case: `?? []`"
	case t.Kind != schema.Any:
		problem := c.errorAt(node.Pos, CodeLoopList, "`foreach` needs a list, got %s", t.Article())
		if t.Kind == schema.Object {
			problem.Hint = "toPairs(x) makes a list of [key, value] pairs, values(x) one of the values"
		}
	}
	return value
}

// loopName checks the name of the item: it differs from every visible id, item
// name and root.
func (c *checker) loopName(s *step) {
	node := s.src.As
	if node == nil {
		if slices.ContainsFunc(s.loops(), func(outer *step) bool { return outer.itemName() == defaultItem }) {
			c.errorAt(s.src.Node.FirstKey(), CodeName, "the loop around this one calls its items `item` too").Hint =
				"give this loop's items a name with `as`"
		}
		return
	}
	if !c.scalar(node, "a name") || !c.freshName(node, s, "a loop's item") {
		return
	}
	if other := c.byID[node.Text]; other != nil && (c.sees(s, other, true) || other.within(s.inner) != nil) {
		c.errorAt(node.Pos, CodeName, "the name `%s` is taken by a step", node.Text).Hint = "choose another name for the items"
	}
}

// loopKey checks the expression that tells items apart.
func (c *checker) loopKey(s *step) *plan.Expr {
	node := s.src.Key
	if node == nil {
		return nil
	}
	t := c.text(node)
	if t.bad {
		return nil
	}
	v := &valuer{c: c, scope: c.itemScopeOf(s, false)}
	if t.whole == nil {
		v.names(t)
		c.errorAt(node.Pos, CodeLoopKey, "`key` must be one expression").Hint =
			"write `${{ " + s.itemName() + ".… }}`; join parts inside it with `+`"
		return nil
	}
	inferred := v.infer(t, *t.whole)
	switch inferred.Kind {
	case schema.Any, schema.String, schema.Int:
		if inferred.Nullable || inferred.Secret {
			c.errorAt(node.Pos, CodeLoopKey, "`key` must give text or an integer, but this may be %s", inferred).Hint =
				"give a value for that case with `??`"
		}
	default:
		c.errorAt(node.Pos, CodeLoopKey, "`key` must give text or an integer, got %s", inferred.Article()).Hint = "string(x) makes text of it"
	}
	expr := t.expr(t.whole)
	return &expr
}

// collect checks what one item yields and returns its type.
func (c *checker) collect(s *step, loop *plan.Loop) *schema.Type {
	node := s.src.Collect
	if node == nil {
		return schema.Of(schema.Null)
	}
	v := &valuer{c: c, scope: c.itemScopeOf(s, true)}
	value, t := v.value(node, anyType(), "")
	loop.Collect = &value
	if v.failed {
		return anyType()
	}
	if misfit := t.Fits(anyType()); misfit != nil {
		c.errorAt(node.Pos, CodeSecretText, "%s", misfit.Message).Hint = misfit.Hint
	}
	return t
}
