package interp

import (
	"encoding/json"
	"errors"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// narrowedError is of an answer that keeps to what its action declares and breaks
// what the plugin said that these arguments narrow it to.
type narrowedError struct{ error }

func (e narrowedError) Unwrap() error { return e.error }

// keptTo decides on an answer that keeps to the declared schema and not to the
// narrowed one, which says why. The checker proved the expressions below by the
// narrowed one, which is a promise where it does not say that it is what to expect. Else,
// and in runs that began before, the answer is taken with a warning.
func (s *step) keptTo(why error) error {
	if s.list.m.since(6) && !s.code.output.Expected {
		return narrowedError{why}
	}
	s.list.m.log(s.path, "warn", unreadable(why).Message)
	return nil
}

// misfit is the failure of an answer that breaks its schema, with its place in the
// output. A plugin that has answered says that the effect happened: where the answer
// keeps to what the action declares, that is believed.
func (s *step) misfit(err error) *runs.Error {
	failure := unreadable(err)
	if !s.list.m.since(6) {
		return failure
	}
	if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok && mismatch.Pointer != "" {
		failure.Details, _ = json.Marshal(map[string]string{"output_pointer": mismatch.Pointer}) // texts only
	}
	if _, narrowed := errors.AsType[narrowedError](err); narrowed {
		failure.Message += " (narrowed by the inputs of the step)"
		if s.once() {
			failure.Applied = runs.AppliedFully
		}
	}
	return failure
}
