package store

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Memory is what runs leave for later ones. The writes of a run's success are not
// among its methods: the journal makes them, with the record that says so.
type Memory interface {
	// State returns the stored values of a workflow's state, by name.
	State(workflow string) ([]runs.StateValue, error)
	// Cursor returns a stored cursor; nil when there is none.
	Cursor(key string) (*runs.StateValue, error)
	// Cursors returns stored cursors: all, or those of a workflow, or of one name.
	Cursors(workflow, name string) ([]runs.StateValue, error)
}

// Changes are what people do to that memory, and what was done to it.
type Changes interface {
	// Change sets or resets a state value or a cursor, with its entry in the history.
	// It returns the new version, 0 for one that was reset. A version is never used
	// twice.
	Change(c Change) (version uint64, err error)
	// History returns what changed a state value, or the cursor of a key, the newest
	// last: the newest 50 at most, of 256 KiB at most.
	History(workflow, name, key string) ([]runs.StateChange, error)
	// CursorKeys returns the keys of all cursors of a name that have a history: those
	// that were reset too.
	CursorKeys(workflow, name string) (keys []string, err error)
}

// Slots are the places under `concurrency`. A run has its place, or waits for it, from
// the transaction that stores its row on: CreateRun and TakeSlot give it a place when
// one is free and nobody waits before it. Runs wait in the order of their ids, which
// is that of their acceptance.
type Slots interface {
	// SlotRuns returns the ids of the runs that hold a place of a key and of those
	// that wait for one, oldest first.
	SlotRuns(key string) (held, queued []string, err error)
	// AdmitNext gives a free place of a key to the run that waits longest. It returns
	// the run's new row, nil when no place is free or nobody waits.
	AdmitNext(key string) (*runs.Run, error)
	// TakeSlot asks for the place of a run that shall go on. With a place the run is
	// running, without one it is queued; in both cases its row says how it goes on. A
	// run without `concurrency`, or one that has or awaits its place, stays as it is.
	TakeSlot(runID string, goOn runs.GoOn) (*runs.Run, error)
}

// Change asks for a change of a state value or a cursor, by a person. A nil
// Value resets it.
type Change struct {
	Workflow string
	Name     string
	Key      string // of a cursor; "" = a state value
	Value    []byte
	At       time.Time
	By       string
}
