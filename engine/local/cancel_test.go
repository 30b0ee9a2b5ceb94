package local_test

import (
	"context"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestCancelOfAnInterruptedRunSendsNothing: the process died with an effect in
// flight. Canceling the run then must not send it once more.
func TestCancelOfAnInterruptedRunSendsNothing(t *testing.T) {
	for _, effect := range []string{"read", "keyed", "once"} {
		t.Run(effect, func(t *testing.T) {
			b := newBench(t)
			reached := make(chan struct{})
			b.service.script["b"] = func(ctx context.Context, r runs.Request) runs.Answer {
				close(reached)
				return hang(ctx, r)
			}
			id := b.start(workflow("a keyed", "b "+effect, "c read"))
			<-reached
			b.reopen()
			delete(b.service.script, "b")
			if err := b.driver.Load(id, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
				t.Fatal(err)
			}
			result := b.wait(id)
			if result.Run.Status != runs.RunCanceled {
				t.Errorf("run is %s: %v", result.Run.Status, result.Error)
			}
			if got := b.service.count("b"); got != 1 || b.service.count("c") != 0 {
				t.Errorf("b was called %d times, c %d times", got, b.service.count("c"))
			}
			b.reopen()
			if again, err := b.driver.Snapshot(context.Background(), id); err != nil || again.Run.Status != runs.RunCanceled {
				t.Errorf("after a replay: %+v, %v", again, err)
			}
		})
	}
}

// TestACancelIsNotLostWhileTheRunPauses sends a cancel at the moment in which
// the worker ends, many times.
func TestACancelIsNotLostWhileTheRunPauses(t *testing.T) {
	b := newBench(t)
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindAuthRequired, Message: "log in"}}
	}
	for range 100 {
		id := b.start(workflow("a read"))
		if err := b.driver.Load(id, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
			t.Fatal(err)
		}
		result := b.wait(id)
		if err := b.driver.AwaitEnd(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		if result.Run.Status == runs.RunPaused {
			result = b.wait(id) // the cancel was given to the next worker
		}
		if result.Run.Status != runs.RunCanceled {
			t.Fatalf("run is %s (%s)", result.Run.Status, result.Run.Paused)
		}
	}
}
