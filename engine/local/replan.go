package local

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// replanned goes over to the plan of a replanned event that the Machine has
// taken.
func (r *run) replanned(event *journal.Event) {
	if event.Kind == journal.Replanned {
		r.workflow = r.Machine.Workflow()
		r.row.LatestPlan = event.Replan.PlanHash
	}
}

// Replan records that a stopped run goes on by another plan from here on. prepare
// makes the event of how the run stands, or an error that is passed on. The run
// stays stopped: a Load with a resumed event goes on. A run that is driven is an
// error.
func (d *Driver) Replan(ctx context.Context, id string, prepare func(m *interp.Machine) (*journal.Replan, string, error)) error {
	if err := d.AwaitEnd(ctx, id); err != nil {
		return err
	}
	r, event, err := d.replanStored(id, prepare)
	if err != nil {
		return err
	}
	defer d.release(r)
	r.stopping = true // nothing is delivered to the next worker by the release
	return r.record(*event)
}

// replanStored makes the event of how a stored run stands, and registers the run.
func (d *Driver) replanStored(id string, prepare func(m *interp.Machine) (*journal.Replan, string, error)) (*run, *journal.Event, error) {
	defer d.claims.take(id)()
	r, err := d.replay(id)
	if err != nil {
		return nil, nil, err
	}
	replan, by, err := prepare(r.Machine)
	if err != nil {
		return nil, nil, err
	}
	if err := d.reserve(r); err != nil {
		return nil, nil, err
	}
	return r, &journal.Event{Kind: journal.Replanned, Replan: replan, By: by}, nil
}

// Machine calls look with the Machine of a run as it is durable. It must not
// change it, nor keep it.
func (d *Driver) Machine(ctx context.Context, id string, look func(*interp.Machine)) error {
	return d.inspect(ctx, id, false, func(r *run) { look(r.Machine) })
}

// movedSince says that a state value or a cursor which the run has read so far
// has another version now; nil when none has.
func (r *run) movedSince() (*journal.MovedError, error) {
	memory := r.driver.options.Memory
	state, cursors := r.Machine.Reads()
	if len(state) > 0 {
		values, err := memory.State(r.workflow.Name)
		if err != nil {
			return nil, fmt.Errorf("read the state: %w", err)
		}
		stored := map[string]runs.StateValue{}
		for _, value := range values {
			stored[value.Name] = value
		}
		for name, read := range state {
			if stored[name].Version != read {
				return &journal.MovedError{What: "state", Name: name, By: stored[name].By}, nil
			}
		}
	}
	for key, read := range cursors {
		stored, err := memory.Cursor(key)
		if err != nil {
			return nil, fmt.Errorf("read a cursor: %w", err)
		}
		if stored == nil {
			stored = new(runs.StateValue)
		}
		if stored.Version != read {
			_, name, _, _ := runs.SplitCursorKey(key)
			return &journal.MovedError{What: "cursor", Name: name, By: stored.By}, nil
		}
	}
	return nil, nil
}

// stillFits reports whether a resume that waited for its place may go on: what
// the run has read has not moved meanwhile (docs/language.md, rule 14). Else the run
// gives its place back and stays where it was, with a word in its log.
func (r *run) stillFits() bool {
	moved, err := r.movedSince()
	if err != nil {
		r.fail(fmt.Errorf("run %s: %w", r.row.ID, err))
		return false
	}
	if moved == nil {
		return true
	}
	message := fmt.Sprintf("the resume waited for its place, and meanwhile %s: the run stays where it was", moved.Error())
	hint := fmt.Sprintf("start it anew with `flowrun runs rerun %s`, or go on without its writes: `flowrun runs resume %s --discard-writes`", r.row.ID, r.row.ID)
	r.row.Slot = &runs.Slot{Key: r.row.Slot.Key, Limit: r.row.Slot.Limit, State: runs.SlotHeld}
	r.updateRow(r.driver.now())
	row := r.row
	fields, _ := json.Marshal(map[string]string{"hint": hint}) // texts always encode
	r.unstored = append(r.unstored, &batch{row: &row, logs: []runs.Log{{At: r.driver.now(), Level: "error", Message: message, Fields: fields}}})
	r.store()
	return false
}
