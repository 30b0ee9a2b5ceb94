// Package local is the embedded driver of the Machine: it journals what
// happens, applies it, dispatches the commands and turns their answers into
// events. Each run is driven by one goroutine at a time, and by none while nothing happens.
package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Options are what a Driver needs. All fields up to Log are required.
type Options struct {
	Journal       store.Journal
	Caller        dispatch.Caller
	Limiter       dispatch.Limiter
	Now           func() time.Time
	Log           *slog.Logger
	MaxActiveRuns int // runs driven at a time; 0 = 1000

	// JournalBytes bounds what the journal of a run may hold, with its log; 0 =
	// DefaultJournalBytes.
	JournalBytes int64

	// ReplayBytes bounds the journals that are read to go on with their runs; 0 =
	// twice JournalBytes, or twice its default where that is more.
	ReplayBytes int64

	// DecodedBytes is what each run keeps of its answers decoded in any case; 0 = as
	// much as interp says. It costs memory or time, and decides nothing.
	DecodedBytes int64

	// Reconciler is asked about lost calls whose plugin can tell. nil = nobody is.
	Reconciler dispatch.Reconciler

	// Children answers steps that call a sub-workflow without a run of it, as a
	// sandbox may. nil = each has its run.
	Children ChildAnswerer

	// Gate holds calls back for want of space. nil = none.
	Gate dispatch.Gate

	// Blobs hands large values on to sub-workflows, and those that they give back. nil =
	// there are none.
	Blobs store.Blobs

	// What runs leave for later ones. nil = nothing is kept, and nobody waits.
	Memory     Memory
	Identifier dispatch.Identifier
	Cache      dispatch.Cache

	// Observer hears of rows and steps when they are durable. nil = nobody does.
	Observer *runs.Observer
}

// The errors of a Driver.
var (
	ErrClosed    = errors.New("the engine is closing")
	ErrNotDriven = errors.New("no process drives this run")
	ErrDriven    = errors.New("the run is driven already")
)

// Driver drives runs. Safe for concurrent use.
type Driver struct {
	options Options
	slots   chan struct{}
	ctx     context.Context // ends when Close begins: calls in flight are canceled
	stop    context.CancelFunc
	workers *workers
	claims  claims

	admission context.Context // ends when a graceful stop begins: no call is sent any more
	refuse    context.CancelFunc
	calls     *dispatch.Dispatcher

	programs programs
	ended    endedRuns

	mu     sync.Mutex
	runs   map[string]*run
	closed bool
}

// New returns a Driver that drives nothing yet.
func New(options Options) *Driver {
	if options.MaxActiveRuns == 0 {
		options.MaxActiveRuns = 1000
	}
	if options.JournalBytes <= 0 {
		options.JournalBytes = DefaultJournalBytes
	}
	if options.ReplayBytes <= 0 {
		options.ReplayBytes = replayShare * max(options.JournalBytes, DefaultJournalBytes)
	}
	ctx, stop := context.WithCancel(context.Background())
	admission, refuse := context.WithCancel(context.Background())
	d := &Driver{
		options:   options,
		slots:     make(chan struct{}, options.MaxActiveRuns),
		ctx:       ctx,
		stop:      stop,
		admission: admission,
		refuse:    refuse,
		workers:   newWorkers(),
		runs:      map[string]*run{},
	}
	d.calls = dispatch.New(dispatch.Options{
		Caller: options.Caller, Limiter: options.Limiter, Now: d.now, Gate: options.Gate, Identifier: options.Identifier,
		Memory: options.Memory, Cache: options.Cache, Reconciler: options.Reconciler,
	}, ctx, admission)
	return d
}

// StartRequest is an accepted run: row, plan and the payload of its started
// event. RequestID makes a repeated submit return the first one's run.
type StartRequest struct {
	Row       runs.Run
	Workflow  *plan.Workflow
	PlanBytes []byte
	Start     journal.Start
	RequestID string
	By        string // who asked for it; stands in the first event
}

// Start stores the run with its first commands in one transaction and drives
// it. It returns the row as it was stored. When RequestID was seen before, or the row's
// Fire is of a slot that has its run, existing is that run's id, and nothing is started.
func (d *Driver) Start(ctx context.Context, request StartRequest) (stored *runs.Run, existing string, err error) {
	code, err := d.programs.of(request.Row.PlanHash, func() (*plan.Workflow, error) { return request.Workflow, nil })
	if err != nil {
		return nil, "", fmt.Errorf("prepare run of %s: %w", request.Workflow.Name, err)
	}
	if d.bounded(code.workflow) {
		return d.startBounded(ctx, request, code)
	}
	r := d.newRun(request.Row, code.workflow, d.newMachine(code.program))
	batch, err := r.applyEvent(journal.Event{Kind: journal.Started, At: d.now(), Start: &request.Start, By: request.By})
	if err != nil {
		return nil, "", fmt.Errorf("start run of %s: %w", request.Workflow.Name, err)
	}
	if err := r.firstRecord(); err != nil {
		return nil, "", err
	}
	if err := d.reserve(r); err != nil {
		return nil, "", err
	}
	r.updateRow(d.now())
	if !r.tryBegin() {
		r.row.Status = runs.RunQueued
	}
	row := r.row
	existing, err = d.options.Journal.CreateRun(ctx, &row, request.PlanBytes, request.RequestID, batch.record)
	if err != nil || existing != "" {
		d.release(r)
		return nil, existing, err
	}
	accepted := row // the observer's is row
	d.launch(r, func() {
		d.options.Observer.RunStored(&row)
		r.storeLogs(batch)
		r.publish(batch)
		r.dispatch(batch.immediate)
		r.dispatch(batch.effects)
		r.noteWaits()
	})
	return &accepted, "", nil
}

