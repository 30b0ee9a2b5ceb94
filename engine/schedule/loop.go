package schedule

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Times of a loop.
const (
	// Recheck is how long the loop waits at most before it looks at the clock
	// again, which may have been set or have stood still (P9).
	Recheck = 15 * time.Second
	// presence is how long the loop may not have looked and still was there.
	presence = 2 * time.Minute
	// again is how long a trigger waits whose fire could not be decided, and
	// backlog one whose last run a catch-up waits for.
	again   = 5 * time.Second
	backlog = 250 * time.Millisecond
	// atOnce is how many triggers are decided at a time: their commits are one.
	atOnce = 16
)

// Item is a trigger that is in force.
type Item struct {
	Workflow, Trigger string
	Kind              plan.TriggerKind
	Schedule          *plan.Schedule
	// Exclusive says that the workflow declares no `concurrency`: a slot is
	// skipped while the trigger's last run is active.
	Exclusive bool
}

// Store keeps fires and states.
type Store interface {
	TriggerState(workflow, trigger string) (*runs.TriggerState, error)
	PutFires(fires []runs.Fire, workflow, trigger string, edit func(*runs.TriggerState)) error
	// NewestFire returns the fire of a trigger with the newest slot; nil = none.
	NewestFire(workflow, trigger string) (*runs.Fire, error)
}

// Runs starts the runs of slots.
type Runs interface {
	// Start starts the run of a fire and stores both in one transaction, with
	// Done = Slot. stored is false for a slot that has its run already, or was
	// skipped already: nothing is stored then. A *SkippedError says that this fire
	// can't become a run; after any other error the slot is still to be decided.
	Start(ctx context.Context, item Item, fire runs.Fire) (run string, stored bool, err error)
	// Active reports whether a run has not ended and is not paused.
	Active(run string) (bool, error)
}

// SkippedError says why a fire starts no run: one of the reasons of runs.Fire.
type SkippedError struct{ Reason, Note string }

func (e *SkippedError) Error() string { return e.Reason + ": " + e.Note }

// Options are what a Loop works with.
type Options struct {
	Store Store
	Runs  Runs
	// Items returns the triggers in force; Changed gets a tick when they have
	// changed.
	Items   func(context.Context) ([]Item, error)
	Changed <-chan struct{}
	Epoch   uint64 // of the store
	Now     func() time.Time
	After   func(time.Duration) <-chan time.Time
	Log     *slog.Logger
	Skipped func(runs.Fire) // hears of rows without a run; nil = nobody does
}

// Loop decides on the slots of all triggers as they come. Run is its only
// goroutine; the other methods are safe for concurrent use.
type Loop struct {
	o    Options
	wake chan struct{}

	// state is held for reading while fires are decided, and for writing by those
	// who change the state of a trigger by hand.
	state sync.RWMutex

	entries map[string]*entry // by id; of Run's goroutine
	looked  time.Time         // when the loop looked last; zero = never
}

// entry is a trigger with what the loop remembers of it. While it is decided it
// is its goroutine's.
type entry struct {
	id      string
	item    Item
	trigger *Trigger
	at      time.Time // when to look at it; zero = at once
	never   bool      // it has no slot any more
	until   time.Time // a catch-up takes the slots up to it
	failed  time.Time // since when its fires can't be decided; zero = they can
}

// NewLoop returns a loop that has not begun.
func NewLoop(o Options) *Loop {
	return &Loop{o: o, wake: make(chan struct{}, 1), entries: map[string]*entry{}}
}

// Wake has the loop look at all triggers anew.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Exclusively calls change while no fire is decided, then wakes the loop: what is
// done to a trigger by hand and by the clock does not mix.
func (l *Loop) Exclusively(change func() error) error {
	l.state.Lock()
	defer l.state.Unlock()
	defer l.Wake()
	return change()
}

// Run decides until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	l.reload(ctx)
	for ctx.Err() == nil {
		wait := l.look(ctx)
		select {
		case <-ctx.Done():
		case <-l.o.Changed:
			l.reload(ctx)
		case <-l.wake:
			l.forget()
		case <-l.o.After(wait):
		}
	}
}

// forget has each trigger looked at.
func (l *Loop) forget() {
	for _, e := range l.entries {
		e.at, e.never = time.Time{}, false
	}
}

