package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// letStep checks named values: each sees those above it.
func (c *checker) letStep(s *step) {
	s.plan.Kind = plan.StepLet
	if s.src.Let == nil {
		return
	}
	scope := c.scope(s, false, true)
	var fields []schema.Field
	for _, pair := range s.src.Let.Pairs {
		name := pair.Key.Text
		if !isField(name) {
			c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for a value", name).Hint =
				diag.Say(fieldHint)
		}
		v := valuer{c: c, scope: scope}
		out := v.value(pair.Value, schema.Of(schema.Any), "", false)
		s.plan.Let = append(s.plan.Let, plan.Binding{Name: name, Value: out.plan})
		fields = append(fields, schema.Required(name, out.typ))
		scope = c.named(scope, pair.Value, name, out.typ)
	}
	s.output = schema.ObjectOf(fields...)
}

// named adds a value of `let` to what those below it see, with what it is made of
// where that is one expression.
func (c *checker) named(scope *eval.Scope, node *spec.Node, name string, t *schema.Type) *eval.Scope {
	if node.Kind == spec.Scalar && !node.Bad {
		if text := c.text(node); text.whole != nil && text.whole.parsed != nil {
			return scope.WithValue(name, t, text.whole.parsed)
		}
	}
	return scope.With(name, t)
}
