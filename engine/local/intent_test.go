package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// slowJournal is a store that takes the first record with a call of a step only
// when it is told to.
type slowJournal struct {
	*boltstore.Store
	step    string
	arrived chan struct{} // closed when that record comes
	store   chan struct{} // close it to let the record be stored
	seen    atomic.Bool
}

func (s *slowJournal) Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error)) {
	calls := slices.ContainsFunc(records, func(r *journal.Record) bool {
		return slices.ContainsFunc(r.Commands, func(c journal.Command) bool { return c.Call != nil && c.Call.Step == s.step })
	})
	if calls && s.seen.CompareAndSwap(false, true) {
		close(s.arrived)
		<-s.store // what is appended after it waits too: the journal keeps its order
	}
	s.Store.Append(runID, records, run, logs, done)
}

// slow puts a slow journal under the driver of a bench.
func (b *bench) slow(step string) *slowJournal {
	b.t.Helper()
	s := &slowJournal{Store: b.store, step: step, arrived: make(chan struct{}), store: make(chan struct{})}
	if err := b.driver.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	b.driver = local.New(local.Options{Journal: s, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	return s
}

// glimpse is how long these tests look for what must not happen. A machine that is
// too slow for it makes them see less, and never fail.
const glimpse = 50 * time.Millisecond

// TestP4NothingIsSentBeforeItsIntentIsStored: while the disk takes its time, an
// effect waits. A read does not.
func TestP4NothingIsSentBeforeItsIntentIsStored(t *testing.T) {
	for _, effect := range []string{"keyed", "once", "idempotent"} {
		b := newBench(t)
		sent := make(chan struct{})
		b.service.script["b"] = func(context.Context, runs.Request) runs.Answer {
			close(sent)
			return done()
		}
		s := b.slow("b")
		id := b.start(workflow("a read", "b "+effect))
		<-s.arrived
		select {
		case <-sent:
			t.Errorf("%s: sent before its intent was stored", effect)
		case <-time.After(glimpse):
		}
		close(s.store)
		if result := b.wait(id); result.Run.Status != runs.RunSucceeded {
			t.Errorf("%s: the run is %+v", effect, result.Run)
		}
	}
}

// TestP4ACancelInTimeSendsNothing: the run is canceled while the intent of an effect
// becomes durable.
func TestP4ACancelInTimeSendsNothing(t *testing.T) {
	for _, effect := range []string{"keyed", "once", "idempotent"} {
		b := newBench(t)
		held := &slowDone{Store: b.store, step: "b", stored: make(chan struct{}), answer: make(chan struct{})}
		if err := b.driver.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		b.driver = local.New(local.Options{Journal: held, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		id := b.start(workflow("a read", "b "+effect))
		<-held.stored
		if err := b.driver.Load(id, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
			t.Fatal(err)
		}
		close(held.answer) // the cancel is in the mailbox before it
		result := b.wait(id)
		if step := result.Steps["b"]; result.Run.Status != runs.RunCanceled || step.Status == runs.StepUnknown || b.service.count("b") != 0 {
			t.Errorf("%s: the run is %s, the step %s, it was sent %d times", effect, result.Run.Status, step.Status, b.service.count("b"))
		}
	}
}

// slowDone is a store that says late that it has stored the first record with a
// call of a step.
type slowDone struct {
	*boltstore.Store
	step           string
	stored, answer chan struct{}
	seen           atomic.Bool
}

func (s *slowDone) Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error)) {
	calls := slices.ContainsFunc(records, func(r *journal.Record) bool {
		return slices.ContainsFunc(r.Commands, func(c journal.Command) bool { return c.Call != nil && c.Call.Step == s.step })
	})
	if !calls || !s.seen.CompareAndSwap(false, true) {
		s.Store.Append(runID, records, run, logs, done)
		return
	}
	s.Store.Append(runID, records, run, logs, func(err error) {
		go func() {
			<-s.answer
			done(err)
		}()
		close(s.stored)
	})
}

// TestS9WhatIsSeenIsStored: who looks at a run sees no step that a crash could take
// back.
func TestS9WhatIsSeenIsStored(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["b"] = g.call
	s := &slowDone{Store: b.store, step: "b", stored: make(chan struct{}), answer: make(chan struct{})}
	if err := b.driver.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.driver = local.New(local.Options{Journal: s, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	id := b.start(workflow("a once", "b read"))
	<-g.reached // a read is sent at once
	<-s.stored
	seen := make(chan *runs.Result, 1)
	go func() {
		result, err := b.driver.Snapshot(context.Background(), id)
		if err != nil {
			t.Error(err)
		}
		seen <- result
	}()
	select {
	case <-seen:
		t.Error("the run is shown before its journal has said that it is stored")
		close(s.answer)
	case <-time.After(glimpse):
		close(s.answer)
		if result := <-seen; result.Steps["a"].Status != runs.StepSucceeded {
			t.Errorf("step a is shown as %s", result.Steps["a"].Status)
		}
	}
	close(g.open)
	b.wait(id)
}

// TestP3ACallWithoutAnAnswerMayHaveTakenEffect: a caller that comes back with
// nothing is no success, and no reason to send a `once` call again.
func TestP3ACallWithoutAnAnswerMayHaveTakenEffect(t *testing.T) {
	b := newBench(t)
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer { return runs.Answer{} }
	result := b.wait(b.start(workflow("a once")))
	if result.Run.Status != runs.RunPaused || result.Run.Paused != runs.PausedUnknownOutcome || result.Steps["a"].Status != runs.StepUnknown || b.service.count("a") != 1 {
		t.Errorf("the run is %s (%s), the step %s, sent %d times", result.Run.Status, result.Run.Paused, result.Steps["a"].Status, b.service.count("a"))
	}
}

// TestACancelEndsTheCallsItself: not when the time of grace is over, which never
// comes here: the clock stands.
func TestACancelEndsTheCallsItself(t *testing.T) {
	b := newBench(t)
	b.close()
	now := time.Now()
	b.openWith(func() time.Time { return now })
	reached, over := make(chan struct{}), make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		answer := hang(ctx, r)
		close(over)
		return answer
	}
	id := b.start(workflow("a read"))
	<-reached
	if err := b.driver.Load(id, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on")
	}
	if result := b.wait(id); result.Run.Status != runs.RunCanceled {
		t.Errorf("the run is %s", result.Run.Status)
	}
}

// TestEachPageHasItsOwnPlaceInTheCache: the answers of one reading are told apart by
// their cursors.
func TestEachPageHasItsOwnPlaceInTheCache(t *testing.T) {
	b := &bench{t: t, path: t.TempDir() + "/flowrun.db", service: newService(), cache: &mapCache{answers: map[string]*runs.Completed{}}}
	b.open()
	t.Cleanup(b.close)
	var asked atomic.Int32
	pages := map[string]string{"": "p2", "p2": "p3", "p3": ""}
	b.service.script["a"] = func(_ context.Context, r runs.Request) runs.Answer {
		n := asked.Add(1)
		return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(fmt.Sprintf(`{"items":[%d]}`, n)), NextCursor: pages[r.PageCursor]}}
	}
	w := paged(workflow("a read"))
	w.Steps[0].Cache = time.Hour
	for i := range 2 {
		result := b.wait(b.start(w))
		var out struct{ Items []int }
		if err := json.Unmarshal(result.Steps["a"].Outputs, &out); err != nil || !slices.Equal(out.Items, []int{1, 2, 3}) || asked.Load() != 3 {
			t.Errorf("reading %d: %s after %d questions (%v)", i+1, result.Steps["a"].Outputs, asked.Load(), err)
		}
	}
}
