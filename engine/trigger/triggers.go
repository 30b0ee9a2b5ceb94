// Package trigger starts runs by themselves: by the clock, by webhooks and polls, at
// the ends of other runs; and hands on what became of runs to the targets of
// flowrun.yaml. What it needs of the life of runs is Runs.
package trigger

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Triggers start runs by themselves: by the clock, by webhooks, polls and the ends of
// other runs; and hand on what happened to runs. Safe for concurrent use.
type Triggers struct {
	project    *workspace.Workspace
	config     workspace.Config
	store      store.Store
	revisions  *inforce.Revisions
	runs       Runs
	fault      func(error) error
	background Background
	wakes      func() <-chan struct{}
	deliver    func(ctx context.Context, entry runs.OutboxEntry, skip string) error

	hookLocks hookLocks
	// signaturesDropped is the minute in which old signatures were removed last.
	signaturesDropped atomic.Int64
	polls             *polls
	readers           func() ([]*outboxReader, error) // of the outbox
	scheduler         *scheduler
}

// Options are what triggers take from their surroundings.
type Options struct {
	Project   *workspace.Workspace
	Store     store.Store
	Revisions *inforce.Revisions
	Runs      Runs
	// Fault makes the engine's own errors of the store's.
	Fault      func(error) error
	Background Background
	// Wakes returns a channel that gets a tick when the outbox has something new.
	Wakes func() <-chan struct{}
	After func(time.Duration) <-chan time.Time
	// Deliver notes what of an ended run is to be delivered; nil = nothing ever is.
	Deliver func(ctx context.Context, entry runs.OutboxEntry, skip string) error
}

// Runs is what triggers ask of the life of runs.
type Runs interface {
	// Begin stores a run and drives it. existing says that the request, or the slot of
	// the fire, had its run already. A slot that was skipped is store.ErrSlotTaken,
	// inputs that do not fit a *fault.InputError, a store that takes no run a
	// *store.PressureError, and an engine with too many a *fault.BusyError.
	Begin(ctx context.Context, checked *workspace.Checked, inputs json.RawMessage, start Start) (id string, existing bool, err error)
	// Requested returns the run that a request has made before, nil where there is
	// none; an error where that one asked for something else.
	Requested(requestID, digest string, replayed *bool) (*runs.Run, error)
	// Row returns the row of a run. fault.ErrRunNotFound.
	Row(id string) (*runs.Run, error)
	// Ended returns what a run gave, and its workflow. fault.ErrRunNotFound.
	Ended(ctx context.Context, id string) (*runs.Result, *plan.Workflow, error)
	// Wait returns a run when nobody works on it any more.
	Wait(ctx context.Context, id string) (*runs.Result, error)
	// NoteUndriven says in a row whether no process drives its run.
	NoteUndriven(row *runs.Run)
	// CallAction calls an action until it is done: its outputs, or its failure.
	CallAction(ctx context.Context, call Call, sink runs.Sink) (json.RawMessage, *runs.Error, error)
	// UnknownAction is the failure of a call whose action is not known.
	UnknownAction(name string, err error) *runs.Error
	// NewID returns a new run id.
	NewID(at time.Time) (string, error)
}

// Start is what a run of a trigger is besides its plan and inputs.
type Start struct {
	RequestID     string
	Digest        string // of what the request asks for
	By            string
	ScheduledAt   time.Time // zero = the time of acceptance
	Trigger       string
	Kind          plan.TriggerKind
	At            time.Time
	Item, Outputs json.RawMessage // as interp.EncodeValue writes them
	Fire          *runs.Fire      // stored in one transaction with the run; nil = none
}

// Call is one call of an action outside of a run.
type Call struct {
	Action     *plan.Action
	Connection string
	Input      json.RawMessage
	Attempts   int
}

// Background is what only a server does: while it is on, backfills go on by themselves.
type Background interface {
	On() bool
	// Context ends when a stop begins.
	Context() context.Context
}

// New returns triggers that do nothing by themselves yet.
func New(o Options) (*Triggers, error) {
	config := o.Project.Config()
	t := &Triggers{
		project: o.Project, config: config, store: o.Store, revisions: o.Revisions, runs: o.Runs, fault: o.Fault, background: o.Background, wakes: o.Wakes, deliver: o.Deliver,
		polls: newPolls(config.Now, o.After),
	}
	t.readers = t.outboxReaders
	var err error
	t.scheduler, err = newScheduler(t, o.After)
	return t, err
}

// Parts are what a server runs beside each other until their context ends: schedules,
// polls, and the readers of the outbox.
func (tr *Triggers) Parts() ([]func(context.Context), error) {
	parts := []func(context.Context){tr.runSchedules, tr.runPolls}
	readers, err := tr.readers()
	if err != nil {
		return nil, tr.fault(err)
	}
	for _, reader := range readers {
		parts = append(parts, reader.run)
	}
	return parts, nil
}

// Close waits for the backfills, which end with the background.
func (tr *Triggers) Close() { tr.scheduler.backfills.group.Wait() }

// Pending returns how many backfills have runs to start.
func (tr *Triggers) Pending() int { return int(tr.scheduler.backfills.pending.Load()) }
