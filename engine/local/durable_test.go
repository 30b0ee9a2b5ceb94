package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestP6TheCrashIsCountedBeforeTheCallIsSentAgain: what the call sees is a journal
// that names it.
func TestP6TheCrashIsCountedBeforeTheCallIsSentAgain(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(workflow("a read", "b read"))
	<-reached
	b.reopen()
	b.service.script["a"] = func(_ context.Context, r runs.Request) runs.Answer {
		records, err := b.store.Records(r.RunID, 1, 0)
		if last := records[len(records)-1].Event; err != nil || !slices.Equal(last.Interrupted, []string{"a"}) {
			t.Errorf("the last record when the call is sent again: %+v (%v)", last, err)
		}
		return done()
	}
	// After a crash the intents of reads are durable too, for a while.
	b.service.script["b"] = func(_ context.Context, r runs.Request) runs.Answer {
		records, err := b.store.Records(r.RunID, 1, 0)
		if last := records[len(records)-1]; err != nil || len(last.Commands) != 1 || last.Commands[0].Path != "b" {
			t.Errorf("the last record when b is sent: %+v (%v)", last, err)
		}
		return done()
	}
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	if result := b.wait(id); result.Run.Status != runs.RunSucceeded {
		t.Errorf("the run is %+v", result.Run)
	}
}

// TestP17AOnceCallThatWasNeverSentIsSent: a graceful stop leaves no doubt about it.
func TestP17AOnceCallThatWasNeverSentIsSent(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	id := b.start(workflow("a once", "b once"))
	<-g.reached
	time.AfterFunc(20*time.Millisecond, func() { close(g.open) })
	b.drain(10 * time.Second)
	b.reopen()
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded || b.service.count("a") != 1 || b.service.count("b") != 1 {
		t.Errorf("the run is %s (%v), calls: %d of a, %d of b", result.Run.Status, result.Error, b.service.count("a"), b.service.count("b"))
	}
}

