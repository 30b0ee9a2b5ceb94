package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Start checks the workflow, stores a run of it and drives it. The run is
// durable when Start returns. Problems of the workflow come as a list, those of
// the inputs as an *InputError.
func (e *Engine) Start(ctx context.Context, request StartRequest) (*runs.Run, diag.List, error) {
	workflow, problems := e.project.CheckedIn(ctx, request.File, request.Dir, request.Source)
	if workflow == nil {
		return nil, problems, nil
	}
	inputs, err := workspace.StartInputs(workflow.Workflow, request.Inputs)
	if err != nil {
		return nil, problems, err
	}
	if lacking := e.project.Preflight(ctx, workflow.Workflow); lacking.HasErrors() {
		return nil, append(problems, lacking...), nil
	}
	row, existing, err := e.begin(ctx, workflow, inputs, startOptions{Start: trigger.Start{
		ScheduledAt: request.ScheduledAt, RequestID: request.RequestID, By: request.By,
	}})
	if existing != "" && err == nil {
		row, err = e.Row(existing)
	}
	return row, problems, err
}

// Prestart is told of a workflow that Start is about to be asked for: the plugins that a run
// of it calls in any case begin to start. It returns before they are ready, and refuses
// nothing: that is Start's.
func (e *Engine) Prestart(file string, src []byte) { e.project.Prestart(file, src) }

// Get returns a run with its steps and outputs as they are durable.
func (e *Engine) Get(ctx context.Context, id string) (*runs.Result, error) {
	return e.get(ctx, id, e.driver.Snapshot)
}

// GetInShort is Get without the long outputs of steps: Step.OutputsBytes says so.
func (e *Engine) GetInShort(ctx context.Context, id string) (*runs.Result, error) {
	return e.get(ctx, id, e.driver.SnapshotInShort)
}

// GetOpen is GetInShort with those steps alone that have not ended.
func (e *Engine) GetOpen(ctx context.Context, id string) (*runs.Result, error) {
	return e.get(ctx, id, e.driver.SnapshotOpen)
}

func (e *Engine) get(ctx context.Context, id string, look func(context.Context, string) (*runs.Result, error)) (*runs.Result, error) {
	result, err := look(ctx, id)
	if err != nil {
		return nil, e.RunFault(id, err)
	}
	e.notePaused(result)
	return result, e.noteDeliveries(result, nil)
}

// notePaused adds what only the row and the driver know.
func (e *Engine) notePaused(result *runs.Result) {
	e.noteUndriven(&result.Run)
	if result.Error == nil && result.Run.Status == runs.RunPaused {
		result.Error = result.Run.Error // of a restore, which the journal knows nothing of
	}
}

// RunView is a run at one moment: its row, outputs and error, its steps in order,
// what it goes by, and who has seen that it failed.
type RunView struct {
	Result     *runs.Result
	Steps      []runs.Step
	Definition *RunDefinition
	Seen       Acknowledgement // of a run that failed
}

// View returns all of a run with one look through its journal. Get returns more of a
// run whose journal is too large to be read.
func (e *Engine) View(ctx context.Context, id string) (*RunView, error) {
	view, err := e.driver.View(ctx, id)
	if err != nil {
		return nil, e.RunFault(id, err)
	}
	e.notePaused(view.Result)
	shown := &RunView{Result: view.Result, Steps: view.Steps, Definition: &RunDefinition{Workflow: view.Workflow, Inputs: view.Inputs}}
	if err := e.noteDeliveries(view.Result, view.Workflow); err != nil {
		return nil, err
	}
	if status := view.Result.Run.Status; status == runs.RunFailed || status == runs.RunTimedOut {
		shown.Seen, err = e.acknowledged(id)
	}
	return shown, err
}

// Steps returns a run's steps in file order, those of a loop's items in input
// order behind the loop, handlers last.
func (e *Engine) Steps(ctx context.Context, id string) ([]runs.Step, error) {
	steps, err := e.driver.Steps(ctx, id)
	return steps, e.RunFault(id, err)
}

// StepsInShort is Steps without long outputs: Step.OutputsBytes says so.
func (e *Engine) StepsInShort(ctx context.Context, id string) ([]runs.Step, error) {
	steps, err := e.driver.StepsInShort(ctx, id)
	return steps, e.RunFault(id, err)
}

// Wait returns the run when it is closed or paused, or when nobody drives it.
func (e *Engine) Wait(ctx context.Context, id string) (*runs.Result, error) {
	result, err := e.driver.AwaitResult(ctx, id)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, e.RunFault(id, err)
	}
	e.notePaused(result)
	return result, e.noteDeliveries(result, nil)
}

