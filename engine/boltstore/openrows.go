package boltstore

import "github.com/flowrun/flowrun/engine/runs"

// maxOpenRows bounds what the committer remembers of rows: more runs are open only where
// many are paused, and their rows are read.
const maxOpenRows = 4096

// openRows are what the committer remembers of the stored rows of runs that go on: all that
// their next change needs of them, so that it need not read and decode what this process has
// written. They are changed with the transaction that changes the row: a store whose
// transaction failed takes no other. A nil map remembers nothing.
type openRows map[[runKeySize]byte]*runs.Run

// get returns what is known of a run's row; nil = it must be read.
func (o openRows) get(run []byte) *runs.Run { return o[[runKeySize]byte(run)] }

// note takes over a row that was put. It is copied: the row is its writer's.
func (o openRows) note(run []byte, row *runs.Run) {
	if o == nil {
		return
	}
	if row.Closed {
		o.forget(run)
		return
	}
	if len(o) >= maxOpenRows {
		clear(o)
	}
	known := &runs.Run{
		ID: row.ID, Workflow: row.Workflow, Status: row.Status, Attempt: row.Attempt, Closed: row.Closed, Asks: row.Asks, Parent: row.Parent,
	}
	if row.Slot != nil {
		slot := *row.Slot
		known.Slot = &slot
	}
	o[[runKeySize]byte(run)] = known
}

// forget lets go of a row that is closed or removed.
func (o openRows) forget(run []byte) { delete(o, [runKeySize]byte(run)) }
