package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// firing is one fire of a trigger that asks for a run.
type firing struct {
	rev     *inforce.Revision // in force
	trigger *plan.Trigger     // one of its triggers
	// at is `trigger.at`: the slot of a schedule, which is the run's scheduled_at
	// too; else when it happened.
	at time.Time
	// roots are what `inputs` sees besides the secrets: request, item or trigger.
	// nil for schedules.
	roots map[string]any
	// item and outputs are `trigger.item` and `trigger.outputs` of the run, as
	// interp.EncodeValue writes them.
	item, outputs json.RawMessage
	requestID     string     // the same one again is the first run; "" = none
	digest        string     // of what the request asks for
	fire          *runs.Fire // the row that is stored with the run; what it lacks is filled in. nil = no row
	by            string     // who asked for it; "" = nobody did
}

// notFiredError says that a fire can't become a run, and will not by trying again
// at once: the reason of the skipped row, and its note.
type notFiredError struct {
	Skipped string
	Note    string
	cause   error // of the engine; nil = the fire's own
}

func (e *notFiredError) Error() string { return e.Note }

// Unwrap returns why the engine takes no run.
func (e *notFiredError) Unwrap() error { return e.cause }

// startTriggered starts the run of a fire: it evaluates the trigger's inputs,
// looks for what the run would lack, and stores run and fire in one transaction.
// existing says that the fire, or its request, has a run already. The error is a
// *notFiredError where this fire can't become a run; any other one is the
// engine's, and the fire is still to be decided.
func (tr *Triggers) startTriggered(ctx context.Context, f firing) (runID string, existing bool, err error) {
	now := tr.config.Now().UTC().Round(0)
	inputs, err := tr.triggerInputs(ctx, f, now)
	if err != nil {
		return "", false, err
	}
	start := Start{
		RequestID: f.requestID, Digest: f.digest, By: f.by, Trigger: f.trigger.Name, Kind: f.trigger.Kind, At: f.at,
		Item: f.item, Outputs: f.outputs, Fire: f.row(now),
	}
	if f.trigger.Kind.Scheduled() {
		start.ScheduledAt = f.at
	}
	runID, existing, err = tr.runs.Begin(ctx, f.rev.Checked, inputs, start)
	return runID, existing, refusedFire(err)
}

// triggerInputs are the complete inputs of the run.
func (tr *Triggers) triggerInputs(ctx context.Context, f firing, now time.Time) (json.RawMessage, error) {
	code, err := f.rev.Code()
	if err != nil {
		return nil, &notFiredError{Skipped: runs.SkipInvalid, Note: err.Error()}
	}
	values, failure := code.Inputs(f.trigger, f.roots, now)
	if failure != nil {
		return nil, &notFiredError{Skipped: runs.SkipInvalid, Note: tr.project.Redact(failure.Message)}
	}
	given := make(map[string]workspace.Input, len(values))
	for name, value := range values {
		given[name] = workspace.Input{JSON: value}
	}
	inputs, err := workspace.ConvertInputs(f.rev.Workflow(), given)
	if err != nil {
		return nil, refusedFire(err)
	}
	if lacking := inforce.FirstError(tr.project.Preflight(ctx, f.rev.Workflow())); lacking != nil {
		return nil, &notFiredError{Skipped: runs.SkipInvalid, Note: lacking.String()}
	}
	return inputs, nil
}

// row is the fire's row, complete but for the run.
func (f firing) row(now time.Time) *runs.Fire {
	if f.fire == nil {
		return nil
	}
	row := *f.fire
	row.Workflow, row.Trigger, row.Kind = f.rev.Name(), f.trigger.Name, f.trigger.Kind
	row.Slot, row.At, row.By = cmp.Or(row.Slot, f.at.UTC()), cmp.Or(row.At, now), cmp.Or(row.By, f.by)
	return &row
}

// refusedFire makes a *notFiredError of an error that is the fire's own.
func refusedFire(err error) error {
	var wrong *fault.InputError
	var full *store.PressureError
	var busy *fault.BusyError
	switch {
	case errors.As(err, &wrong):
		return &notFiredError{Skipped: runs.SkipInvalid, Note: wrong.Error()}
	case errors.As(err, &full):
		return &notFiredError{Skipped: runs.SkipBusy, Note: full.Error(), cause: err}
	case errors.As(err, &busy):
		return &notFiredError{Skipped: runs.SkipBusy, Note: busy.Error(), cause: err}
	}
	return err
}

// skip stores the row of a fire that started no run, and tells the observer. Events
// that fall together stand one behind the other; the end of a run that is told
// twice has one row.
func (tr *Triggers) skip(rev *inforce.Revision, t *plan.Trigger, at time.Time, reason, note string) error {
	row := runs.Fire{
		Workflow: rev.Name(), Trigger: t.Name, Kind: t.Kind, Slot: at.UTC(), At: tr.config.Now().UTC().Round(0),
		Skipped: reason, Note: tr.project.Redact(note),
	}
	for !t.Kind.Scheduled() {
		taken, err := tr.store.Fire(row.Workflow, row.Trigger, row.Slot)
		if err != nil {
			return tr.fault(err)
		}
		if taken == nil {
			break
		}
		if t.Kind == plan.TriggerAfter && taken.Skipped == reason && taken.Note == row.Note {
			return nil
		}
		row.Slot = row.Slot.Add(1)
	}
	if err := tr.store.PutFires([]runs.Fire{row}, row.Workflow, row.Trigger, nil); err != nil {
		return tr.fault(err)
	}
	tr.config.Observer.Fired(&row)
	return nil
}
