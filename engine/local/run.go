package local

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// run is one driven run. Its fields belong to its worker: the goroutine that reads its
// mail, which is another one at another time.
type run struct {
	*drive.Run
	driver   *Driver
	workflow *plan.Workflow
	row      runs.Run
	stored   tally // what the journal holds
	mail     mailbox
	feed     *feed
	ended    chan struct{} // closed when the worker reads no more messages
	hasSlot  atomic.Bool   // one of the driver's slots is taken

	children  map[string]*child      // by operation path; nil = none yet
	forPeople atomic.Bool            // nothing goes on in it without a person or a signal
	waits     map[string]limiterWait // by step; nil = none yet

	next        *call    // begun, and not handed to a goroutine yet
	unstored    []*batch // applied, not yet handed to the journal
	logs        []runs.Log
	uncommitted int // handed to the journal, not yet committed
	inspectors  []func(*run)
	flushing    bool // a flush message is on its way
	flushNow    bool // it has come
	stopping    bool
	unsent      []string // paths of calls that a graceful stop kept from being sent
	halted      bool     // its worker has nothing more to do, and all is durable
	leaving     bool     // it was canceled while it waited for its place
	failed      error    // of the journal
}

// batch is one applied event with all that follows from it.
type batch struct {
	record    *journal.Record
	changes   []runs.Step
	immediate []journal.Command // need no durable intent
	effects   []journal.Command // wait for the commit
	row       *runs.Run         // the run's new row, when it changed
	logs      []runs.Log
	effect    bool // the event is the answer to a call with an effect
	size      int64
}

// commit is a group of batches that the journal has answered.
type commit struct {
	batches []*batch
	logs    []runs.Log
	err     error
}

// limiterWait says until when a step waits for its limiter or for the gate; zero
// = no more.
type limiterWait struct {
	path   string // of the step
	since  time.Time
	until  time.Time
	reason string
}

func (d *Driver) newRun(row runs.Run, workflow *plan.Workflow, machine *interp.Machine) *run {
	r := &run{
		Run:      drive.New(machine),
		driver:   d,
		workflow: workflow,
		row:      row,
		feed:     newFeed(),
		ended:    make(chan struct{}),
	}
	r.mail = newMailbox(d.workers, r.work)
	return r
}

// tryBegin takes a slot when one is free.
func (r *run) tryBegin() bool {
	if r.row.Parent != nil { // its parent's slot is its own: else the two could wait for each other
		r.hasSlot.Store(true)
		return true
	}
	select {
	case r.driver.slots <- struct{}{}:
		r.hasSlot.Store(true)
		return true
	default:
		return false
	}
}

// awaitSlot waits for a slot; false when the engine closes before one is free.
func (r *run) awaitSlot() bool {
	if r.hasSlot.Load() {
		return true
	}
	select {
	case r.driver.slots <- struct{}{}:
		r.hasSlot.Store(true)
	case <-r.driver.admission.Done():
		return false
	case <-r.driver.ctx.Done():
		return false
	}
	if r.row.Status == runs.RunQueued {
		r.updateRow(r.driver.now())
		row := r.row
		r.unstored = append(r.unstored, &batch{row: &row})
		r.store()
	}
	return true
}

// work is the run's worker for as long as there are messages. Then it makes a call, where
// the last of them led to one, and is the worker again with its answer, where nobody else
// is: a step is a matter of one goroutine.
func (r *run) work() {
	for made := r.read(); made != nil; made = r.read() {
		if !r.mail.enter(r.make(made)) {
			return
		}
	}
}

// read handles messages until there are none, or until the run has nothing more to do or
// is stopped, which ends it. Its answer is a call to make: the run may have another worker
// by then.
func (r *run) read() *call {
	for !r.idle() {
		if made := r.next; made != nil {
			r.next = nil
			if r.mail.leave() {
				return made
			}
			r.makeBeside(made) // messages wait for this goroutine
		}
		messages := r.mail.take()
		if messages == nil {
			return nil
		}
		for _, msg := range messages {
			r.handle(msg)
		}
		r.storeWhenDue()
		r.stopWhenDrained()
	}
	r.halt()
	r.end()
	return nil
}

// idle reports whether the worker may end: all is durable and the Machine has
// ended or paused, or the run was stopped.
func (r *run) idle() bool {
	if r.uncommitted > 0 {
		return false
	}
	if r.stopping || r.failed != nil {
		return true
	}
	if len(r.unstored) > 0 || len(r.logs) > 0 || r.row.StateOf() == runs.SlotQueued {
		return false
	}
	return r.Stopped()
}

// halt ends what is still open and serves those who ask at the last moment.
func (r *run) halt() {
	for _, op := range r.Open() {
		if op.Stop != nil && op.Command.Child == nil {
			op.Stop()
		}
	}
	r.serveInspectors()
	if r.failed == nil && !r.stopping {
		r.halted = true
		r.feed.send(Update{Kind: UpdateEnd, RunID: r.row.ID, Seq: r.Seq})
	}
}

func (r *run) handle(msg message) {
	switch {
	case msg.stop:
		r.stopping = true
	case msg.flush:
		r.flushing, r.flushNow = false, true
	case msg.committed != nil:
		r.committed(msg.committed)
	case msg.released != nil:
		r.letGo(msg.released)
	case msg.inspect != nil:
		r.inspectors = append(r.inspectors, msg.inspect)
		r.serveInspectors()
	case r.stopping || r.failed != nil:
	case msg.log != nil:
		r.takeLog(msg.log)
	case msg.wait != nil:
		r.waiting(*msg.wait)
	case msg.decide != nil:
		r.decided(msg.decide)
	case msg.admitted != nil:
		r.admitted(msg.admitted)
	case msg.child != nil:
		r.childEnded(msg.child)
	case msg.childWaits != nil:
		r.childWaiting(msg.childWaits)
	case msg.event != nil:
		if msg.answerTo == nil || r.settle(msg.answerTo) {
			r.take(*msg.event, msg.answerTo)
		}
	}
}

