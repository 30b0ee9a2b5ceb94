package check

import (
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	defaultParallel = 16
	maxLoopDepth    = 8
)

// checkForeach finds the type of a loop's item, before what stands inside.
func (c *checker) checkForeach(s *step) {
	if s.elem != nil {
		return
	}
	s.elem = eval.Faulty
	if outer := s.list.loop; outer != nil {
		c.checkForeach(outer)
	}
	c.checkIf(s)
	s.batch = c.batch(s)
	s.foreach = c.foreach(s)
}

// foreach reads the list of a loop.
func (c *checker) foreach(s *step) plan.Value {
	node := s.src.Foreach
	if node == nil || node.Bad {
		return plan.Value{}
	}
	if node.Kind == spec.Scalar {
		if text := c.text(node); !text.bad && text.whole == nil {
			c.errorAt(node.Pos, CodeLoopList, "a loop needs a list").Hint = diag.Say("write `foreach: ${{ … }}` or a list")
			return plan.Value{}
		}
	}
	v := valuer{c: c, scope: c.scope(s, false, true)}
	out := v.value(node, schema.ListOf(schema.Of(schema.Any)), "", false)
	if v.bad {
		return plan.Value{}
	}
	if out.typ.Kind == schema.List { // lists of all kinds join
		s.elem = out.typ.Element()
	}
	if s.src.Batch != nil {
		s.elem = schema.AtLeast(schema.ListOf(s.elem), 1)
	}
	if n, most := plan.Batches(c.knownLength(node), s.batch), c.plan.LoopItems(); n > most {
		c.errorAt(node.Pos, CodeLoopList, "the list has %d items; a loop takes at most %d", n, most).Hint =
			diag.Say(quota.Raise(quota.LoopItems, int64(most)) + "; `batch` makes lists of several items each")
	}
	return out.plan
}

// knownLength is the length of a list that stands in the file: written out, or as
// an expression that reads nothing. It is 0 for others.
func (c *checker) knownLength(node *spec.Node) int {
	if node.Kind == spec.Sequence {
		return len(node.Items)
	}
	text := c.text(node)
	if text.whole == nil || text.whole.parsed == nil || len(text.whole.parsed.Reads()) > 0 || strings.Contains(text.whole.source, "now(") {
		return 0
	}
	program, err := eval.Compile(text.whole.source)
	if err != nil {
		return 0
	}
	value, err := program.RunWithin(nil, time.Time{}, c.limits())
	if err != nil {
		return 0 // what fails is told where it runs
	}
	list, _ := value.([]any)
	return len(list)
}

// batch is how many elements an item of a loop has; 0 = it is an element.
func (c *checker) batch(s *step) (size int) {
	if s.src.Batch != nil {
		into(&size, c.integer)(c.key("step", "batch"), s.src.Batch)
	}
	return size
}

// limits are what an expression of the workflow may use.
func (c *checker) limits() eval.Limits {
	if c.plan.Limits == nil {
		return eval.Limits{}
	}
	return eval.Limits{Steps: c.plan.Limits.ExpressionSteps, Result: c.plan.Limits.ExpressionResult}
}

// loopStep checks a loop and what stands inside.
func (c *checker) loopStep(s *step) {
	c.checkForeach(s)
	s.plan.Kind = plan.StepLoop
	loop := &plan.Loop{Foreach: s.foreach, Batch: s.batch, As: s.as(), MaxParallel: defaultParallel}
	s.plan.Loop = loop
	c.loopName(s)
	if len(s.loops()) == maxLoopDepth {
		c.errorAt(s.src.Node.FirstKey(), CodeDepth, "loops are nested deeper than %d", maxLoopDepth)
	}
	if node := s.src.MaxParallel; node != nil {
		into(&loop.MaxParallel, c.integer)(c.key("step", "max_parallel"), node)
	}
	if node := s.src.OnError; node != nil {
		word, ok := c.word(c.tree.Language.Map("step").KeyOf(string(spec.LoopStep), "on_error"), node)
		loop.Collecting = ok && word == "collect"
	}
	c.loopKey(s, loop)
	if s.inner != nil {
		loop.Steps = c.steps(s.inner)
	}
	s.output = c.collect(s, loop)
}

