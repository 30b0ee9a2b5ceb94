package engine

import (
	"context"

	"github.com/flowrun/flowrun/engine/rundiff"
)

// Diff compares two runs. *RunNotFoundError, or ErrRunNotFound, for either.
func (e *Engine) Diff(ctx context.Context, a, b string) (*rundiff.Diff, error) {
	one, err := e.diffSide(ctx, a)
	if err != nil {
		return nil, err
	}
	other, err := e.diffSide(ctx, b)
	if err != nil {
		return nil, err
	}
	return rundiff.Of(one, other), nil
}

func (e *Engine) diffSide(ctx context.Context, id string) (*rundiff.Side, error) {
	definition, err := e.Definition(ctx, id)
	if err != nil {
		return nil, err
	}
	result, err := e.GetInShort(ctx, id)
	if err != nil {
		return nil, err
	}
	steps, err := e.StepsInShort(ctx, id)
	if err != nil {
		return nil, err
	}
	return &rundiff.Side{Run: result.Run, Inputs: definition.Inputs, Workflow: definition.Workflow, Outputs: result.Outputs, Steps: steps}, nil
}
