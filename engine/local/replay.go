package local

import (
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// MismatchError says that a stored journal does not lead to the stored commands: the
// run is parked rather than gone on with.
type MismatchError = drive.MismatchError

// replay builds the run from its plan and journal. The row of a run whose
// journal does not fit is stored as paused.
func (d *Driver) replay(id string) (*run, error) {
	row, err := d.options.Journal.Run(id)
	if err != nil {
		return nil, err
	}
	code, err := d.programs.of(row.PlanHash, func() (*plan.Workflow, error) {
		planBytes, err := d.options.Journal.Plan(row.PlanHash)
		if err != nil {
			return nil, fmt.Errorf("read plan of run %s: %w", id, err)
		}
		return plan.Decode(planBytes)
	})
	if err != nil {
		return nil, fmt.Errorf("prepare run %s: %w", id, err)
	}
	r := d.newRun(*row, code.workflow, d.newMachine(code.program))
	if err = r.weigh(); err == nil {
		err = r.reapply(r.Machine)
	}
	if err != nil {
		r.park(err)
		return nil, err
	}
	return r, nil
}

// reapply gives a Machine that has not begun the stored records.
func (r *run) reapply(machine *interp.Machine) error {
	id := r.row.ID
	return r.Rebuild(machine, func(replay func(*journal.Record) error) error {
		return r.driver.options.Journal.EachRecord(id, 1, func(record *journal.Record) error {
			if err := replay(record); err != nil {
				return fmt.Errorf("run %s: %w", id, err)
			}
			r.replanned(&record.Event)
			return nil
		})
	})
}

// park stores a run that can't be replayed as paused.
func (r *run) park(cause error) {
	paused, why := parked(r.row.ID, cause)
	if why == nil || r.row.Status.Ended() {
		return
	}
	r.row.Status, r.row.Paused, r.row.Error = runs.RunPaused, paused, why
	if r.row.Slot != nil {
		r.row.Slot = &runs.Slot{Key: r.row.Slot.Key, Limit: r.row.Slot.Limit}
	}
	stored := make(chan error, 1)
	r.driver.options.Journal.Append(r.row.ID, nil, &r.row, nil, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		r.driver.options.Log.Error("run not parked", "run", r.row.ID, "error", err)
		return
	}
	r.slotGiven(&r.row)
}

// parked says why a run can't be gone on with; nil where it is no fault of its own.
func parked(id string, cause error) (paused string, why *runs.Error) {
	var mismatch *MismatchError
	var large *TooLargeError
	switch {
	case errors.As(cause, &mismatch):
		return runs.PausedReplayMismatch, &runs.Error{
			Kind: plan.KindInternal, Reason: runs.PausedReplayMismatch, Message: "run " + id + ": " + mismatch.Error(),
			Hint: diag.Sayf("resume it with the version of flowrun that started it, or start it anew with %s", diag.Command{"runs", "rerun", id}),
		}
	case errors.As(cause, &large):
		return runs.PausedTooLarge, &runs.Error{
			Kind: plan.KindInvalid, Reason: runs.PausedTooLarge, Message: large.Error(), Hint: large.Hint(),
		}
	}
	return "", nil
}