// List returns the newest runs that the filter selects, and the cursor of the
// next page, "" at the end. With a query a page may be shorter than the limit,
// and even empty, before the end: one call looks at 20,000 rows at most. What is
// wrong with the query is a *QueryError, before anything is read.
func (e *Engine) List(ctx context.Context, filter runs.Filter) ([]runs.Run, string, error) {
	if filter.Query != "" {
		query, err := runquery.New(filter.Query, e.config.Now())
		if err != nil {
			return nil, "", err
		}
		filter.Match = func(row *runs.Run) (bool, error) {
			e.noteUndriven(row)
			return query.Selects(ctx, row)
		}
	}
	rows, next, err := e.store.Runs(filter)
	for i := range rows {
		e.noteUndriven(&rows[i])
	}
	return rows, next, e.Fault(err)
}

// noteUndriven marks an open run that no process drives: this one owns the
// store, so no other can.
func (e *Engine) noteUndriven(row *runs.Run) {
	row.Undriven = !row.Closed && row.Status != runs.RunPaused && !e.driver.Driven(row.ID)
}

// eventsBytes is what one part of a run's records takes, but for its last record.
const eventsBytes = 4 << 20

// errPageFull ends the reading of a part.
var errPageFull = errors.New("the page is full")

// Events returns stored records of a run from sequence number from on, at most
// limit of them and about 4 MiB, at least one; next is the sequence number of what
// follows, 0 at the end. Of what plugins leave for themselves they show size and
// digest.
func (e *Engine) Events(ctx context.Context, id string, from uint64, limit int) (events []workspace.Event, next uint64, err error) {
	if _, err := e.store.Run(id); err != nil {
		return nil, 0, e.RunFault(id, err)
	}
	size := 0
	err = e.store.EachRecord(id, max(from, 1), func(record *journal.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if limit > 0 && len(events) == limit || size >= eventsBytes {
			next = record.Seq
			return errPageFull
		}
		event, bytes, err := e.project.EventOf(record)
		if err != nil {
			return fmt.Errorf("encode record %d of run %s: %w", record.Seq, id, err)
		}
		events, size = append(events, event), size+bytes
		return nil
	})
	switch {
	case err == nil, errors.Is(err, errPageFull):
		return events, next, nil
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	}
	return nil, 0, e.RunFault(id, err)
}

// Watch sends what happened in a run after the sequence number from, how its
// steps are, and what happens until it is closed or paused, or nobody drives
// it. The channel is closed after UpdateEnd, with ctx, or when the reader lags
// too far behind. With a from of 1<<62 it sends no records, those to come neither.
func (e *Engine) Watch(ctx context.Context, id string, from uint64) (<-chan Update, error) {
	updates, err := e.driver.Watch(ctx, id, from)
	return updates, e.RunFault(id, err)
}

// WatchTogether is Watch with several updates at a time: those that came since the last
// ones, and the same for all who follow the run.
func (e *Engine) WatchTogether(ctx context.Context, id string, from uint64) (<-chan Updates, error) {
	updates, err := e.driver.WatchTogether(ctx, id, from)
	return updates, e.RunFault(id, err)
}

// Cancel asks a run to end: no new step, calls in flight are canceled, then
// `finally`. It returns when that is durable. A run that has ended is a
// *ConflictError.
func (e *Engine) Cancel(ctx context.Context, id, by string) error {
	row, err := e.store.Run(id)
	if err != nil {
		return e.RunFault(id, err)
	}
	if row.Status.Ended() {
		return endedAlready(id, row.Status)
	}
	// The run may end now: whether it has is seen where its events are made.
	_, err = e.driver.Decide(ctx, id, false, func(m *interp.Machine, _ bool) (*journal.Event, error) {
		if m.Done() {
			status, _ := m.Status()
			return nil, endedAlready(id, status)
		}
		return &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}, By: by}, nil
	})
	return e.loadFault(id, err)
}

func endedAlready(id string, status runs.Status) error {
	return &fault.ConflictError{Message: fmt.Sprintf("run %s has ended already: it is %s", id, status)}
}

// loadFault is what a run that can't be gone on with is refused with.
func (e *Engine) loadFault(id string, err error) error {
	var mismatch *local.MismatchError
	var large *local.TooLargeError
	switch {
	case errors.As(err, &large):
		return &fault.ConflictError{Message: large.Error(), Hint: large.Hint()}
	case errors.As(err, &mismatch):
		return &fault.ConflictError{Message: "run " + id + ": " + mismatch.Error(), Hint: diag.Say("resume it with the version of flowrun that started it")}
	case errors.Is(err, local.ErrDriven):
		return &fault.ConflictError{Message: fmt.Sprintf("run %s has just been taken up", id), Hint: diag.Sayf("follow it with %s", diag.Command{"runs", "watch", id})}
	}
	return e.Fault(err)
}

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