// Load drives a stored run again: it replays the journal, compares the commands
// with the stored ones and dispatches what was in flight. event, when not nil,
// is applied after that: resumed or cancel. A run that is driven already gets
// the event alone.
func (d *Driver) Load(id string, event *journal.Event) error {
	_, err := d.load(id, event)
	return err
}

// load is Load. loaded = nobody drove the run.
func (d *Driver) load(id string, event *journal.Event) (loaded bool, err error) {
	r, err := d.reserveStored(id, event)
	if r == nil {
		return false, err
	}
	return true, d.drive(r, event)
}

// reserveStored replays a run that nobody drives, and registers it. One that is driven gets
// the event, and the answer is nil.
func (d *Driver) reserveStored(id string, event *journal.Event) (*run, error) {
	defer d.claims.take(id)()
	if driven := d.driven(id); driven != nil && (event == nil || driven.mail.put(message{event: event})) {
		return nil, nil
	}
	r, err := d.replay(id)
	if err != nil {
		return nil, err
	}
	if err := d.reserve(r); err != nil {
		return nil, err
	}
	return r, nil
}

// drive goes on with a run that was replayed and registered.
func (d *Driver) drive(r *run, event *journal.Event) (err error) {
	if event, err = r.takePlace(event); err != nil {
		d.release(r)
		return err
	}
	if r.awaitsPlace() {
		d.launchBounded(r, event)
		return nil
	}
	r.tryBegin()
	d.launch(r, func() { r.recover(event) })
	return nil
}

// LoadDurably is Load that returns when the event is durable. A resume of a run
// that waits for one of the driver's slots returns at once.
func (d *Driver) LoadDurably(ctx context.Context, id string, event *journal.Event) error {
	if err := d.Load(id, event); err != nil {
		return err
	}
	return d.awaitDurable(ctx, id, event)
}

func (d *Driver) awaitDurable(ctx context.Context, id string, event *journal.Event) error {
	queued := event != nil && event.Kind != journal.Resumed
	return d.inspect(ctx, id, queued, func(*run) {})
}

// Send gives an event to a run that is driven; else ErrNotDriven.
func (d *Driver) Send(id string, event journal.Event) error {
	r := d.driven(id)
	if r == nil || !r.mail.put(message{event: &event}) {
		return ErrNotDriven
	}
	return nil
}

// AwaitEnd waits until the run's worker has ended, where it has one.
func (d *Driver) AwaitEnd(ctx context.Context, id string) error {
	r := d.driven(id)
	if r == nil {
		return nil
	}
	select {
	case <-r.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Driven reports whether the run is driven by this driver.
func (d *Driver) Driven(id string) bool { return d.driven(id) != nil }

// Active returns how many runs are driven now.
func (d *Driver) Active() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.runs)
}

// Close stops every run where it is, without a word in its journal: the next
// Load goes on there. Calls in flight are canceled. It waits until all workers
// have ended, or ctx.
func (d *Driver) Close(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	for _, r := range d.runs {
		r.mail.put(message{stop: true})
	}
	d.mu.Unlock()
	d.stop()
	d.workers.close()
	done := make(chan struct{})
	go func() {
		d.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for runs to stop: %w", ctx.Err())
	}
}

func (d *Driver) now() time.Time { return d.options.Now().UTC().Round(0) }

func (d *Driver) driven(id string) *run {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs[id]
}

// reserve registers the run, so that there is never a second worker for it.
func (d *Driver) reserve(r *run) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if d.runs[r.row.ID] != nil {
		return fmt.Errorf("run %s: %w", r.row.ID, ErrDriven)
	}
	d.runs[r.row.ID] = r
	d.ended.forget(r.row.ID)
	return nil
}

func (d *Driver) release(r *run) {
	if r.hasSlot.Load() && r.row.Parent == nil {
		<-d.slots
	}
	id, parent, end, forgotten := r.row.ID, r.row.Parent, r.asEnded(), r.stopping || r.failed != nil
	d.mu.Lock()
	delete(d.runs, id)
	if r.halted {
		d.ended.keep(r)
	}
	d.mu.Unlock()
	left := r.mail.close()
	close(r.ended)
	r.feed.close()
	d.tellParent(parent, end)
	if !forgotten {
		d.deliver(id, left)
	}
}

// deliver gives what a worker had no time to read to the next one: a cancel that
// came while its run was being paused must not be lost.
func (d *Driver) deliver(id string, left []message) {
	for _, msg := range left {
		if msg.event == nil || msg.answerTo != nil {
			continue
		}
		if err := d.Load(id, msg.event); err != nil {
			d.options.Log.Warn("event not delivered", "run", id, "event", msg.event.Kind, "error", err)
		}
	}
}

// end ends the worker of a run that was launched.
func (r *run) end() {
	r.driver.release(r)
	r.driver.workers.busy.Done()
}

// launch starts the run's worker. begin runs first on it, after a slot is free.
func (d *Driver) launch(r *run, begin func()) {
	d.workers.busy.Add(1) // until its end: meanwhile it may have no goroutine
	d.workers.Go(func() {
		if !r.awaitSlot() {
			r.end()
			return
		}
		begin()
		r.work()
	})
}
