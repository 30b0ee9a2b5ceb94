package store

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// Journal keeps runs with what happens in them: all that a driver needs.
type Journal interface {
	// CreateRun stores a new run: its row, its plan under run.PlanHash (the SHA-256 of
	// planBytes in hex; filled in when empty), and the first record.
	//
	// A requestID ("" = none) that was seen before stores nothing and returns the
	// id of the run that it made. ErrRunExists: the id is taken. *PressureError:
	// space is short; a run that another one waits for is still taken. ctx is looked
	// at only before the write begins: from then on the run may exist.
	//
	// A row with a Slot gets its place, or is queued: see Slots.
	//
	// A run with a Fire is stored together with the fire's row and the trigger's
	// state. A slot of a schedule that has a run already stores nothing and returns
	// that run's id; one that was skipped is ErrSlotTaken, unless the fire is a
	// backfill's. Fires of other kinds take the next free moment from their Slot on.
	// run.Fire is given what was stored.
	CreateRun(ctx context.Context, run *runs.Run, planBytes []byte, requestID string, first *journal.Record) (existing string, err error)
	// Append stores records of a run, its new row (nil = as before) and log lines in
	// one transaction, with what a success keeps; when another has changed meanwhile
	// what the run read, nothing of it (*journal.MovedError). Calls keep their order.
	// done hears the outcome when it is durable, on a goroutine of the store (on the
	// caller's when the store refuses at once): it must not block and must not call
	// the store. A nil done is not waited for: the records are durable with the next
	// write that somebody waits for, at the latest. Records and row must not be
	// changed afterwards. Append itself waits only while too much is queued.
	Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error))
	// EachRecord shows visit a run's records from sequence number from on, in their
	// order, and stops at its error. What visit does not keep takes no more memory
	// than a part of the journal. ErrRunNotFound; ErrCorrupt when a record is damaged
	// or missing in between.
	EachRecord(runID string, from uint64, visit func(*journal.Record) error) error
	// JournalBytes returns what a run's records take with their large values, and
	// what its log lines take: all that grows while it runs. ErrRunNotFound.
	JournalBytes(runID string) (records, logs int64, err error)
	// Plan returns the bytes of the plan with this hash. ErrPlanNotFound.
	Plan(hash string) ([]byte, error)
	// Run returns a run's row. ErrRunNotFound.
	Run(id string) (*runs.Run, error)
}

// Runs are the runs that a store holds, as others than their driver see them.
type Runs interface {
	// Runs returns the newest runs that the filter selects, newest first, and the
	// cursor of the next page ("" = none): the last run that was looked at. A cursor
	// that is not a run id is an error. A page may see a run's change that happened
	// meanwhile, but never a run twice.
	Runs(filter runs.Filter) (runs []runs.Run, next string, err error)
	// OpenRuns returns the runs that a start of the engine must take up, oldest
	// first: those that are neither closed nor paused. One whose status is final but
	// whose handlers have not ended is among them.
	OpenRuns() (runs []runs.Run, err error)
	// Requested returns the run that a request made; "" for one that was never seen,
	// or whose run is removed.
	Requested(requestID string) (runID string, err error)
	// Records returns a run's records from sequence number from on, at most limit
	// (0 = all). Errors as those of EachRecord.
	Records(runID string, from uint64, limit int) ([]*journal.Record, error)
	// DeleteRun removes a run with all that belongs to it: row, journal, logs, request
	// id, its place under `concurrency`, what waits in the outbox, and the plans and
	// large values that no other run needs. The fire that it is the run of stays: its
	// slot is not fired again. ErrRunNotFound; ErrRunOpen unless the run is closed,
	// paused or ended.
	DeleteRun(id string) error
	// Look notes that somebody has looked at runs that have failed or ran out of time:
	// they need nobody any more. It returns those that did until now. Runs that are
	// paused or ask a person stay, those that are not there or need nobody are passed
	// over.
	Look(ids []string, by string, at time.Time) (looked []string, err error)
	// Looked returns who looked at a run, and whether it still needs somebody.
	Looked(id string) (look *Look, needed bool, err error)
}

// Look is who looked at a run that had failed, and when.
type Look struct {
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
}
