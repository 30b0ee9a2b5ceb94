package ports

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Surroundings are what the ports take from around them.
type Surroundings struct {
	Now      func() time.Time
	Log      *slog.Logger
	Observer *runs.Observer // nil = nobody listens
	// OnCommit is called around each transaction, with "before" and "after"; nil = none.
	OnCommit func(stage string)
}

// observedCaller tells the observer of each call and of its answer. Without an
// observer it only passes on.
type observedCaller struct {
	dispatch.Caller
	observer *runs.Observer
}

// NewObservedCaller returns a caller that tells an observer, nil = none.
func NewObservedCaller(caller dispatch.Caller, observer *runs.Observer) observedCaller {
	return observedCaller{Caller: caller, observer: observer}
}

// Call makes one attempt. The observer may give it its trace context.
func (c observedCaller) Call(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer {
	if c.observer == nil {
		return c.Caller.Call(ctx, request, sink)
	}
	return c.tell(ctx, request, sink)
}

// tell is Call with an observer. It is apart so that only then the request needs
// room of its own.
func (c observedCaller) tell(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer {
	ended := c.observer.CallSent(&request)
	answer := c.Caller.Call(ctx, request, sink)
	ended(answer)
	return answer
}

// observedWait measures how long a call waits for one of its limiters: from the
// first word that it must wait, which goes on to onWait, until ended is called.
// Without an observer nothing is measured.
func observedWait(around Surroundings, plugin, limiter string, onWait func(time.Time)) (begins func(time.Time), ended func()) {
	if around.Observer == nil {
		return onWait, func() {}
	}
	var began time.Time
	begins = func(until time.Time) {
		if began.IsZero() && !until.IsZero() {
			began = around.Now()
		}
		onWait(until)
	}
	return begins, func() {
		if !began.IsZero() {
			around.Observer.Waited(plugin, limiter, around.Now().Sub(began))
		}
	}
}

// CommitStages is what the store calls around each transaction: the config's own
// hook, and the observer, which hears how long it took. nil when nobody listens.
func CommitStages(around Surroundings) func(store.CommitStage) {
	if around.OnCommit == nil && around.Observer == nil {
		return nil
	}
	var began time.Time // the store has one committer
	return func(stage store.CommitStage) {
		switch {
		case around.Observer == nil:
		case stage == store.BeforeCommit:
			began = around.Now()
		default:
			around.Observer.Committed(around.Now().Sub(began))
		}
		if around.OnCommit != nil {
			around.OnCommit(string(stage))
		}
	}
}
