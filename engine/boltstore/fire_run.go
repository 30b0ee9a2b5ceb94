package boltstore

import (
	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
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

// admit looks for the row of the slot, or of the next one that is free.
func (f *runFire) admit(tx *bolt.Tx) (existing string, err error) {
	if f == nil {
		return "", nil
	}
	for {
		stored, err := getFire(tx, f.row.key)
		if err != nil {
			return "", err
		}
		existing, free, err := store.AdmitFire(f.change.row.Fire, stored)
		if err != nil || existing != "" || stored == nil {
			return existing, err
		}
		if err := f.renew(); err != nil || free {
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
	epoch, err := getEpoch(w.Tx)
	if err != nil {
		return err
	}
	fire := f.change.row.Fire
	change, err := newStateChange(w.Tx, fire.Workflow, fire.Trigger, store.Fired(fire, epoch))
	if err != nil {
		return err
	}
	return change.put(w)
}

// firedRun returns the run of a fire's slot, for a store that takes no new ones.
func firedRun(tx *bolt.Tx, fire *runs.Fire) (string, error) {
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
