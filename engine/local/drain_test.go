package local_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// drain stops the driver gracefully and opens the next one.
func (b *bench) drain(limit time.Duration) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := b.driver.Drain(ctx); err != nil {
		b.t.Error(err)
	}
}

// stoppedEvent returns the last record's event when it is that of a stop.
func (b *bench) stoppedEvent(id string) *journal.Event {
	b.t.Helper()
	records, err := b.store.Records(id, 1, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	if last := records[len(records)-1].Event; last.Kind == journal.Stopped {
		return &last
	}
	return nil
}

// TestP17ADrainWaitsForCallsInFlight: what they bring is stored, and what would
// follow is left for the next process.
func TestP17ADrainWaitsForCallsInFlight(t *testing.T) {
	b := newBench(t)
	reached, release := make(chan struct{}), make(chan struct{})
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		close(reached)
		<-release
		return done()
	}
	id := b.start(workflow("a once", "b once"))
	<-reached
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	b.drain(10 * time.Second)
	if got := b.service.count("b"); got != 0 {
		t.Errorf("b was sent %d times during the drain", got)
	}
	stopped := b.stoppedEvent(id)
	if stopped == nil || !slices.Equal(stopped.Unsent, []string{"b"}) {
		t.Fatalf("the journal ends with %+v, want a stop that never sent b", stopped)
	}
	if err := b.driver.Load(id, nil); !errors.Is(err, local.ErrClosed) {
		t.Errorf("load during the drain: %v, want ErrClosed", err)
	}
}

// TestP17ADrainCancelsWhatDoesNotEnd: a call that was sent is not among those
// that never were.
func TestP17ADrainCancelsWhatDoesNotEnd(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(workflow("a once"))
	<-reached
	began := time.Now()
	b.drain(50 * time.Millisecond)
	if took := time.Since(began); took > time.Minute { // without the drain it would never end
		t.Errorf("the drain took %s", took)
	}
	if stopped := b.stoppedEvent(id); stopped == nil || len(stopped.Unsent) != 0 {
		t.Errorf("the journal ends with %+v, want a stop with nothing unsent", stopped)
	}
}

// TestP17ARunBetweenCallsStopsWithoutAWord: nothing is open, so nothing is said.
func TestP17ARunBetweenCallsStopsWithoutAWord(t *testing.T) {
	b := newBench(t)
	id := b.start(workflow("a read"))
	b.wait(id)
	b.drain(time.Second)
	if stopped := b.stoppedEvent(id); stopped != nil {
		t.Errorf("the journal ends with %+v", stopped)
	}
}
