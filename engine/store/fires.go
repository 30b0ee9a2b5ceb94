package store

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Fires are what became of the slots of triggers.
type Fires interface {
	// Fires returns the fires that the filter selects, the newest slot first, and the
	// cursor of the next page ("" = none). A cursor that this method did not give is
	// an error.
	Fires(filter runs.FireFilter) (fires []runs.Fire, next string, err error)
	// FiresBetween returns the fires of a trigger with slots in [from, until), the
	// oldest first, at most limit (0 = all).
	FiresBetween(workflow, trigger string, from, until time.Time, limit int) ([]runs.Fire, error)
	// Fire returns the fire of a slot; nil when there is none.
	Fire(workflow, trigger string, slot time.Time) (*runs.Fire, error)
	// PutFires stores fires of a trigger and changes its state, in one transaction. A
	// row that is there already is never overwritten. Without fires, or without edit,
	// only the other one happens. edit must be quick and must not call the store.
	PutFires(fires []runs.Fire, workflow, trigger string, edit func(*runs.TriggerState)) error
}

// Triggers are what is kept of each trigger.
type Triggers interface {
	// TriggerState returns what is kept of a trigger; nil when nothing is.
	TriggerState(workflow, trigger string) (*runs.TriggerState, error)
	// TriggerStates returns what is kept of all triggers, those of a workflow side by
	// side.
	TriggerStates() ([]runs.TriggerState, error)
	// EditTriggerState changes what is kept of a trigger, in one transaction, and
	// returns the new state. edit gets the stored state, or one with the two names
	// alone; it must be quick and must not call the store. An edit that changes
	// nothing is not written. That the engine itself has paused a trigger goes to the
	// outbox.
	EditTriggerState(workflow, trigger string, edit func(*runs.TriggerState)) (runs.TriggerState, error)
	// Epoch counts the restores of the store: what was begun in another epoch, such as
	// a schedule's slot, belongs to another history (P15).
	Epoch() (uint64, error)
}

// MaxOutbox is how many entries wait at most. A process that does not serve takes none
// out.
const MaxOutbox = 10_000

// Outbox is what became of runs and triggers that others wait to hear of. Entries are
// written with what they tell; 10,000 wait at most, the oldest give way.
type Outbox interface {
	// Outbox returns the entries with sequence numbers above after, the oldest first,
	// at most limit (0 = 50).
	Outbox(after uint64, limit int) ([]runs.OutboxEntry, error)
	// DropOutbox takes out the entries up to a sequence number: they were handed on.
	DropOutbox(upTo uint64) error
}
