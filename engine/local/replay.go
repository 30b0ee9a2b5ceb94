package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// MismatchError says that a stored journal does not lead to the stored
// commands: the run is parked rather than gone on with (docs/reliability.md, P8).
type MismatchError struct {
	RunID  string
	Seq    uint64
	Stored string // commands as they were stored
	Now    string // commands as this version gives them
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("run %s: record %d leads to other commands than those stored: stored %s, now %s", e.RunID, e.Seq, e.Stored, e.Now)
}

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
	machine := d.newMachine(code.program)
	r := d.newRun(*row, code.workflow, machine)
	if err = r.weigh(); err == nil {
		err = d.options.Journal.EachRecord(id, 1, r.reapply)
	}
	if err != nil {
		r.park(err)
		return nil, err
	}
	machine.Changes() // watchers get a snapshot first
	return r, nil
}

// reapply applies a stored event and compares the commands.
func (r *run) reapply(record *journal.Record) error {
	commands, err := r.machine.Apply(record.Event)
	if err != nil {
		return fmt.Errorf("run %s: apply record %d: %w", r.row.ID, record.Seq, err)
	}
	same, err := sameCommands(record.Commands, commands)
	if err != nil {
		return err
	}
	if !same {
		return r.mismatch(record, commands)
	}
	r.seq = record.Seq
	r.replanned(&record.Event)
	return nil
}

// sameCommands compares commands one at a time, so that no more than one of them
// is encoded in memory.
func sameCommands(stored, now []journal.Command) (bool, error) {
	if len(stored) != len(now) {
		return false, nil
	}
	for i := range stored {
		was, err := canonical(stored[i : i+1])
		if err != nil {
			return false, err
		}
		is, err := canonical(now[i : i+1])
		if err != nil || !bytes.Equal(was, is) {
			return false, err
		}
	}
	return true, nil
}

func (r *run) mismatch(record *journal.Record, commands []journal.Command) error {
	stored, err := canonical(record.Commands)
	if err != nil {
		return err
	}
	now, err := canonical(commands)
	if err != nil {
		return err
	}
	return &MismatchError{RunID: r.row.ID, Seq: record.Seq, Stored: string(stored), Now: string(now)}
}

// canonical encodes commands so that equal ones have equal bytes, whether they
// were stored before or not.
func canonical(commands []journal.Command) ([]byte, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(commands)
	if err != nil {
		return nil, fmt.Errorf("encode commands: %w", err)
	}
	return encoded, nil
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
			Kind: plan.KindInternal, Reason: runs.PausedReplayMismatch, Message: mismatch.Error(),
			Hint: diag.Sayf("resume it with the version of flowrun that started it, or start it anew with %s", diag.Command{"runs", "rerun", id}),
		}
	case errors.As(cause, &large):
		return runs.PausedTooLarge, &runs.Error{
			Kind: plan.KindInvalid, Reason: runs.PausedTooLarge, Message: large.Error(), Hint: large.Hint(),
		}
	}
	return "", nil
}
