package local_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// closedGate holds every call back until it is opened.
type closedGate struct {
	open    chan struct{}
	waiting atomic.Int64
}

func (g *closedGate) Enter(ctx context.Context, onWait func(reason string, until time.Time)) error {
	onWait("disk almost full", time.Now().Add(time.Hour))
	g.waiting.Add(1)
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withGate replaces the bench's driver by one with a gate.
func (b *bench) withGate(gate dispatch.Gate) {
	b.t.Helper()
	if err := b.driver.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	b.driver = local.New(local.Options{
		Journal: b.store, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Memory: b.store, Identifier: byInput{}, Gate: gate,
	})
}

// TestP12_CallsWaitAtTheGateAndGoOnByThemselves: the step says why it waits, no
// call is sent meanwhile, and a graceful stop knows that it was not.
func TestP12_CallsWaitAtTheGateAndGoOnByThemselves(t *testing.T) {
	b := newBench(t)
	gate := &closedGate{open: make(chan struct{})}
	b.withGate(gate)
	id := b.start(workflow("a once"))
	stopped := b.start(workflow("b once"))
	for gate.waiting.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	result, err := b.driver.Snapshot(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if step := result.Steps["a"]; step.Status != runs.StepWaiting || step.Wait != "disk almost full" || step.Until == nil {
		t.Errorf("step a is %s, %q", step.Status, step.Wait)
	}
	if got := b.service.count("a"); got != 0 {
		t.Errorf("a was sent %d times while the gate was closed", got)
	}
	close(gate.open)
	for _, run := range []string{id, stopped} {
		if err := b.driver.AwaitEnd(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if row, err := b.store.Run(run); err != nil || row.Status != runs.RunSucceeded {
			t.Errorf("run %s: %+v %v", run, row, err)
		}
	}
	if got := b.service.count("a"); got != 1 {
		t.Errorf("a was sent %d times, want once", got)
	}
}

func TestP12_AGracefulStopLeavesWhatWaitsAtTheGateUnsent(t *testing.T) {
	b := newBench(t)
	gate := &closedGate{open: make(chan struct{})}
	b.withGate(gate)
	id := b.start(workflow("a once"))
	for gate.waiting.Load() < 1 {
		time.Sleep(time.Millisecond)
	}
	b.drain(0)
	if event := b.stoppedEvent(id); event == nil || len(event.Unsent) != 1 || event.Unsent[0] != "a" {
		t.Errorf("the journal ends with %+v, want a stop that never sent a", event)
	}
}