// loopName checks the name that the items have inside.
func (c *checker) loopName(s *step) {
	node, name := s.src.As, s.as()
	if node == nil {
		c.outerName(s, s.src.Node.FirstKey(), name)
		return
	}
	target := c.byID[name]
	switch {
	case !c.static(node):
	case !isField(name):
		c.errorAt(node.Pos, CodeName, "`%s` is not a name for an item", name).Hint = diag.Say(fieldHint)
	case c.outerName(s, node.Pos, name):
	case name == "item":
	case slices.Contains(rootNames(), name):
		c.errorAt(node.Pos, CodeName, "`%s` is a name of the language", name).Hint = diag.Say("write another one")
	case target != nil && (c.sees(s, target, true) || target.within(s.inner) != nil):
		c.errorAt(node.Pos, CodeName, "a step has the id `%s`", name).Hint = diag.Say("an item's name differs from the ids that are visible")
	}
}

// outerName reports a name that a loop around gives already.
func (c *checker) outerName(s *step, pos diag.Pos, name string) bool {
	for _, outer := range s.loops() {
		if outer.as() == name {
			c.errorAt(pos, CodeName, "the loop around already calls its items `%s`", name).Hint = diag.Say("write `as:` with another name")
			return true
		}
	}
	return false
}

// loopKey checks the expression that tells items apart.
func (c *checker) loopKey(s *step, loop *plan.Loop) {
	node := s.src.Key
	if node == nil || node.Bad {
		return
	}
	if text := c.text(node); !text.bad && !text.hasExpr() {
		c.errorAt(node.Pos, CodeLoopKey, "the key of a loop has an expression, such as ${{ %s.id }}", s.as()).Hint =
			diag.Say("every item needs a key of its own")
		return
	}
	v := valuer{c: c, scope: c.loopNames(s, c.scope(s, false, true))}
	before := len(c.problems)
	out := v.value(node, nil, "", false)
	if v.bad || len(c.problems) > before {
		return
	}
	if loop.Key = out.plan.Expr; loop.Key == nil {
		loop.KeyText = &out.plan // text around expressions
	}
	switch {
	case out.typ.HasSecret():
		c.errorAt(node.Pos, CodeSecretText, "a secret can't be a loop's key")
	case out.typ.MayBeNull():
		c.errorAt(node.Pos, CodeLoopKey, "the key of a loop may be null here").Hint = diag.Say("give a value for that case with `??`")
	case !isA(out.typ, schema.String, schema.Int):
		c.errorAt(node.Pos, CodeLoopKey, "the key of a loop must be text or an integer, got %s", out.typ.Article()).Hint = diag.Say("string(x) makes text of it")
	}
}

// collect checks what one item yields and returns the type of the loop's
// outputs.
func (c *checker) collect(s *step, loop *plan.Loop) *schema.Type {
	elem := schema.Of(schema.Null)
	if node := s.src.Collect; node != nil {
		v := valuer{c: c, scope: c.loopNames(s, c.scope(s, true, true))}
		out := c.collected(&v, node)
		loop.Collect, elem = &out.plan, out.typ
	} else if s.src.Written("collect") || s.src.Written("uses") {
		elem = schema.Of(schema.Any)
	}
	text := schema.Of(schema.String)
	failure := schema.ObjectOf(
		schema.Required("key", text), schema.Required("index", schema.Of(schema.Int)),
		schema.Required("kind", schema.EnumOf(kindWords()...)), schema.Required("message", text),
	)
	return schema.ObjectOf(
		schema.Required("items", schema.ListOf(elem)),
		schema.Required("errors", schema.ListOf(failure)),
	)
}

func (c *checker) collected(v *valuer, node *spec.Node) value {
	if node.Kind == spec.Scalar {
		if text := c.text(node); !text.bad && text.whole == nil {
			c.errorAt(node.Pos, CodeShape, "`collect` is a map or one expression").Hint = diag.Say("write `collect: ${{ … }}`")
			return anyValue()
		}
	}
	return v.value(node, schema.Of(schema.Any), "", false)
}
