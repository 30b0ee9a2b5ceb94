package interp

import (
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
)

// bodyReads collects what the expressions of a step read of a root. Of a loop's
// body it is the steps, so that an item's environment holds those alone and a
// wide loop after many steps is not quadratic.
type bodyReads struct {
	root    string
	names   map[string]bool
	dynamic bool // a computed name may read any step
}

func (b *bodyReads) sorted() []string { return slices.Sorted(maps.Keys(b.names)) }

func (b *bodyReads) loop(loop *plan.Loop) error {
	if err := eachExpr(loop.Foreach, b.expr); err != nil {
		return err
	}
	if err := eachExpr(loop.KeyValue(), b.expr); err != nil {
		return err
	}
	if loop.Collect != nil {
		if err := eachExpr(*loop.Collect, b.expr); err != nil {
			return err
		}
	}
	for i := range loop.Steps {
		if err := b.step(&loop.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (b *bodyReads) step(step *plan.Step) error {
	if err := b.expr(step.If); err != nil {
		return err
	}
	values := []plan.Value{step.With}
	if step.Connection != nil {
		values = append(values, *step.Connection)
	}
	for _, binding := range step.Let {
		values = append(values, binding.Value)
	}
	for _, value := range values {
		if err := eachExpr(value, b.expr); err != nil {
			return err
		}
	}
	if step.Repeat != nil {
		if err := b.expr(&step.Repeat.Until); err != nil {
			return err
		}
	}
	if step.Loop != nil {
		return b.loop(step.Loop)
	}
	return nil
}

func (b *bodyReads) expr(x *plan.Expr) error {
	if x == nil || b.dynamic {
		return nil
	}
	parsed, issues := eval.Parse(x.Source)
	if len(issues) > 0 {
		return &issues[0]
	}
	for _, read := range parsed.Reads() {
		switch {
		case len(read.Path) == 0 || read.Path[0] != b.root:
		case len(read.Path) == 1:
			b.dynamic = true
		default:
			b.names[read.Path[1]] = true
		}
	}
	return nil
}
