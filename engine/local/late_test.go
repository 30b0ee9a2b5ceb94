package local_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// heldJournal is a store whose answer to the record of a pause comes late: the
// worker is still there when the run is resumed.
type heldJournal struct {
	*boltstore.Store
	paused  chan struct{} // closed when the record is stored
	release chan struct{}
}

func (h *heldJournal) Append(runID string, records []*journal.Record, run *runs.Run, logs []runs.Log, done func(error)) {
	if run == nil || run.Status != runs.RunPaused {
		h.Store.Append(runID, records, run, logs, done)
		return
	}
	h.Store.Append(runID, records, run, logs, func(err error) {
		close(h.paused)
		go func() {
			<-h.release
			done(err)
		}()
	})
}

// TestIssue13_08ALateAnswerOfAnOlderAttemptIsDropped: it comes to the worker that
// waits for the answer to the same operation, sent anew.
func TestIssue13_08ALateAnswerOfAnOlderAttemptIsDropped(t *testing.T) {
	b := newBench(t)
	held := &heldJournal{Store: b.store, paused: make(chan struct{}), release: make(chan struct{})}
	if err := b.driver.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.driver = local.New(local.Options{Journal: held, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	first, second := make(chan struct{}), make(chan struct{})
	sent := make(chan int32, 2)
	var calls atomic.Int32
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer { // deaf to its cancel
		n := calls.Add(1)
		sent <- n
		if n == 1 {
			<-first
			return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{"ok":false}`)}}
		}
		<-second
		return done()
	}
	w := workflow("a read")
	w.Steps[0].Within, w.Steps[0].OnErrorAll = 300*time.Millisecond, plan.ReactPause
	id := b.start(w)
	<-sent
	<-held.paused
	if err := b.driver.Send(id, journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	<-sent // the operation is in flight a second time
	close(first)
	seen := make(chan struct{})
	go func() { // the mailbox keeps its order: what is asked after the late answer is answered after it
		time.Sleep(20 * time.Millisecond)
		close(second)
		close(seen)
	}()
	<-seen
	close(held.release)
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded || string(result.Steps["a"].Outputs) != `{"ok":true}` {
		t.Errorf("the run is %s with %s: %+v", result.Run.Status, result.Steps["a"].Outputs, result.Error)
	}
}
