package engine

import (
	"context"
	"encoding/json"

	"github.com/flowrun/flowrun/engine/plan"
)

// RunDefinition is what a run goes by: the plan that it was accepted with, or the
// newest one of a run that was resumed with an edited file, and its inputs with
// all defaults. The plan must not be changed.
type RunDefinition struct {
	Workflow *plan.Workflow  `json:"workflow"`
	Inputs   json.RawMessage `json:"inputs"`
}

// Definition returns what a run goes by. *RunNotFoundError, or ErrRunNotFound.
func (e *Engine) Definition(_ context.Context, id string) (*RunDefinition, error) {
	row, err := e.store.Run(id)
	if err != nil {
		return nil, e.RunFault(id, err)
	}
	workflow, inputs, err := e.definition(row)
	if err != nil {
		return nil, e.RunFault(id, err)
	}
	return &RunDefinition{Workflow: workflow, Inputs: inputs}, nil
}
