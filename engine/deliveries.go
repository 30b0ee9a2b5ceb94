package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/deliver"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Deliver makes one attempt of each delivery of a run that was not delivered, as a person
// asks for, and returns all when these have ended. The errors are those of
// deliver.Deliveries and of Get.
func (e *Engine) Deliver(ctx context.Context, id string, request deliver.Request) ([]runs.Delivery, error) {
	row, err := e.store.Run(id)
	if err != nil {
		return nil, e.RunFault(id, err)
	}
	if err := e.sandboxRefusesRun(row); err != nil {
		return nil, err
	}
	workflow, _, err := e.definition(row)
	if err != nil {
		return nil, err
	}
	return e.deliveries.Deliver(ctx, row, workflow, request)
}

// noteDeliveries puts into a result how far its outputs are on their way. workflow may be
// nil: it is read where an output goes anywhere.
func (e *Engine) noteDeliveries(result *runs.Result, workflow *plan.Workflow) (err error) {
	row := &result.Run
	if row.Status != runs.RunSucceeded || row.Parent != nil {
		return nil
	}
	if workflow == nil {
		if workflow, err = (deliveredRuns{e}).Destinations(row); err != nil || workflow == nil {
			return err
		}
	}
	result.Deliveries, err = e.deliveries.Of(row, workflow)
	return err
}

// deliveredRuns is the life of runs as deliveries see it.
type deliveredRuns struct{ *Engine }

// Ended returns what a run gave, its workflow, and its inputs as they are stored.
func (r deliveredRuns) Ended(ctx context.Context, id string) (*runs.Result, *plan.Workflow, json.RawMessage, error) {
	result, err := r.driver.SnapshotInShort(ctx, id)
	if err != nil {
		return nil, nil, nil, r.RunFault(id, err)
	}
	workflow, inputs, err := r.definition(&result.Run)
	return result, workflow, inputs, err
}

// Destinations returns the workflow of a run where an output of it goes anywhere, else nil.
func (r deliveredRuns) Destinations(row *runs.Run) (*plan.Workflow, error) {
	if row.PlanHash == "" { // the driver's own row, of a run that it has made
		stored, err := r.store.Run(row.ID)
		if err != nil {
			return nil, r.RunFault(row.ID, err)
		}
		row = stored
	}
	if row.LatestPlan == "" {
		if known := r.driver.Plan(row.PlanHash); known != nil && !runs.Delivers(known) {
			return nil, nil
		}
		encoded, err := r.store.Plan(row.PlanHash)
		switch {
		case errors.Is(err, store.ErrPlanNotFound):
			return nil, nil // the run is removed
		case err != nil:
			return nil, r.Fault(err)
		case !bytes.Contains(encoded, []byte(`"to":[`)): // a plan without it has no destination, and is not decoded
			return nil, nil
		}
	}
	workflow, _, err := r.definition(row)
	switch {
	case errors.Is(err, fault.ErrRunNotFound):
		return nil, nil
	case err != nil || !runs.Delivers(workflow):
		return nil, err
	}
	return workflow, nil
}

// Call makes one call of an action outside of the run.
func (r deliveredRuns) Call(ctx context.Context, c deliver.Call, sink runs.Sink) (*runs.Error, error) {
	request := calls.Request{Action: c.Action.FullName(), Connection: c.Connection, Attempts: 1, IdempotencyKey: c.Key, Run: c.Run, Step: c.Step}
	result, err := r.calls.UntilDone(ctx, c.Action, request, c.Input, sink)
	return result.Error, err
}

// Note adds lines to a run's log.
func (r deliveredRuns) Note(id string, lines []runs.Log) error { return r.noteInLog(id, lines) }
