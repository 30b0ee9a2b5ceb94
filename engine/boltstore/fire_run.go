package boltstore

import (
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/plan"
)

// runFire is the fire of a new run, in the transaction that stores the run: the
// row of the slot, the run and the trigger's state are one (docs/reliability.md,
// P10).
type runFire struct {
	change *rowChange // of the run, whose row holds the fire
	row    fireRow
}

// newRunFire returns nil for a run that no trigger started.
func newRunFire(change *rowChange) (*runFire, error) {
	fire := change.row.Fire
	if fire == nil {
		return nil, nil
	}
	row, err := newFireRow(*fire)
	return &runFire{change: change, row: row}, err
}

// admit looks for the row of the slot. One that names a run is the answer. One
// without a run stays as it is, unless a backfill asks for the slot. What is not
// a schedule has no slots: its fire takes the next moment that is free.
func (f *runFire) admit(tx *bolt.Tx) (existing string, err error) {
	if f == nil {
		return "", nil
	}
	fire := f.change.row.Fire
	for {
		stored, err := getFire(tx, f.row.key)
		switch {
		case err != nil:
			return "", err
		case stored == nil:
			return "", nil
		case fire.Kind.Scheduled() && stored.Run != "":
			return stored.Run, nil
		case fire.Kind.Scheduled() && !fire.Backfill:
			return "", fmt.Errorf("slot %s of %s: %w", fire.Slot.Format(time.RFC3339), plan.TriggerID(fire.Workflow, fire.Trigger), ErrSlotTaken)
		case fire.Kind.Scheduled():
			if stored.Slots > 1 {
				fire.Skipped, fire.Slots, fire.Note = stored.Skipped, stored.Slots, stored.Note
			}
			return "", f.renew()
		}
		fire.Slot = fire.Slot.Add(1)
		if err := f.renew(); err != nil {
			return "", err
		}
	}
}

// renew takes over a change of the fire.
func (f *runFire) renew() (err error) {
	if f.row, err = newFireRow(*f.change.row.Fire); err != nil {
		return err
	}
	return f.change.encode()
}

func (f *runFire) put(w *writer) error {
	if f == nil {
		return nil
	}
	if err := f.row.put(w); err != nil {
		return err
	}
	fire := f.change.row.Fire
	if fire.Backfill {
		return nil
	}
	epoch, err := getEpoch(w.Tx)
	if err != nil {
		return err
	}
	change, err := newStateChange(w.Tx, fire.Workflow, fire.Trigger, func(state *plan.TriggerState) {
		state.LastRun = fire.Run
		if fire.Kind.Scheduled() && fire.By == "" && fire.Slot.After(state.Done) {
			state.Done, state.Epoch = fire.Slot, epoch
		}
	})
	if err != nil {
		return err
	}
	return change.put(w)
}

// firedRun returns the run of a fire's slot, for a store that takes no new ones.
func firedRun(tx *bolt.Tx, fire *plan.Fire) (string, error) {
	if fire == nil || !fire.Kind.Scheduled() {
		return "", nil
	}
	key, err := fireKey(fire.Workflow, fire.Trigger, fire.Slot)
	if err != nil {
		return "", err
	}
	stored, err := getFire(tx, key)
	if err != nil || stored == nil {
		return "", err
	}
	return stored.Run, nil
}
