package engine

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// observedCaller tells the observer of each call and of its answer. Without an
// observer it only passes on.
type observedCaller struct {
	dispatch.Caller
	observer *plan.Observer
}

// Call makes one attempt. The observer may give it its trace context.
func (c observedCaller) Call(ctx context.Context, request plan.Request, sink plan.Sink) plan.Answer {
	if c.observer == nil {
		return c.Caller.Call(ctx, request, sink)
	}
	return c.tell(ctx, request, sink)
}

// tell is Call with an observer. It is apart so that only then the request needs
// room of its own.
func (c observedCaller) tell(ctx context.Context, request plan.Request, sink plan.Sink) plan.Answer {
	ended := c.observer.CallSent(&request)
	answer := c.Caller.Call(ctx, request, sink)
	ended(answer)
	return answer
}

// observedWait measures how long a call waits for one of its limiters: from the
// first word that it must wait, which goes on to onWait, until ended is called.
// Without an observer nothing is measured.
func observedWait(config workspace.Config, plugin, limiter string, onWait func(time.Time)) (begins func(time.Time), ended func()) {
	if config.Observer == nil {
		return onWait, func() {}
	}
	var began time.Time
	begins = func(until time.Time) {
		if began.IsZero() && !until.IsZero() {
			began = config.Now()
		}
		onWait(until)
	}
	return begins, func() {
		if !began.IsZero() {
			config.Observer.Waited(plugin, limiter, config.Now().Sub(began))
		}
	}
}

// commitStages is what the store calls around each transaction: the config's own
// hook, and the observer, which hears how long it took. nil when nobody listens.
func commitStages(config workspace.Config) func(store.CommitStage) {
	if config.OnCommit == nil && config.Observer == nil {
		return nil
	}
	var began time.Time // the store has one committer
	return func(stage store.CommitStage) {
		switch {
		case config.Observer == nil:
		case stage == store.BeforeCommit:
			began = config.Now()
		default:
			config.Observer.Committed(config.Now().Sub(began))
		}
		if config.OnCommit != nil {
			config.OnCommit(string(stage))
		}
	}
}
