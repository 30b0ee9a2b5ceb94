package boltstore

import "github.com/flowrun/flowrun/engine/runs"

// maxOpenRows bounds what the committer remembers of rows: more runs are open only where
// many are paused, and their rows are read.
const maxOpenRows = 4096

// openRows are what the committer remembers of the stored rows of runs that go on: all that
// their next change needs of them, so that it need not read and decode what this process has
// written. They are changed with the transaction that changes the row: a store whose
// transaction failed takes no other. A nil map remembers nothing.
type openRows map[[runKeySize]byte]*openRow

// openRow is what is known of a run.
type openRow struct {
	row  runs.Run // of the stored row, what its next change needs
	slot runs.Slot
	sum  uint64 // the stored row's part of the census
	next uint64 // number of the next record of its journal; 0 = not known
}

// get returns what is known of a run's row; nil = it must be read.
func (o openRows) get(run []byte) *openRow { return o[[runKeySize]byte(run)] }

// follow notes the number of the next record of a run whose row is known.
func (o openRows) follow(run []byte, next uint64) {
	if known := o.get(run); known != nil {
		known.next = next
	}
}

// note takes over a row that was put, with its part of the census. It is copied: the row
// is its writer's.
func (o openRows) note(run []byte, row *runs.Run, sum uint64) {
	if o == nil {
		return
	}
	if row.Closed {
		o.forget(run)
		return
	}
	if len(o) >= maxOpenRows && o.get(run) == nil {
		clear(o)
	}
	known := o.get(run)
	if known == nil {
		known = &openRow{}
		o[[runKeySize]byte(run)] = known
	}
	known.sum = sum
	known.row = runs.Run{
		ID: row.ID, Workflow: row.Workflow, Status: row.Status, Attempt: row.Attempt, Closed: row.Closed, Asks: row.Asks, Parent: row.Parent,
	}
	if row.Slot != nil {
		known.slot = *row.Slot
		known.row.Slot = &known.slot
	}
}

// forget lets go of a row that is closed or removed.
func (o openRows) forget(run []byte) { delete(o, [runKeySize]byte(run)) }
