package interp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// The reasons of the engine's own errors of kind invalid.
const (
	reasonExpression = "expression"
	reasonAssertion  = "assertion"
	reasonLimit      = "limit"
)

var (
	anyType  = &schema.Type{}
	textType = schema.Of(schema.String)
)

// evaluate runs an expression. An error is a failure of the step, with the
// expression's place.
func (m *Machine) evaluate(x *plan.Expr, env map[string]any) (any, *runs.Error) {
	program := m.program.exprs[x.Source]
	if program == nil {
		return nil, m.exprFailure(x, fmt.Errorf("expression %q was not compiled", x.Source))
	}
	if reads, whole := m.program.wholes[x.Source]; whole {
		if err := reads.decodeWhole(env); err != nil {
			return nil, m.exprFailure(x, err)
		}
	}
	value, err := program.RunWithin(env, m.at, m.limits())
	m.decoded.shrink(nil)
	if err != nil {
		return nil, m.exprFailure(x, err)
	}
	return value, nil
}

// limits are what an expression of the run may use: those that its plan says, as its
// version counts them.
func (m *Machine) limits() eval.Limits {
	limits := eval.Limits{Plain: !m.since(8)}
	if set := m.program.workflow.Limits; set != nil {
		limits.Steps, limits.Result = set.ExpressionSteps, set.ExpressionResult
	}
	return limits
}

func (m *Machine) exprFailure(x *plan.Expr, err error) *runs.Error {
	failure := &runs.Error{Kind: plan.KindInvalid, Reason: reasonExpression, Message: err.Error()}
	var run *eval.RunError
	var mismatch *schema.Mismatch
	switch {
	case errors.As(err, &run):
		failure.Message, failure.Hint = run.Message, run.Hint.Plain()
		if run.Reason != "" {
			failure.Reason = run.Reason
		}
	case errors.As(err, &mismatch):
		failure.Message, failure.Hint, failure.Pointer = mismatch.Message, mismatch.Hint.Plain(), mismatch.Pointer
	}
	failure.Message = m.place(x.Pos) + failure.Message
	return failure
}

// place is the prefix that tells where in the file something stands.
func (m *Machine) place(pos plan.Pos) string {
	if pos.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", m.program.workflow.File, pos.Line, pos.Column)
}

// condition evaluates a strictly boolean expression.
func (m *Machine) condition(x *plan.Expr, env map[string]any) (bool, *runs.Error) {
	value, failure := m.evaluate(x, env)
	if failure != nil {
		return false, failure
	}
	holds, ok := value.(bool)
	if !ok {
		return false, m.exprFailure(x, &eval.RunError{
			Message: fmt.Sprintf("a condition must be true or false, got %s", schema.TypeOf(value)),
			Reason:  reasonExpression,
		})
	}
	return holds, nil
}

// resolve evaluates a value. t is the type of the place that it goes to, nil
// when nothing is known: literals are read by it.
func (m *Machine) resolve(v plan.Value, t *schema.Type, env map[string]any) (any, *runs.Error) {
	if t == nil {
		t = anyType
	}
	switch v.Kind {
	case "":
		return nil, nil
	case plan.ValueLiteral:
		return literal(v.Literal, t)
	case plan.ValueExpr:
		return m.evaluate(v.Expr, env)
	case plan.ValueText:
		return m.text(v.Text, env)
	case plan.ValueObject:
		return m.object(v.Object, t, env)
	case plan.ValueList:
		list := make([]any, len(v.List))
		for i, item := range v.List {
			value, failure := m.resolve(item, t.Element(), env)
			if failure != nil {
				return nil, failure
			}
			list[i] = value
		}
		return list, nil
	case plan.ValueSecret:
		return schema.SecretRef(v.Secret), nil
	}
	return nil, &runs.Error{Kind: plan.KindInternal, Message: fmt.Sprintf("unknown kind of value %q in the plan", v.Kind)}
}

func literal(text json.RawMessage, t *schema.Type) (any, *runs.Error) {
	if t == textType {
		if s, ok := plan.TextOf(text); ok {
			return s, nil
		}
	}
	value, err := t.Decode(text)
	if err != nil {
		// The place is not known here; taking the whole value tells its pointer.
		value, err = anyType.Decode(text)
	}
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInternal, Message: fmt.Sprintf("literal in the plan: %v", err)}
	}
	return value, nil
}

