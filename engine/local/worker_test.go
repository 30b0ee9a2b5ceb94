package local_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// A step of a sequence is a matter of one goroutine: who made a call drives the run with its
// answer, and makes the next one. Only where words for the run wait meanwhile is a call
// made by another.
func TestTheWorkerMakesTheCallItself(t *testing.T) {
	b := newBench(t)
	const steps = 100
	var names []string
	beside := 0
	for i := range steps {
		names = append(names, fmt.Sprintf("s%d read", i))
		b.service.script[fmt.Sprintf("s%d", i)] = func(context.Context, runs.Request) runs.Answer {
			if !strings.HasSuffix(madeBy(), ".(*run).work") {
				beside++
			}
			return done()
		}
	}
	if result := b.wait(b.start(workflow(names...))); result.Run.Status != runs.RunSucceeded {
		t.Fatalf("the run ended as %s", result.Run.Status)
	}
	if beside > steps/5 {
		t.Errorf("%d of %d calls were made by another goroutine than the run's worker", beside, steps)
	}
}

// A run that waits has no goroutine, and is driven again by what comes.
func TestARunThatWaitsHasNoGoroutine(t *testing.T) {
	b := newBench(t)
	const many = 60
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Applied: runs.NotApplied}}
	}
	w := workflow("a read")
	w.Steps[0].Retry.Delay, w.Steps[0].Retry.MaxDelay = time.Hour, time.Hour
	before := runtime.NumGoroutine()
	var ids []string
	for range many {
		ids = append(ids, b.start(w))
	}
	for _, id := range ids { // what is shown is durable, so the run has done what it had to do
		if _, err := b.driver.Snapshot(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+many*2/3; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d goroutines for %d runs that wait, at most %d are kept for later", runtime.NumGoroutine()-before, many, many*2/3)
		}
	}
	for _, id := range ids {
		if err := b.driver.Send(id, journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
			t.Fatal(err)
		}
		if result := b.wait(id); result.Run.Status != runs.RunCanceled {
			t.Errorf("run %s ended as %s", id, result.Run.Status)
		}
	}
}

// madeBy is the function that has the call made that this goroutine is in.
func madeBy() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for made := false; ; {
		frame, more := frames.Next()
		if made || !more {
			return frame.Function
		}
		made = strings.HasSuffix(frame.Function, ".(*run).make")
	}
}
