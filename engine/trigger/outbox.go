package trigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// The outbox holds what became of runs, written in the transaction of the row
// that says so. A server hands it on: to the triggers, and to each target of
// flowrun.yaml. Each of them reads it in order at its own pace and keeps its place
// in the store; an entry goes when all are past it. What is handed on may be
// handed on again after a crash, so that each reader knows what it has done.

// The times of the outbox.
const (
	outboxLate  = time.Hour       // what waited longer when the server begins comes too late
	outboxRetry = time.Second     // until what could not be handed on is tried again; twice as long each time
	outboxMost  = time.Minute     // the longest of these
	outboxNote  = 2 * time.Second // a place that is not urgent is stored so late
	outboxPage  = 100             // entries read at a time
)

// outboxTriggers is the reader that counts failures and fires `after` triggers.
const outboxTriggers = "outbox.triggers"

// outboxDeliveries is the reader that notes what is to be delivered.
const outboxDeliveries = "outbox.deliveries"

// outboxReader is one reader of the outbox. Its fields belong to its goroutine.
type outboxReader struct {
	triggers *Triggers
	name     string // its place is stored under it
	wake     <-chan struct{}
	after    func(time.Duration) <-chan time.Time
	others   *outboxPlaces

	// take hands one entry on. skip is why it comes too late, "" = it does not. An
	// error means that the same entry is tried again.
	take func(ctx context.Context, entry runs.OutboxEntry, skip string) error

	position uint64 // of the last entry that was taken
	stored   uint64 // the place as the store knows it
	begin    uint64 // entries up to it were there when the server began
}

// outboxPlaces knows how far each reader is: what all have taken is dropped. Safe
// for concurrent use.
type outboxPlaces struct {
	mu     sync.Mutex
	places map[string]uint64
}

func (p *outboxPlaces) set(name string, place uint64) (least uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places[name] = place
	least = place
	for _, other := range p.places {
		least = min(least, other)
	}
	return least
}

// outboxReaders makes the readers of this project, each at its place.
func (tr *Triggers) outboxReaders() ([]*outboxReader, error) {
	newest, err := tr.newestEntry()
	if err != nil {
		return nil, err
	}
	triggers := &outboxReader{name: outboxTriggers, take: tr.handToTriggers}
	readers := []*outboxReader{triggers}
	if tr.deliver != nil {
		readers = append(readers, &outboxReader{name: outboxDeliveries, take: tr.deliver})
	}
	for i := range tr.project.Declared().Notify {
		if target := &tr.project.Declared().Notify[i]; len(target.On) > 0 {
			n := &notices{triggers: tr, target: target, after: time.After}
			readers = append(readers, &outboxReader{name: outboxNotices + target.Name, take: n.take})
		}
	}
	others := &outboxPlaces{places: map[string]uint64{}}
	for _, r := range readers {
		r.triggers, r.after, r.others, r.begin, r.wake = tr, time.After, others, newest, tr.wakes()
		if r.position, err = tr.outboxPlace(r.name); err != nil {
			return nil, err
		}
		r.stored = r.position
		others.set(r.name, r.position)
	}
	return readers, nil
}

// newestEntry returns the sequence number of the newest entry; 0 when there is
// none.
func (tr *Triggers) newestEntry() (newest uint64, err error) {
	for {
		entries, err := tr.store.Outbox(newest, outboxPage)
		if err != nil || len(entries) == 0 {
			return newest, err
		}
		newest = entries[len(entries)-1].Seq
	}
}

func (tr *Triggers) outboxPlace(name string) (uint64, error) {
	value, _, ok, err := tr.store.KV().Get(store.EngineBucket, name)
	if err != nil || !ok {
		return 0, err
	}
	place, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the place of %s: %w", name, err)
	}
	return place, nil
}

// run hands entries on until ctx ends.
func (r *outboxReader) run(ctx context.Context) {
	defer r.note()
	for ctx.Err() == nil {
		entries, err := r.triggers.store.Outbox(r.position, outboxPage)
		if err != nil {
			r.warn("outbox not read", err)
			if !r.pause(ctx, outboxMost) {
				return
			}
			continue
		}
		for _, entry := range entries {
			if !r.handOn(ctx, entry) {
				return
			}
		}
		if len(entries) == outboxPage {
			r.note()
			continue
		}
		r.await(ctx)
	}
}

// handOn hands one entry on, however often it takes; false when ctx ends before.
func (r *outboxReader) handOn(ctx context.Context, entry runs.OutboxEntry) bool {
	for wait := outboxRetry; ; wait = min(2*wait, outboxMost) {
		err := r.take(ctx, entry, r.skip(entry))
		if err == nil {
			r.position = entry.Seq
			return true
		}
		if ctx.Err() == nil {
			r.warn("end of a run not handed on", err, "run", entry.Run.ID)
		}
		if !r.pause(ctx, wait) {
			return false
		}
	}
}

