package interp

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// TriggerCode is what is evaluated outside of a run, made ready: inputs, keys and items of
// triggers, messages, where outputs go. It is immutable and safe for concurrent use.
type TriggerCode struct {
	program *Program
}

// CompileTriggers makes the expressions of a workflow's triggers ready. The cache
// may be shared with other workflows.
func CompileTriggers(w *plan.Workflow, cache *eval.Cache) (*TriggerCode, error) {
	inputs, err := schema.FromJSONOr(w.Inputs, schema.ObjectOf())
	if err != nil {
		return nil, fmt.Errorf("read the schema of the inputs of %s: %w", w.Name, err)
	}
	c := &compiler{cache: cache, program: &Program{
		workflow: w, exprs: map[string]*eval.Program{}, secrets: map[string]any{}, roots: map[string]bool{}, reads: map[string]bool{}, inputs: inputs,
	}}
	for i := range w.Triggers {
		t := &w.Triggers[i]
		values := make([]plan.Value, 0, len(t.Inputs)+3)
		for _, binding := range t.Inputs {
			values = append(values, binding.Value)
		}
		if t.Webhook != nil && t.Webhook.Dedupe != nil {
			values = append(values, *t.Webhook.Dedupe)
		}
		if t.Poll != nil {
			values = append(values, t.Poll.With, exprValue(&t.Poll.Items), exprValue(&t.Poll.Key))
			if t.Poll.Connection != nil {
				values = append(values, *t.Poll.Connection)
			}
		}
		for _, v := range values {
			if err := c.value(v); err != nil {
				return nil, fmt.Errorf("trigger %s of %s: %w", t.Name, w.Name, err)
			}
		}
	}
	return &TriggerCode{program: c.program}, nil
}

// CompileValues makes values ready that belong to no trigger: of a file, which errors
// name.
func CompileValues(file string, cache *eval.Cache, values ...plan.Value) (*TriggerCode, error) {
	c := &compiler{cache: cache, program: &Program{
		workflow: &plan.Workflow{File: file}, exprs: map[string]*eval.Program{}, secrets: map[string]any{}, roots: map[string]bool{}, reads: map[string]bool{}, inputs: schema.ObjectOf(),
	}}
	for _, v := range values {
		if err := c.value(v); err != nil {
			return nil, fmt.Errorf("make the expressions of %s ready: %w", file, err)
		}
	}
	return &TriggerCode{program: c.program}, nil
}

func exprValue(x *plan.Expr) plan.Value { return plan.Value{Kind: plan.ValueExpr, Expr: x} }

// Value evaluates a value of a trigger with the roots that it sees, which are
// values of package schema, at the time `at`. t is the type of the place that it
// goes to, nil when nothing is known. The error has kind invalid.
func (c *TriggerCode) Value(v plan.Value, t *schema.Type, roots map[string]any, at time.Time) (any, *runs.Error) {
	m := &Machine{program: c.program, at: at}
	return m.resolve(v, t, c.env(roots))
}

// Expr evaluates one expression of a trigger; see Value.
func (c *TriggerCode) Expr(x plan.Expr, roots map[string]any, at time.Time) (any, *runs.Error) {
	return c.Value(exprValue(&x), nil, roots, at)
}

// Inputs evaluates what a trigger supplies, each as JSON of its input's type. What
// an input's schema does not name is left out: a sender may say more than was
// asked for. The error names the input.
func (c *TriggerCode) Inputs(t *plan.Trigger, roots map[string]any, at time.Time) (map[string]json.RawMessage, *runs.Error) {
	inputs := make(map[string]json.RawMessage, len(t.Inputs))
	for _, binding := range t.Inputs {
		accepts, ok := c.program.inputs.Field(binding.Name)
		if !ok {
			accepts = anyType
		}
		value, failure := c.Value(binding.Value, accepts, roots, at)
		if failure == nil {
			inputs[binding.Name], failure = acceptInput(accepts, value)
		}
		if failure != nil {
			failure.Message = fmt.Sprintf("input `%s` of trigger %s: %s", binding.Name, t.Name, failure.Message)
			return nil, failure
		}
	}
	return inputs, nil
}

func acceptInput(t *schema.Type, value any) (json.RawMessage, *runs.Error) {
	accepted, err := t.Accept(named(t, value))
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInvalid, Reason: reasonExpression, Message: err.Error(), Applied: runs.NotApplied}
	}
	return encodeResult(accepted)
}

// named returns a value without the names that its type does not have.
func named(t *schema.Type, value any) any {
	switch value := value.(type) {
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = named(t.Element(), item)
		}
		return list
	case map[string]any:
		if t.Kind != schema.Object {
			return value
		}
		object := make(map[string]any, len(value))
		for name, item := range value {
			if part, ok := t.Field(name); ok {
				object[name] = named(part, item)
			}
		}
		return object
	}
	return value
}

func (c *TriggerCode) env(roots map[string]any) map[string]any {
	env := make(map[string]any, len(roots)+1)
	for name, value := range roots {
		env[name] = value
	}
	env[rootSecrets] = c.program.secrets
	return env
}