// taken goes on with an event that was applied.
func (r *run) taken(applied *batch, event journal.Event, answered *drive.Operation) {
	before := r.row
	r.leaving = r.leaving || event.Kind == journal.CancelRun || event.Kind == journal.Refused && !r.Machine.HasBegun()
	r.updateRow(event.At)
	if !sameRow(before, r.row) {
		row := r.row
		applied.row = &row
	}
	if applied.writes() {
		r.commitWrites(applied, answered)
		r.noteWaits()
		return
	}
	applied.effect = answered != nil && answered.Command.Call != nil && answered.Command.Call.Effect.Writes()
	r.unstored = append(r.unstored, applied)
	r.dispatch(applied.immediate)
	r.noteWaits()
}

// queue puts an event that was applied among those to be stored.
func (r *run) queue(applied *batch, at time.Time) {
	before := r.row
	r.updateRow(at)
	if !sameRow(before, r.row) {
		row := r.row
		applied.row = &row
	}
	r.unstored = append(r.unstored, applied)
	r.dispatch(applied.immediate)
}

// applyEvent folds an event into the Machine: the event as the journal will
// give it back, so that a live run and a replay see equal values.
func (r *run) applyEvent(event journal.Event) (*batch, error) {
	r.Quiet = r.unwatched()
	turn, err := r.Apply(event)
	if err != nil {
		return nil, err
	}
	return r.batch(turn), nil
}

// unwatched reports whether nobody is told of steps. Who begins to watch does so when all
// is durable and told, and is given a snapshot first.
func (r *run) unwatched() bool { return !r.driver.options.Observer.WantsSteps() && !r.feed.watched() }

// batch counts a record, and is what is done about it.
func (r *run) batch(turn *drive.Turn) *batch {
	size := sizeOf(turn.Bytes)
	r.stored.bytes += size
	r.replanned(&turn.Record.Event)
	applied := &batch{record: turn.Record, changes: turn.Changes, logs: turn.Logs(), size: size}
	applied.immediate, applied.effects = turn.Split()
	for i := range applied.logs {
		r.countLog(&applied.logs[i])
	}
	return applied
}

// store hands all that was applied to the journal, in one group.
func (r *run) store() {
	if r.failed != nil || (len(r.unstored) == 0 && len(r.logs) == 0) {
		return
	}
	group := &commit{batches: r.unstored, logs: r.logs}
	r.unstored, r.logs, r.flushNow = nil, nil, false
	records := make([]*journal.Record, 0, len(group.batches))
	logs := group.logs
	var row *runs.Run
	for _, applied := range group.batches {
		if applied.record != nil {
			records = append(records, applied.record)
		}
		logs = append(logs, applied.logs...)
		if applied.row != nil {
			row = applied.row
		}
	}
	r.uncommitted++
	r.driver.options.Journal.Append(r.row.ID, records, row, logs, func(err error) {
		group.err = err
		r.mail.put(message{committed: group})
	})
}

// committed publishes what is durable now and sends the effects whose intents
// it held.
func (r *run) committed(group *commit) {
	r.uncommitted--
	if group.err != nil {
		r.fail(fmt.Errorf("store journal of run %s: %w", r.row.ID, group.err))
		return
	}
	for i := range group.logs {
		r.feed.send(Update{Kind: UpdateLog, RunID: r.row.ID, Log: &group.logs[i]})
	}
	for _, applied := range group.batches {
		r.publish(applied)
		r.slotGiven(applied.row)
		if !r.stopping {
			r.dispatch(applied.effects)
		}
	}
	r.serveInspectors()
}

// storeLogs queues the log lines of a record that was stored by CreateRun.
func (r *run) storeLogs(applied *batch) {
	r.logs = append(r.logs, applied.logs...)
	applied.logs = nil
	r.store()
}

// serveInspectors answers those who want to see durable state only.
func (r *run) serveInspectors() {
	if len(r.unstored) > 0 || r.uncommitted > 0 {
		return
	}
	waiting := r.inspectors
	r.inspectors = nil
	for _, inspect := range waiting {
		inspect(r)
	}
}

func (r *run) fail(err error) {
	if r.failed == nil {
		r.failed = err
		r.driver.options.Log.Error("run stopped", "run", r.row.ID, "error", err)
	}
}

// updateRow derives the run's row from the Machine.
func (r *run) updateRow(at time.Time) {
	if r.keepsRow() {
		return
	}
	status, paused := r.Machine.Status()
	r.row.Status, r.row.Paused = status, paused
	r.row.Attempt = r.Machine.Attempt()
	r.row.Error = r.Machine.Error()
	r.row.Closed = r.Machine.Done()
	r.row.Asks = r.Machine.Asks()
	r.updateSlot()
	if !status.Ended() {
		r.row.FinishedAt = nil
		return
	}
	if r.row.FinishedAt == nil {
		finished := at
		r.row.FinishedAt = &finished
	}
	r.row.DurationMS = r.row.FinishedAt.Sub(r.row.StartedAt).Milliseconds()
}

func sameRow(a, b runs.Run) bool {
	return a.Status == b.Status && a.Paused == b.Paused && a.Attempt == b.Attempt && a.Closed == b.Closed && a.Asks == b.Asks &&
		sameSlot(a.Slot, b.Slot) && a.StartedAt.Equal(b.StartedAt)
}