// skip says why an entry comes too late: it waited for a server for long, or it
// was written before the store was put back from a backup, and may have been
// handed on then.
func (r *outboxReader) skip(entry runs.OutboxEntry) string {
	if entry.Seq > r.begin {
		return ""
	}
	if epoch, err := r.triggers.store.Epoch(); err == nil && entry.Epoch != epoch {
		return runs.SkipRestored
	}
	if r.triggers.config.Now().Sub(entry.At) > outboxLate {
		return runs.SkipLate
	}
	return ""
}

// await waits for the next entry. A place that is not stored is stored meanwhile.
func (r *outboxReader) await(ctx context.Context) {
	var late <-chan time.Time
	if r.position != r.stored {
		late = r.after(outboxNote)
	}
	select {
	case <-r.wake:
	case <-late:
		r.note()
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}

func (r *outboxReader) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-r.after(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// note stores the reader's place and drops what all readers are past.
func (r *outboxReader) note() {
	if r.position == r.stored {
		return
	}
	s := r.triggers.store
	if _, err := s.KV().Put(store.EngineBucket, r.name, strconv.AppendUint(nil, r.position, 10), nil); err != nil {
		r.warn("place in the outbox not stored", err)
		return
	}
	r.stored = r.position
	if err := s.DropOutbox(r.others.set(r.name, r.position)); err != nil {
		r.warn("outbox not emptied", err)
	}
}

func (r *outboxReader) warn(text string, err error, args ...any) {
	if !errors.Is(err, store.ErrClosed) && !errors.Is(err, store.ErrFailed) {
		r.triggers.config.Log.Warn(text, append([]any{"reader", r.name, "error", err}, args...)...)
	}
}

// handToTriggers counts what became of a triggered run, and fires the triggers
// that follow its workflow.
func (tr *Triggers) handToTriggers(ctx context.Context, entry runs.OutboxEntry, skip string) error {
	if entry.Kind != runs.OutboxClosed {
		return nil // no trigger waits for it
	}
	if err := tr.countFailures(entry); err != nil {
		return err
	}
	return tr.fireAfter(ctx, entry, skip)
}

// countFailures keeps the number of a trigger's runs in a row that failed, in the
// order in which they end, and pauses the trigger where it says so
// (docs/language.md, rule 17).
func (tr *Triggers) countFailures(entry runs.OutboxEntry) error {
	run := &entry.Run
	failed := run.Status == runs.RunFailed || run.Status == runs.RunTimedOut
	if run.Fire == nil || run.Fire.Backfill || !failed && run.Status != runs.RunSucceeded {
		return nil
	}
	most := 0
	if failed {
		var err error
		if most, err = tr.failuresAllowed(run); err != nil {
			return err
		}
	}
	paused := false
	_, err := tr.store.EditTriggerState(run.Fire.Workflow, run.Fire.Trigger, func(state *runs.TriggerState) {
		paused = false
		switch {
		case entry.Seq <= state.Counted:
		case failed:
			state.Failures, state.Counted = state.Failures+1, entry.Seq
			if paused = most > 0 && state.Failures >= most && !state.Paused; paused {
				state.Paused, state.PausedAt, state.PausedBy = true, entry.At, ""
				state.Reason = failuresText(state.Failures)
			}
		case state.Failures > 0:
			state.Failures, state.Counted = 0, entry.Seq
		}
	})
	if err != nil {
		return tr.fault(err)
	}
	if paused {
		tr.config.Log.Warn("trigger paused after failures", "trigger", runs.TriggerID(run.Fire.Workflow, run.Fire.Trigger), "run", run.ID)
	}
	return nil
}

func failuresText(n int) string {
	if n == 1 {
		return "its run failed"
	}
	return fmt.Sprintf("%d failures in a row", n)
}

// failuresAllowed returns after how many failures in a row the trigger of a run
// pauses; 0 = never. The run's own definition says so. A webhook or an `after` is
// never paused: nobody would hear of what comes meanwhile.
func (tr *Triggers) failuresAllowed(run *runs.Run) (int, error) {
	encoded, err := tr.store.Plan(run.PlanHash)
	if errors.Is(err, store.ErrPlanNotFound) {
		return 0, nil // the run is removed
	}
	if err != nil {
		return 0, tr.fault(err)
	}
	workflow, err := plan.Decode(encoded)
	if err != nil {
		return 0, fmt.Errorf("read plan of run %s: %w", run.ID, err)
	}
	for i := range workflow.Triggers {
		t := &workflow.Triggers[i]
		if t.Name == run.Fire.Trigger && slices.Contains([]plan.TriggerKind{plan.TriggerCron, plan.TriggerEvery, plan.TriggerPoll}, t.Kind) {
			return t.PauseAfterFailures, nil
		}
	}
	return 0, nil
}
