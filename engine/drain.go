package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// The times of a graceful stop (docs/reliability.md, P17).
const (
	// DefaultDrain is how long calls in flight are waited for, unless
	// `limits.drain` says otherwise.
	DefaultDrain = 25 * time.Second
	// KillGrace is how long what was canceled then has until plugins are killed. It
	// is a little less than the five seconds of the contract: the store is still to
	// be closed.
	KillGrace = 4500 * time.Millisecond
)

// ErrClosing is what a request gets that comes during a graceful stop, or after
// it: nothing was done.
var ErrClosing = local.ErrClosed

// DrainLimit is how long Drain should wait: `limits.drain` of flowrun.yaml, else
// DefaultDrain.
func (e *Engine) DrainLimit() time.Duration {
	return cmp.Or(e.project.Declared().Limits.Drain, DefaultDrain)
}

// InFlight returns how many calls, of runs and outside of them, have been sent
// and not answered.
func (e *Engine) InFlight() int { return e.driver.InFlight() + e.outside.count() }

// Drain begins a graceful stop (P17): no run is started or resumed any more, no
// call is sent, and those in flight are waited for. When ctx ends, what is left is
// canceled. The journals of runs with open calls say that the stop was graceful and
// what was never sent; the next engine goes on with them. Close follows. The error
// says what did not even end after it was canceled; kill -9 then is no worse.
func (e *Engine) Drain(ctx context.Context) error {
	e.always.stop()
	waited := make(chan error, 1)
	go func() { waited <- e.outside.drain(ctx) }()
	err := e.driver.Drain(ctx)
	return errors.Join(err, <-waited)
}

// DrainRuns is Drain. It returns the ids of the runs that were driven and are open
// still, without those that a step of another run waits for.
func (e *Engine) DrainRuns(ctx context.Context) (left []string, err error) {
	driven := e.driver.DrivenRuns()
	err = e.Drain(ctx)
	for _, id := range driven {
		row, readErr := e.store.Run(id)
		if readErr == nil && row.Parent == nil && !row.Closed && row.Status != runs.RunPaused {
			left = append(left, id)
		}
	}
	return left, err
}

// Halt stops every run where it is and cancels calls in flight, as Drain does at
// the end of its time, and ends the plugins, at the latest when ctx ends. The store
// can still be read.
func (e *Engine) Halt(ctx context.Context) error {
	now, cancel := context.WithCancel(ctx)
	cancel()
	err := e.Drain(now)
	e.project.EndPlugins(ctx)
	return err
}

// outsideCalls are the calls that belong to no run: `flowrun call`, logins. Safe
// for concurrent use.
type outsideCalls struct {
	mu      sync.Mutex
	closed  bool
	running int
	idle    chan struct{} // closed when closed and the last one has ended

	admission, life context.Context // end when a stop begins, and when it has waited enough
	refuse, cancel  context.CancelFunc
}

func newOutsideCalls() *outsideCalls {
	o := &outsideCalls{idle: make(chan struct{})}
	o.admission, o.refuse = context.WithCancel(context.Background())
	o.life, o.cancel = context.WithCancel(context.Background())
	return o
}

// enter counts a call and bounds its context by the engine's life; leave must be
// called. ErrClosing.
func (o *outsideCalls) enter(ctx context.Context) (bounded context.Context, leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, nil, ErrClosing
	}
	o.running++
	bounded, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(o.life, cancel)
	return bounded, func() {
		stop()
		cancel()
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.running--; o.running == 0 && o.closed {
			close(o.idle)
		}
	}, nil
}

func (o *outsideCalls) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running
}

// drain refuses calls, waits for those that run and cancels them when ctx ends.
func (o *outsideCalls) drain(ctx context.Context) error {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		if o.running == 0 {
			close(o.idle)
		}
	}
	o.mu.Unlock()
	o.refuse()
	select {
	case <-o.idle:
		return nil
	case <-ctx.Done():
	}
	o.cancel()
	select {
	case <-o.idle:
		return nil
	case <-time.After(KillGrace):
		return errors.New("a call outside of runs does not end")
	}
}

// pauseBetween waits before the next attempt, or poll, of a call outside of runs.
// A stop ends the wait: nothing is in flight.
func (o *outsideCalls) pauseBetween(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-o.admission.Done():
		return ErrClosing
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whileOpen bounds a wait that comes before a call is sent: it ends when a stop
// begins.
func (o *outsideCalls) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(o.admission, cancel)
	return bounded, func() {
		stop()
		cancel()
	}
}
