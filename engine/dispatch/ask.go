package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// A question is asked once more when it fails, after reconcileDelay.
const (
	reconcileTries = 2
	reconcileDelay = time.Second
)

// Reply is how the question about a lost call ended.
type Reply struct {
	Outcome  runs.Outcome
	Waits    []runs.Hold // what held the question up
	Released bool        // the engine ended before it was answered: the next start asks
}

// Ask asks about a lost call, which call.Request names. Whatever goes wrong, the answer
// is one: that it is not known. Only the end of the engine leaves the question to the
// next start.
func (d *Dispatcher) Ask(ctx context.Context, call Call) Reply {
	a := attempt{dispatcher: d, Call: call}
	outcome := a.reconcile(ctx)
	ends := d.draining() || d.engine.Err() != nil
	unknown := outcome.Applied == "" || outcome.Applied == runs.AppliedUnknown
	return Reply{Outcome: outcome, Waits: a.waits, Released: ends && unknown}
}

func (a *attempt) reconcile(ctx context.Context) runs.Outcome {
	if a.dispatcher.options.Reconciler == nil || a.Action == nil {
		return runs.Outcome{Applied: runs.AppliedUnknown, Note: "nobody can ask its plugin"}
	}
	var failed error
	for try := range reconcileTries {
		if try > 0 && !sleep(ctx, reconcileDelay) {
			break
		}
		outcome, err := a.askOnce(ctx)
		if err == nil {
			return outcome
		}
		failed = err
		if ctx.Err() != nil || a.dispatcher.draining() {
			break
		}
	}
	return runs.Outcome{Applied: runs.AppliedUnknown, Note: "the question failed: " + failed.Error()}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// askOnce waits for the limiter, as every call of the service does, and asks.
func (a *attempt) askOnce(ctx context.Context) (runs.Outcome, error) {
	d := a.dispatcher
	waiting, admitted := d.whileOpen(ctx)
	done, err := a.acquire(waiting)
	admitted()
	if err != nil {
		return runs.Outcome{}, fmt.Errorf("wait for the rate limit: %w", err)
	}
	defer done(runs.Answer{})
	if d.draining() {
		return runs.Outcome{}, errors.New("the engine is closing")
	}
	d.inFlight.Add(1)
	defer d.inFlight.Add(-1)
	bounded, cancel := context.WithTimeout(ctx, a.Request.Timeout)
	defer cancel()
	return d.options.Reconciler.Reconcile(bounded, a.Request)
}
