package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// startOptions say what a new run is besides its plan and inputs.
type startOptions struct {
	trigger.Start // Trigger "" is a start by hand
	rerunOf       string
	edited        []string // of a rerun: the inputs that differ
	from          string   // of a rerun: the step that it begins at
	taken         map[string]*journal.Taken
}

// begin stores a run and drives it, and returns its row as it was stored. existing is the
// run that the request, or the slot of the fire, had already: that one may be removed by
// now. A slot that was skipped is store.ErrSlotTaken, inputs that do not fit an
// *InputError, a store that takes no run a *PressureError, and an engine with too many a
// *BusyError.
func (e *Engine) begin(ctx context.Context, checked *workspace.Checked, inputs json.RawMessage, options startOptions) (row *runs.Run, existing string, err error) {
	if id, err := e.admitted(options); id != "" || err != nil {
		return nil, id, err
	}
	request, err := e.newRun(checked, inputs, options)
	if err != nil {
		return nil, "", err
	}
	if err := e.handOn(request, options); err != nil {
		return nil, "", e.Fault(fmt.Errorf("start run of %s: %w", checked.Workflow.Name, err))
	}
	row, existing, err = e.driver.Start(ctx, *request)
	if refused, ok := errors.AsType[*runs.Error](err); ok {
		return nil, "", &fault.InputError{Message: refused.Message, Hint: refused.Hint}
	}
	if err != nil {
		return nil, "", e.Fault(fmt.Errorf("start run of %s: %w", checked.Workflow.Name, err))
	}
	if existing != "" {
		return nil, existing, nil
	}
	if err := e.noteAttached(row.ID, checked.Pins()); err != nil {
		return nil, "", err
	}
	if fire := request.Row.Fire; fire != nil {
		e.config.Observer.Fired(fire)
	}
	return row, "", nil
}

// handOn lets a new run refer to the large values that it takes over: of the run that it
// repeats, and of the one that it follows.
func (e *Engine) handOn(request *local.StartRequest, options startOptions) error {
	var from []string
	if options.rerunOf != "" {
		from = append(from, options.rerunOf)
	}
	if options.Fire != nil && options.Fire.From != "" {
		from = append(from, options.Fire.From)
	}
	if from == nil {
		return nil
	}
	taken, err := json.Marshal(options.taken)
	if err != nil {
		return err
	}
	for _, run := range from {
		for _, document := range []json.RawMessage{request.Start.Inputs, options.Outputs, taken} {
			if err := store.HandOn(e.store.Blobs(nil), run, request.Row.ID, document); err != nil {
				return err
			}
		}
	}
	return nil
}

// admitted refuses a new run where too many are there. A request that has its run
// already, and a slot, are answered all the same: id is the run then.
func (e *Engine) admitted(options startOptions) (id string, err error) {
	busy := e.admit()
	if busy == nil {
		return "", nil
	}
	if options.RequestID != "" {
		if id, err = e.store.Requested(options.RequestID); id != "" || err != nil {
			return id, e.Fault(err)
		}
	}
	if fire := options.Fire; fire != nil && fire.Kind.Scheduled() {
		stored, err := e.store.Fire(fire.Workflow, fire.Trigger, fire.Slot)
		if err != nil {
			return "", e.Fault(err)
		}
		if stored != nil && stored.Run != "" {
			return stored.Run, nil
		}
	}
	return "", busy
}