// reload takes the triggers that are in force now. One that is gone counts as new
// when it comes back: nothing of the time between is caught up.
func (l *Loop) reload(ctx context.Context) {
	items, err := l.o.Items(ctx)
	if err != nil {
		if ctx.Err() == nil {
			l.o.Log.Error("schedules not read", "error", err)
		}
		return
	}
	now := map[string]*entry{}
	for _, item := range items {
		id := runs.TriggerID(item.Workflow, item.Trigger)
		trigger, err := Read(id, item.Schedule)
		if err != nil {
			l.o.Log.Error("schedule not read", "schedule", id, "error", err)
			continue
		}
		known := l.entries[id]
		if known == nil || known.trigger.Hash() != trigger.Hash() {
			known = &entry{id: id}
		}
		known.item, known.trigger, known.at, known.never = item, trigger, time.Time{}, false
		now[id] = known
	}
	for id, e := range l.entries {
		if now[id] == nil {
			l.leave(e)
		}
	}
	l.entries = now
}

// leave notes that a trigger is no longer in force.
func (l *Loop) leave(e *entry) {
	err := l.o.Store.PutFires(nil, e.item.Workflow, e.item.Trigger, func(s *runs.TriggerState) { s.Hash = "" })
	if err != nil {
		l.o.Log.Error("schedule not left", "schedule", e.id, "error", err)
	}
}

// look decides on all triggers that are due, and returns how long nothing is.
func (l *Loop) look(ctx context.Context) time.Duration {
	now := l.now()
	if now.Before(l.looked) {
		l.forget() // the clock was set back
	}
	present := !l.looked.IsZero() && now.Sub(l.looked) <= presence
	places := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	l.state.RLock()
	for _, e := range l.entries {
		if ctx.Err() != nil || e.never || e.at.After(now) {
			continue
		}
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			l.decide(ctx, e, now, present)
		})
	}
	group.Wait()
	l.state.RUnlock()
	l.looked = now
	return l.untilNext()
}

// now is the time of the wall clock. Without the monotonic reading: a machine that
// sleeps must be seen as an absence, and a clock that is set as well.
func (l *Loop) now() time.Time { return l.o.Now().Round(0) }

func (l *Loop) untilNext() time.Duration {
	now, wait := l.now(), Recheck
	for _, e := range l.entries {
		if !e.never {
			wait = min(wait, max(e.at.Sub(now), 0))
		}
	}
	return wait
}

// decide decides on one trigger.
func (l *Loop) decide(ctx context.Context, e *entry, now time.Time, present bool) {
	err := l.decided(ctx, e, now, present && (e.failed.IsZero() || now.Sub(e.failed) <= presence))
	if err == nil {
		e.failed = time.Time{}
		return
	}
	if ctx.Err() != nil {
		return // the next process goes on
	}
	if e.failed.IsZero() {
		e.failed = now
	}
	e.at = now.Add(again)
	l.o.Log.Error("schedule not decided", "schedule", e.id, "error", err)
}

func (l *Loop) decided(ctx context.Context, e *entry, now time.Time, present bool) error {
	state, err := l.o.Store.TriggerState(e.item.Workflow, e.item.Trigger)
	if err != nil {
		return err
	}
	if state == nil {
		state = &runs.TriggerState{}
	}
	if err := l.setBack(e, state, now); err != nil {
		return err
	}
	p := e.trigger.Plan(View{Now: now, Present: present, Until: e.until, Epoch: l.o.Epoch, State: *state})
	e.until, e.at, e.never = p.Until, p.Next, p.Next.IsZero()
	a := applying{loop: l, ctx: ctx, entry: e, now: now, lastRun: state.LastRun}
	for _, step := range p.Steps {
		waits, err := a.step(step)
		if err != nil {
			return err
		}
		if waits {
			e.at, e.never = now.Add(backlog), false
			return a.flush(nil)
		}
	}
	if p.Begin {
		return a.flush(func(s *runs.TriggerState) { s.Hash, s.Done, s.Epoch = e.trigger.Hash(), p.Done, l.o.Epoch })
	}
	return a.flush(nil)
}

// setBack has the slots count from now on where they count from a time that is
// still to come and nothing was decided between: the clock was ahead when the
// trigger was seen first. Slots that were decided are never decided again, even
// when the clock was set back (P10).
func (l *Loop) setBack(e *entry, state *runs.TriggerState, now time.Time) error {
	if !state.Done.After(now) {
		return nil
	}
	newest, err := l.o.Store.NewestFire(e.item.Workflow, e.item.Trigger)
	if err != nil {
		return err
	}
	from := now
	if newest != nil {
		if last := e.trigger.lastSlot(*newest); last.After(now) {
			from = last
		}
	}
	if ahead := from.Sub(now); ahead > presence {
		l.o.Log.Warn("the clock was set back: the schedule goes on behind its last slot, or when it is resumed", "schedule", e.id, "last_slot", from)
	}
	if !from.Before(state.Done) {
		return nil
	}
	state.Done = from
	return l.o.Store.PutFires(nil, e.item.Workflow, e.item.Trigger, func(s *runs.TriggerState) { s.Done = from })
}
