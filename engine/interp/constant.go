package interp

import (
	"bytes"
	"encoding/json"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// constantInput is an input that is the same at each time: it holds no expression. Both
// forms are only read.
type constantInput struct {
	value   map[string]any // nil = nobody asks for it
	encoded json.RawMessage
}

// isConstant reports whether a value holds no expression.
func isConstant(v *plan.Value) bool {
	if v.Expr != nil {
		return false
	}
	for i := range v.Text {
		if v.Text[i].Expr != nil {
			return false
		}
	}
	for i := range v.Object {
		if !isConstant(&v.Object[i].Value) {
			return false
		}
	}
	for i := range v.List {
		if !isConstant(&v.List[i]) {
			return false
		}
	}
	return true
}

// encodedInput is input, and its JSON. One that is written out is made once a program; its
// value is there where a range of it may be cut.
func (m *Machine) encodedInput(s *step) (map[string]any, json.RawMessage, *runs.Error) {
	constant := s.code.constant
	if constant != nil {
		if known := constant.Load(); known != nil {
			return known.value, known.encoded, nil
		}
	}
	input, failure := m.input(s)
	if failure != nil {
		return nil, nil, failure
	}
	encoded, failure := encodeResult(input)
	if failure == nil && constant != nil {
		known := &constantInput{encoded: encoded}
		if s.code.action.action.Range != nil {
			known.value = input
		}
		if literal := s.code.step.With.Literal; bytes.Equal(literal, encoded) {
			known.encoded = literal
		}
		constant.Store(known)
	}
	return input, encoded, failure
}