func (m *Machine) text(parts []plan.TextPart, env map[string]any) (any, *runs.Error) {
	var b strings.Builder
	for _, part := range parts {
		if part.Expr == nil {
			b.WriteString(part.Text)
			continue
		}
		value, failure := m.evaluate(part.Expr, env)
		if failure != nil {
			return nil, failure
		}
		text, err := eval.Text(value)
		if err != nil {
			return nil, m.exprFailure(part.Expr, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func (m *Machine) object(bindings []plan.Binding, t *schema.Type, env map[string]any) (any, *runs.Error) {
	object := make(map[string]any, len(bindings))
	for _, binding := range bindings {
		part, ok := t.Field(binding.Name)
		if !ok {
			part = t.Additional
		}
		value, failure := m.resolve(binding.Value, part, env)
		if failure != nil {
			return nil, failure
		}
		object[binding.Name] = value
	}
	return object, nil
}

// input resolves a step's `with` into the input of its action.
func (m *Machine) input(s *step) (map[string]any, *runs.Error) {
	with, t := s.code.step.With, s.code.action.input
	var value any = map[string]any{}
	if !with.IsZero() {
		resolved, failure := m.resolve(with, t, s.list.env)
		if failure != nil {
			return nil, failure
		}
		value = resolved
	}
	accepted, err := t.Accept(value)
	if err != nil {
		return nil, m.inputFailure(s, err)
	}
	object, ok := accepted.(map[string]any)
	if !ok {
		return nil, m.inputFailure(s, &schema.Mismatch{Message: "the input must be an object, got " + schema.TypeOf(accepted)})
	}
	return object, nil
}

// inputFailure names the expression that gave the wrong value, where there is
// one.
func (m *Machine) inputFailure(s *step, err error) *runs.Error {
	failure := &runs.Error{
		Kind: plan.KindInvalid, Reason: reasonExpression, Message: err.Error(), Applied: runs.NotApplied,
	}
	var mismatch *schema.Mismatch
	if !errors.As(err, &mismatch) {
		return failure
	}
	failure.Message, failure.Hint, failure.Pointer = mismatch.Message, mismatch.Hint.Plain(), mismatch.Pointer
	pos := s.code.step.Pos
	if x := exprAt(s.code.step.With, mismatch.Pointer); x != nil {
		pos = x.Pos
	}
	failure.Message = m.place(pos) + failure.Message
	return failure
}

// exprAt finds the expression that made the part of a value at a JSON pointer:
// the one that stands there or around it.
func exprAt(v plan.Value, pointer string) *plan.Expr {
	parts := diag.PointerParts(pointer)
	for {
		switch v.Kind {
		case plan.ValueExpr:
			return v.Expr
		case plan.ValueText:
			for _, part := range v.Text {
				if part.Expr != nil {
					return part.Expr
				}
			}
			return nil
		}
		if len(parts) == 0 {
			return nil
		}
		next, ok := part(v, parts[0])
		if !ok {
			return nil
		}
		v, parts = next, parts[1:]
	}
}

// part returns the part of an object or list under a name or index.
func part(v plan.Value, name string) (plan.Value, bool) {
	for _, binding := range v.Object {
		if binding.Name == name {
			return binding.Value, true
		}
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(v.List) {
		return v.List[i], true
	}
	return plan.Value{}, false
}

// connection resolves the name of a step's connection; "" for core actions.
func (m *Machine) connection(s *step) (string, *runs.Error) {
	value := s.code.step.Connection
	if value == nil {
		return "", nil
	}
	resolved, failure := m.resolve(*value, textType, s.list.env)
	if failure != nil {
		return "", failure
	}
	name, ok := resolved.(string)
	if !ok || name == "" {
		return "", &runs.Error{
			Kind: plan.KindInvalid, Reason: reasonExpression, Applied: runs.NotApplied,
			Message: fmt.Sprintf("the name of a connection must be text, got %s", schema.TypeOf(resolved)),
		}
	}
	return name, nil
}

// evaluateOutputs evaluates the run's outputs in written order.
func (m *Machine) evaluateOutputs() (map[string]json.RawMessage, *runs.Error) {
	outputs := make(map[string]json.RawMessage, len(m.program.workflow.Outputs))
	for _, output := range m.program.workflow.Outputs {
		value, failure := m.resolve(output.Value, nil, m.env)
		if failure == nil {
			failure = checkFormat(output.Format, value)
		}
		if failure == nil {
			outputs[output.Name], failure = encodeResult(value)
		}
		if failure != nil {
			failure.Message = "output " + output.Name + ": " + failure.Message
			return nil, failure
		}
	}
	return outputs, nil
}

// checkFormat refuses a value that its output's format can't show, where the
// checker could not tell: its type was not known.
func checkFormat(format string, value any) *runs.Error {
	if _, isText := value.(string); isText || format == "" {
		return nil
	}
	message := fmt.Sprintf("the format %s needs text, got %s", format, schema.TypeOf(value))
	if rows, isList := elementsOf(value); isList && format == "csv" {
		err := eval.TableRows(rows.all())
		if err == nil {
			return nil
		}
		message = "the format csv: " + err.Error()
	}
	return &runs.Error{Kind: plan.KindInvalid, Reason: reasonExpression, Applied: runs.NotApplied, Message: message}
}
