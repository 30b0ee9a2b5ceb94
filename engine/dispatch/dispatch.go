// Package dispatch is what happens to one call, from the command to its answer: the
// watermark of its cursor, the answer that is cached, the gate, the limiter, the
// deadline, the plugin, and the question about one that was lost. It says what it asks
// for in small interfaces, and knows nothing of runs, journals and goroutines.
package dispatch

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Caller sends one attempt of one page and returns its end. It keeps to the
// deadline of ctx.
type Caller interface {
	Call(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer
}

// Limiter is asked before every Execute. done must be called with the answer
// when the call has ended, so that a rate_limited one closes the bucket for
// every run. onWait tells when the wait is expected to end; it may be called
// more than once, and with a zero time when the wait is over.
type Limiter interface {
	Acquire(ctx context.Context, action *plan.Action, connection string, onWait func(until time.Time)) (done func(runs.Answer), err error)
}

// Gate is asked before every call, before the limiter: it holds calls back while
// there is no room to store what they would answer (docs/reliability.md, P12). Enter
// returns when the call may go on, or with ctx. onWait says why it waits and when
// it looks again; it may be called more than once.
type Gate interface {
	Enter(ctx context.Context, onWait func(reason string, until time.Time)) error
}

// Identifier names what a call asks for: the same name for the same action,
// connection and input, after a restart too. For a cursor, what the watermark
// itself moves over is no part of it.
type Identifier interface {
	Identify(action *plan.Action, connection string, input json.RawMessage, cursor bool) (string, error)
}

// Cache keeps answers of reads, by the identity of what was asked.
type Cache interface {
	// Get returns an answer that is not older than maxAge, nil when there is none.
	Get(key string, maxAge time.Duration) *runs.Completed
	Put(key string, answer *runs.Completed, keep time.Duration)
}

// Reconciler asks a plugin what became of a lost call, which request names. It
// keeps to the deadline of ctx. An error is worth another question; who can't
// tell answers plan.AppliedUnknown.
type Reconciler interface {
	Reconcile(ctx context.Context, request runs.Request) (runs.Outcome, error)
}

// Listener hears of a call while it lasts, on the goroutine of the call or one of the
// plugin's. It must not block.
type Listener interface {
	runs.Sink
	// Wait says since when the call is held up, why, and until when it is expected to
	// be; with a zero until it goes on.
	Wait(reason string, since, until time.Time)
}

// Options are what a Dispatcher needs. Caller, Limiter and Now are required.
type Options struct {
	Caller  Caller
	Limiter Limiter
	Now     func() time.Time

	Gate       Gate         // nil = nothing holds calls back
	Identifier Identifier   // nil = neither cursors nor cached answers
	Memory     store.Memory // of cursors; nil = there are none
	Cache      Cache        // nil = nothing is cached
	Reconciler Reconciler   // asked about lost calls whose plugin can tell; nil = nobody is
}

// Dispatcher carries calls out. Safe for concurrent use.
type Dispatcher struct {
	options   Options
	engine    context.Context
	admission context.Context
	inFlight  atomic.Int64
}

// New returns a Dispatcher. engine ends when calls in flight are canceled, since the
// process ends; admission when no call is sent any more (docs/reliability.md, P17).
func New(options Options, engine, admission context.Context) *Dispatcher { //nolint:revive // two contexts, of which neither is that of New
	return &Dispatcher{options: options, engine: engine, admission: admission}
}

// Call is one call, or the question about one.
type Call struct {
	Action   *plan.Action // nil = the plan holds none of its name
	Command  *journal.Call
	Request  runs.Request
	Listener Listener
}

// End is how a call ended.
type End struct {
	Answer runs.Answer
	// Released says that the call ended with the engine: there is no answer for the
	// journal, and what it did is for the next start to find out. Sent tells whether it
	// may have done anything.
	Released, Sent bool
}

// InFlight returns how many calls have been sent and not answered.
func (d *Dispatcher) InFlight() int { return int(d.inFlight.Load()) }

// Call makes a call: with what earlier ones left, when gate and limiter let it, and with
// its timeout from then on. ctx ends when the run cancels it.
func (d *Dispatcher) Call(ctx context.Context, call Call) End {
	a := attempt{dispatcher: d, Call: call}
	answer := a.recall(ctx)
	sent, released := a.released(ctx, answer)
	return End{Answer: answer, Released: released, Sent: sent}
}

// attempt is a call that is being made. It belongs to one goroutine.
type attempt struct {
	Call
	dispatcher *Dispatcher
	sent       bool

	since time.Time // of the wait at hand; zero = there is none
	why   string
	waits []runs.Hold
}

// execute waits for the gate and the limiter, then makes the call. The attempt's time
// begins after the wait. What has held it up stands in its answer.
func (a *attempt) execute(ctx context.Context) runs.Answer {
	answer := a.admitted(ctx)
	answer.Waits = a.waits
	return answer
}

func (a *attempt) admitted(ctx context.Context) runs.Answer {
	if a.Action == nil {
		return Failure(plan.KindInternal, runs.NotApplied, "the plan holds no action %s", a.Request.Action)
	}
	waiting, admitted := a.dispatcher.whileOpen(ctx)
	if err := a.passGate(waiting); err != nil {
		admitted()
		return Failure(plan.KindCanceled, runs.NotApplied, "canceled while waiting for room on the disk")
	}
	done, err := a.acquire(waiting)
	closing := waiting.Err() != nil
	admitted()
	if err != nil {
		if closing {
			return Failure(plan.KindCanceled, runs.NotApplied, "canceled while waiting for the rate limit")
		}
		return Failure(plan.KindInternal, runs.NotApplied, "wait for the rate limit: %v", err)
	}
	if a.Request.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Request.Timeout)
		defer cancel()
	}
	answer := a.send(ctx)
	done(answer)
	return answer
}

// send makes the call, unless a graceful stop has begun: that is the last moment
// at which a call is certainly not sent.
func (a *attempt) send(ctx context.Context) runs.Answer {
	d := a.dispatcher
	if d.draining() {
		return Failure(plan.KindCanceled, runs.NotApplied, "the engine is closing")
	}
	a.sent = true
	d.inFlight.Add(1)
	defer d.inFlight.Add(-1)
	return d.options.Caller.Call(ctx, a.Request, a.Listener)
}

// released reports whether a call's end is the engine's, not an answer. sent tells
// whether it may have done anything.
func (a *attempt) released(ctx context.Context, answer runs.Answer) (sent, yes bool) {
	closing := a.dispatcher.engine.Err() != nil
	if answer.Completed != nil || answer.Pending != nil || !closing && !a.dispatcher.draining() {
		return false, false
	}
	unsent := !a.sent || answer.Failed != nil && answer.Failed.Applied == runs.NotApplied
	if closing {
		return !unsent, true
	}
	return false, !a.sent && ctx.Err() == nil // a cancel of the run itself is an answer
}

func (d *Dispatcher) draining() bool { return d.admission.Err() != nil }

// Failure is the answer of a call that failed.
func Failure(kind plan.ErrorKind, applied runs.Applied, format string, args ...any) runs.Answer {
	return runs.Answer{Failed: runs.Failure(kind, applied, format, args...)}
}