// TestP6ALateReplyOfAnOldEpochIsDropped: a call that outlives the wait for it
// answers when the run is further.
func TestP6ALateReplyOfAnOldEpochIsDropped(t *testing.T) {
	b := newBench(t)
	release, answered := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		if calls.Add(1) > 1 {
			close(release) // the old one answers while the new one is in flight
			<-answered
			time.Sleep(20 * time.Millisecond)
			return done()
		}
		<-release
		defer close(answered)
		return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{"ok":false}`)}}
	}
	w := workflow("a read")
	w.Steps[0].Within, w.Steps[0].OnErrorAll = time.Second, plan.ReactPause
	id := b.start(w)
	b.until(id, runs.RunPaused)
	if err := b.driver.AwaitEnd(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if err := b.driver.LoadDurably(context.Background(), id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded || string(result.Steps["a"].Outputs) != `{"ok":true}` {
		t.Errorf("the run is %s with %s", result.Run.Status, result.Steps["a"].Outputs)
	}
}

// asker answers questions about lost calls.
type asker struct {
	*service
	asked  atomic.Int32
	answer func(n int32, r runs.Request) (runs.Outcome, error)
}

func (a *asker) Reconcile(_ context.Context, r runs.Request) (runs.Outcome, error) {
	return a.answer(a.asked.Add(1), r)
}

func (b *bench) reopenWith(a *asker) {
	b.t.Helper()
	b.close()
	b.open()
	b.driver = local.New(local.Options{
		Journal: b.store, Caller: b.service, Reconciler: a, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler), Memory: b.store,
	})
}

// TestRule11AQuestionThatFailsIsAskedOnceMore: then it counts as unknown. It has
// the key of the call that it is about.
func TestRule11AQuestionThatFailsIsAskedOnceMore(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(n int32, r runs.Request) (runs.Outcome, error)
		want   runs.Status
	}{
		"it fails twice": {func(int32, runs.Request) (runs.Outcome, error) { return runs.Outcome{}, errors.New("not now") }, runs.RunPaused},
		"it fails once": {func(n int32, r runs.Request) (runs.Outcome, error) {
			if n == 1 {
				return runs.Outcome{}, errors.New("not now")
			}
			if r.Operation != "a" || r.IdempotencyKey != runs.IdempotencyKey(r.RunID, "a") {
				return runs.Outcome{}, errors.New("another call")
			}
			return runs.Outcome{Applied: runs.AppliedFully, Output: json.RawMessage(`{"ok":true}`)}, nil
		}, runs.RunSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a := &asker{service: b.service, answer: test.answer}
			b.reopenWith(a)
			b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
				return runs.Answer{Failed: &runs.Error{Kind: plan.KindTimeout, Message: "lost"}}
			}
			w := workflow("a once")
			w.Actions["fake.once"].Reconcile = true
			result := b.wait(b.start(w))
			if result.Run.Status != test.want || a.asked.Load() != 2 || b.service.count("a") != 1 {
				t.Errorf("the run is %s (%v) after %d questions and %d calls", result.Run.Status, result.Error, a.asked.Load(), b.service.count("a"))
			}
			if test.want == runs.RunPaused && !strings.Contains(result.Error.Message, "the question failed: not now") {
				t.Errorf("the error is %v", result.Error)
			}
		})
	}
}

// TestRule14AResumeThatWaitedIsCheckedAgain: what the run has read moved while it
// waited for its place.
func TestRule14AResumeThatWaitedIsCheckedAgain(t *testing.T) {
	b := newBench(t)
	w := counting("a read")
	w.Steps[0].Retry = nil
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "not there"}}
	}
	failed := b.start(w)
	if row := b.ended(failed); row.Status != runs.RunFailed {
		t.Fatalf("the run is %+v", row)
	}
	g := newGate()
	b.service.mu.Lock()
	b.service.script["a"] = g.call
	b.service.mu.Unlock()
	holder := b.start(w)
	<-g.reached
	if err := b.driver.Load(failed, &journal.Event{Kind: journal.Resumed, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	b.until(failed, runs.RunQueued)
	close(g.open)
	if row := b.ended(holder); row.Status != runs.RunSucceeded {
		t.Fatalf("the holder is %+v", row)
	}
	row := b.ended(failed)
	logs, _, err := b.store.Logs(failed, "", 0, 0)
	if err != nil || row.Status != runs.RunFailed || row.Attempt != 1 || row.StateOf() != runs.SlotFree || b.total() != "1" {
		t.Errorf("the resumed run is %+v, total %s (%v)", row, b.total(), err)
	}
	if len(logs) != 1 || !strings.Contains(logs[0].Message, "the state `total` was changed") {
		t.Errorf("its log is %+v", logs)
	}
	if err := b.driver.Load(failed, &journal.Event{Kind: journal.Resumed, Discard: true}); err != nil {
		t.Fatal(err)
	}
	if row := b.ended(failed); row.Status != runs.RunSucceeded || b.total() != "1" {
		t.Errorf("without its writes it is %+v, total %s", row, b.total())
	}
}

// TestRule21ARunGoesOnByAnotherPlan, after a restart too.
func TestRule21ARunGoesOnByAnotherPlan(t *testing.T) {
	b := newBench(t)
	b.service.script["b"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "not there"}}
	}
	id := b.start(workflow("a keyed", "b keyed"))
	if row := b.ended(id); row.Status != runs.RunFailed {
		t.Fatalf("the run is %+v", row)
	}
	then := workflow("a keyed", "b read", "c once")
	encoded, err := then.Encode()
	if err != nil {
		t.Fatal(err)
	}
	err = b.driver.Replan(context.Background(), id, func(m *interp.Machine) (*journal.Replan, string, error) {
		return &journal.Replan{PlanHash: plan.HashOf(encoded), Plan: encoded, Inputs: json.RawMessage(`{}`)}, "ann", m.CheckReplan(then)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.reopen()
	delete(b.service.script, "b")
	if err := b.driver.Load(id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded || result.Run.LatestPlan != plan.HashOf(encoded) {
		t.Errorf("the run is %+v (%v)", result.Run, result.Error)
	}
	for call, want := range map[string]int{"a": 1, "b": 1, "b#plan2": 1, "c": 1} {
		if got := b.service.count(call); got != want {
			t.Errorf("%s was sent %d times, want %d", call, got, want)
		}
	}
	b.reopen()
	if snapshot, err := b.driver.Snapshot(context.Background(), id); err != nil || snapshot.Run.Status != runs.RunSucceeded {
		t.Errorf("replayed it is %+v (%v)", snapshot, err)
	}
}

// TestP8AParkedMismatchGoesOnWithTheRightVersion: the journal itself is whole, so
// that the version which reads it goes on where it ends.
func TestP8AParkedMismatchGoesOnWithTheRightVersion(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["b"] = g.call
	id := b.start(workflow("a keyed", "b keyed"))
	<-g.reached
	b.reopen()
	row := *b.row(id)
	row.Status, row.Paused = runs.RunPaused, runs.PausedReplayMismatch
	stored := make(chan error, 1)
	b.store.Append(id, nil, &row, nil, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	close(g.open)
	if err := b.driver.LoadDurably(context.Background(), id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded || result.Run.Paused != "" || b.service.count("a") != 1 || b.service.count("b") != 2 {
		t.Errorf("the run is %+v, calls: %d of a, %d of b", result.Run, b.service.count("a"), b.service.count("b"))
	}
}
