package dispatch

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// passGate waits for the gate, where there is one, and shows the wait.
func (a *attempt) passGate(ctx context.Context) error {
	gate := a.dispatcher.options.Gate
	if gate == nil {
		return nil
	}
	err := gate.Enter(ctx, a.wait)
	a.goOn()
	return err
}

// acquire waits for the limiter, and shows the wait.
func (a *attempt) acquire(ctx context.Context) (done func(runs.Answer), err error) {
	done, err = a.dispatcher.options.Limiter.Acquire(ctx, a.Action, a.Request.Connection, func(until time.Time) { a.wait(string(runs.WaitRateLimit), until) })
	a.goOn()
	return done, err
}

// wait begins a wait, or says anew until when it lasts. A call that nothing holds up
// costs nothing.
func (a *attempt) wait(reason string, until time.Time) {
	if until.IsZero() {
		return
	}
	if a.since.IsZero() {
		a.since, a.why = a.dispatcher.options.Now(), reason
	}
	a.Listener.Wait(reason, a.since, until)
}

// goOn ends the wait at hand, where there is one, and notes it for the record of the
// answer.
func (a *attempt) goOn() {
	if a.since.IsZero() {
		return
	}
	a.waits = append(a.waits, runs.Hold{For: runs.WaitKind(a.why), From: a.since, Until: a.dispatcher.options.Now()})
	a.since = time.Time{}
	a.Listener.Wait("", time.Time{}, time.Time{})
}
