package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// Reconciler asks a plugin what became of a lost call, which request names. It
// keeps to the deadline of ctx. An error is worth another question; who can't
// tell answers plan.AppliedUnknown.
type Reconciler interface {
	Reconcile(ctx context.Context, request plan.Request) (plan.Outcome, error)
}

// A question is asked once more when it fails, after reconcileDelay.
const (
	reconcileTries = 2
	reconcileDelay = time.Second
)

// ask asks about a lost call. Whatever goes wrong, the answer is one: that it is
// not known. Only the end of the engine leaves the question to the next start. What
// held the question up stands in the record of its answer, as that of a call.
func (r *run) ask(ctx context.Context, command journal.Command, action *plan.Action, request plan.Request) {
	held := holdUp{run: r, step: request.Step}
	outcome := r.reconcile(ctx, action, request, &held)
	if r.driver.draining() || r.driver.ctx.Err() != nil {
		if outcome.Applied == "" || outcome.Applied == plan.AppliedUnknown {
			r.mail.put(message{released: &released{command: command}})
			return
		}
	}
	r.mail.put(message{
		event:    &journal.Event{Kind: journal.Reconciled, Path: command.Path, Outcome: &outcome, Waits: held.waits},
		answerTo: &command,
	})
}

func (r *run) reconcile(ctx context.Context, action *plan.Action, request plan.Request, held *holdUp) plan.Outcome {
	if r.driver.options.Reconciler == nil || action == nil {
		return plan.Outcome{Applied: plan.AppliedUnknown, Note: "nobody can ask its plugin"}
	}
	var failed error
	for try := range reconcileTries {
		if try > 0 && !sleep(ctx, reconcileDelay) {
			break
		}
		outcome, err := r.askOnce(ctx, action, request, held)
		if err == nil {
			return outcome
		}
		failed = err
		if ctx.Err() != nil || r.driver.draining() {
			break
		}
	}
	return plan.Outcome{Applied: plan.AppliedUnknown, Note: "the question failed: " + failed.Error()}
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
func (r *run) askOnce(ctx context.Context, action *plan.Action, request plan.Request, held *holdUp) (plan.Outcome, error) {
	waiting, admitted := r.driver.whileOpen(ctx)
	done, err := r.driver.options.Limiter.Acquire(waiting, action, request.Connection, func(until time.Time) { held.wait(rateLimit, until) })
	held.end()
	admitted()
	if err != nil {
		return plan.Outcome{}, fmt.Errorf("wait for the rate limit: %w", err)
	}
	if r.driver.draining() {
		done(plan.Answer{})
		return plan.Outcome{}, errors.New("the engine is closing")
	}
	r.driver.inFlight.Add(1)
	defer r.driver.inFlight.Add(-1)
	bounded, cancel := context.WithTimeout(ctx, request.Timeout)
	defer cancel()
	outcome, err := r.driver.options.Reconciler.Reconcile(bounded, request)
	done(plan.Answer{})
	if err != nil {
		return plan.Outcome{}, err
	}
	return outcome, nil
}
