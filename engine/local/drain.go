package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
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
func (d *Driver) InFlight() int { return d.calls.InFlight() }

// DrivenRuns returns the ids of the runs that are driven now, sorted.
func (d *Driver) DrivenRuns() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.runs))
}

// released tells a worker that a call ended with the engine, without an answer
// for the journal.
type released struct {
	op   *drive.Operation
	sent bool
}

// letGo takes a call that ended with the engine from the open ones.
func (r *run) letGo(end *released) {
	if r.Settle(end.op) && !end.sent {
		r.unsent = append(r.unsent, end.op.Command.Path)
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
	if !r.driver.draining() || r.stopping || r.failed != nil || r.OpenCalls()+len(r.unstored)+len(r.logs)+r.uncommitted > 0 {
		return
	}
	if r.CallsInFlight() {
		slices.Sort(r.unsent)
		r.take(journal.Event{Kind: journal.Stopped, Unsent: slices.Compact(r.unsent)}, nil)
		r.store()
	}
	r.stopping = true
}
