package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// A graceful stop (docs/reliability.md, P17): no new call is sent, those in flight are
// waited for, and the journal of a run that has calls open ends with a stopped
// event. It says which of them were certainly never sent, so that the next process
// may send them even where their effect must happen once, and that nothing crashed.

// stopGrace is how long a graceful stop waits for the end of calls that it has
// canceled and for what their runs have to store.
const stopGrace = 5 * time.Second

// Drain ends the sending of calls and waits until those in flight have ended and
// what they brought is durable. When ctx ends, those that are left are canceled;
// their runs are given a few seconds to say so in their journals. The error tells
// of runs that were not even in time for that. No run can be started or resumed
// any more (ErrClosed). Close follows.
func (d *Driver) Drain(ctx context.Context) error {
	runs := d.beginDrain()
	cancelCalls := context.AfterFunc(ctx, d.stop)
	defer cancelCalls()
	late := make(chan struct{})
	stopLate := context.AfterFunc(d.ctx, func() {
		time.AfterFunc(stopGrace, func() { close(late) })
	})
	defer stopLate()
	for _, r := range runs {
		select {
		case <-r.ended:
		case <-late:
			return fmt.Errorf("stop the runs: run %s does not end", r.row.ID)
		}
	}
	return nil
}

// beginDrain ends admission and tells the workers. It returns the driven runs.
func (d *Driver) beginDrain() []*run {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.refuse()
	runs := make([]*run, 0, len(d.runs))
	for _, r := range d.runs {
		r.mail.put(message{drain: true})
		runs = append(runs, r)
	}
	return runs
}

// Draining reports whether a graceful stop has begun: no run is taken any more.
func (d *Driver) Draining() bool { return d.draining() }

func (d *Driver) draining() bool { return d.admission.Err() != nil }

// InFlight returns how many calls of runs have been sent and not answered.
func (d *Driver) InFlight() int { return int(d.inFlight.Load()) }

// DrivenRuns returns the ids of the runs that are driven now, sorted.
func (d *Driver) DrivenRuns() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.runs))
}

// whileOpen bounds a wait that comes before a call is sent: it ends when a
// graceful stop begins.
func (d *Driver) whileOpen(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.admission, cancel)
	return bounded, func() {
		stop()
		cancel()
	}
}

// released tells a worker that a call ended with the engine, without an answer
// for the journal.
type released struct {
	command journal.Command
	sent    bool
}

// sentKey is the context key under which a call's goroutine finds its mark.
type sentKey struct{}

// withMark gives a call's context a mark that is set when the call is sent.
func withMark(ctx context.Context) (context.Context, *atomic.Bool) {
	mark := new(atomic.Bool)
	return context.WithValue(ctx, sentKey{}, mark), mark
}

// send makes the call, unless a graceful stop has begun: that is the last moment
// at which a call is certainly not sent.
func (d *Driver) send(ctx context.Context, request plan.Request, sink plan.Sink) plan.Answer {
	if d.draining() {
		return failure(plan.KindCanceled, plan.NotApplied, "the engine is closing")
	}
	if mark, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
		mark.Store(true)
	}
	d.inFlight.Add(1)
	defer d.inFlight.Add(-1)
	return d.options.Caller.Call(ctx, request, sink)
}

// releases reports whether a call's end is the engine's, not an answer: what it
// did is for the next start to find out. sent tells whether it may have done
// anything.
func (d *Driver) releases(ctx context.Context, answer plan.Answer, mark *atomic.Bool) (sent, yes bool) {
	closing := d.ctx.Err() != nil
	if answer.Completed != nil || answer.Pending != nil || !closing && !d.draining() {
		return false, false
	}
	unsent := !mark.Load() || answer.Failed != nil && answer.Failed.Applied == plan.NotApplied
	if closing {
		return !unsent, true
	}
	return false, !mark.Load() && ctx.Err() == nil // a cancel of the run itself is an answer
}

// letGo takes a call that ended with the engine from the open ones.
func (r *run) letGo(end *released) {
	c := r.calls[end.command.Path]
	if c == nil || c.command.Call != end.command.Call {
		return
	}
	delete(r.calls, end.command.Path)
	if !end.sent {
		r.unsent = append(r.unsent, end.command.Path)
	}
}

// withhold notes the calls among commands that a graceful stop keeps from being
// sent, and returns what is done all the same.
func (r *run) withhold(commands []journal.Command) []journal.Command {
	var cancels []journal.Command
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall:
			r.unsent = append(r.unsent, command.Path)
		case journal.CommandCancel:
			cancels = append(cancels, command)
		}
	}
	return cancels
}

// stopWhenDrained ends the worker of a graceful stop as soon as no call is in
// flight and all is handed to the journal, whose last record says so where calls
// are open.
func (r *run) stopWhenDrained() {
	if !r.driver.draining() || r.stopping || r.failed != nil || len(r.calls)+len(r.unstored)+len(r.logs)+r.uncommitted > 0 {
		return
	}
	if r.hasOpenCall() {
		slices.Sort(r.unsent)
		r.take(journal.Event{Kind: journal.Stopped, Unsent: slices.Compact(r.unsent)}, nil)
		r.store()
	}
	r.stopping = true
}

func (r *run) hasOpenCall() bool {
	return slices.ContainsFunc(r.machine.InFlight(), func(c journal.Command) bool { return c.Kind == journal.CommandCall })
}