// newRun makes the row and the first event of a run.
func (e *Engine) newRun(checked *workspace.Checked, inputs json.RawMessage, options startOptions) (*local.StartRequest, error) {
	workflow := checked.Workflow
	stored, err := checked.Stored()
	if err != nil {
		return nil, err
	}
	now := e.config.Now().UTC().Round(0)
	id, err := e.newID(now)
	if err != nil {
		return nil, err
	}
	scheduledAt := options.ScheduledAt.UTC()
	if scheduledAt.IsZero() {
		scheduledAt = now
	}
	name := cmp.Or(options.Trigger, string(plan.TriggerManual))
	row := runs.Run{
		ID: id, Workflow: workflow.Name, Status: runs.RunRunning, Attempt: 1, Trigger: name,
		Labels: workflow.Labels, RerunOf: options.rerunOf, RerunFrom: options.from, Edited: options.edited,
		ScheduledAt: scheduledAt, StartedAt: now, PlanHash: stored.Hash, Fire: fireOf(options.Fire, id),
	}
	return &local.StartRequest{
		Row: row, Workflow: workflow, PlanBytes: stored.Encoded, RequestID: options.RequestID, By: options.By,
		Start: journal.Start{
			RunID: id, Inputs: inputs, Trigger: name, ScheduledAt: scheduledAt,
			Interpreter: interp.Version, PlanHash: stored.Hash, RerunOf: options.rerunOf, Plugins: checked.Pins(),
			EditedInputs: options.edited, From: options.from, Taken: options.taken,
			RequestDigest: options.Digest,
			TriggerKind:   options.Kind, TriggerAt: options.At.UTC(), TriggerItem: options.Item, TriggerOutputs: options.Outputs,
		},
	}, nil
}

// fireOf is the fire of a new run, in the form that is stored.
func fireOf(fire *runs.Fire, id string) *runs.Fire {
	if fire == nil {
		return nil
	}
	own := *fire
	own.Run, own.Slot, own.At = id, own.Slot.UTC().Round(0), own.At.UTC().Round(0)
	return &own
}

// maxWaitingRuns is how many runs a process takes beyond those that it works on at
// a time (docs/reliability.md, "Limits").
const maxWaitingRuns = 10_000

// admit refuses a new run with a *BusyError where too many are there already.
func (e *Engine) admit() error {
	limit := e.project.Declared().Limits.MaxActiveRuns
	if limit == 0 {
		limit = 1000
	}
	if runs := e.driver.Active(); runs >= limit+maxWaitingRuns {
		return &fault.BusyError{Runs: runs}
	}
	return nil
}

// ReusedKeyError says that a request has the id of another one, which asked for
// something else.
type ReusedKeyError struct{ Run string }

func (e *ReusedKeyError) Error() string {
	return fmt.Sprintf("the key was used for another request, which has made run %s", e.Run)
}

// askedRequest is what makes a request that is sent again the same request. Its run
// is the one that the first has made, if both ask for the same: digest is of what is
// asked for, "" where nobody compares. replayed, where it is not nil, is told.
type askedRequest struct {
	id, digest string
	replayed   *bool
}

// answered returns the run that a request has made before, nil where there is none.
func (e *Engine) answered(r askedRequest) (*runs.Run, error) {
	if r.id == "" {
		return nil, nil
	}
	first, err := e.store.Requested(r.id)
	if err != nil || first == "" {
		return nil, e.Fault(err)
	}
	return e.replayed(r, first)
}

// replayed returns the run of a request that was sent before, or *ReusedKeyError.
func (e *Engine) replayed(r askedRequest, run string) (*runs.Run, error) {
	start, err := e.startOf(run, "request")
	if err != nil {
		return nil, err
	}
	if start != nil && start.RequestDigest != "" && r.digest != "" && start.RequestDigest != r.digest {
		return nil, &ReusedKeyError{Run: run}
	}
	if r.replayed != nil {
		*r.replayed = true
	}
	return e.Row(run)
}

// startAsked is start for a request that may have been sent before.
func (e *Engine) startAsked(r askedRequest, begin func() (row *runs.Run, existing string, err error)) (*runs.Run, error) {
	row, existing, err := begin()
	switch {
	case err != nil:
		return nil, err
	case existing != "" && r.id != "":
		return e.replayed(r, existing)
	case existing != "":
		return e.Row(existing)
	}
	return row, nil
}
