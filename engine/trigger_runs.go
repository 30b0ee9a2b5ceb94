package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// triggerRuns is the life of runs as triggers see it.
type triggerRuns struct{ *Engine }

var _ trigger.Runs = triggerRuns{}

// Begin stores a run and drives it.
func (r triggerRuns) Begin(ctx context.Context, checked *workspace.Checked, inputs json.RawMessage, s trigger.Start) (id string, existing bool, err error) {
	row, id, err := r.begin(ctx, checked, inputs, startOptions{Start: s})
	if row != nil {
		return row.ID, false, err
	}
	return id, id != "", err
}

// Requested returns the run that a request has made before.
func (r triggerRuns) Requested(requestID, digest string, replayed *bool) (*runs.Run, error) {
	return r.answered(askedRequest{id: requestID, digest: digest, replayed: replayed})
}

// Ended returns what a run gave, and its workflow.
func (r triggerRuns) Ended(ctx context.Context, id string) (*runs.Result, *plan.Workflow, error) {
	result, err := r.driver.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, r.RunFault(id, err)
	}
	workflow, _, err := r.definition(&result.Run)
	return result, workflow, err
}

// NoteUndriven says in a row whether no process drives its run.
func (r triggerRuns) NoteUndriven(row *runs.Run) { r.noteUndriven(row) }

// CallAction calls an action until it is done.
func (r triggerRuns) CallAction(ctx context.Context, c trigger.Call, sink runs.Sink) (json.RawMessage, *runs.Error, error) {
	request := calls.Request{Action: c.Action.FullName(), Connection: c.Connection, Attempts: c.Attempts}
	result, err := r.calls.UntilDone(ctx, c.Action, request, c.Input, sink)
	return result.Outputs, result.Error, err
}

// UnknownAction is the failure of a call whose action is not known.
func (r triggerRuns) UnknownAction(name string, err error) *runs.Error {
	return r.calls.Unknown(name, err)
}

// NewID returns a new run id.
func (r triggerRuns) NewID(at time.Time) (string, error) { return r.newID(at) }

// keptRuns is the life of runs as upkeep sees it.
type keptRuns struct{ *Engine }

// AwaitEnd returns when nobody works on a run any more.
func (r keptRuns) AwaitEnd(ctx context.Context, id string) error { return r.driver.AwaitEnd(ctx, id) }
