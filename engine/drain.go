package engine

import (
	"cmp"
	"context"
	"errors"
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
func (e *Engine) InFlight() int { return e.driver.InFlight() + e.calls.Running() }

// Drain begins a graceful stop (P17): no run is started or resumed any more, no
// call is sent, and those in flight are waited for. When ctx ends, what is left is
// canceled. The journals of runs with open calls say that the stop was graceful and
// what was never sent; the next engine goes on with them. Close follows. The error
// says what did not even end after it was canceled; kill -9 then is no worse.
func (e *Engine) Drain(ctx context.Context) error {
	e.background.stop()
	waited := make(chan error, 1)
	go func() { waited <- e.calls.Drain(ctx, KillGrace) }()
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

// RestPlugins ends the plugins that no call is in flight in, in the background, unless a run
// goes on. It is for who is about to leave: Close finds them ended. Whatever comes
// nevertheless starts them anew.
func (e *Engine) RestPlugins() {
	if e.Busy() == 0 && e.InFlight() == 0 {
		e.project.Host().Rest()
	}
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
