package drive

import (
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Operation is a call, a timer or a sub-workflow's run that the driver has begun and
// whose end it waits for.
type Operation struct {
	Command journal.Command
	// Canceled says that it was canceled. A call and a sub-workflow's run have their
	// answers all the same.
	Canceled bool
	// Stop is called when the operation is canceled: it hastens its end. The driver
	// sets it when the operation begins; nil = nothing hastens it.
	Stop func()

	order  int
	resent bool // an earlier process may have sent the call
}

// Do does what the commands say. begin starts what an operation asks for, unless it
// is canceled already: then it ends by Unsent.
func (r *Run) Do(commands []journal.Command, begin func(*Operation)) {
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall, journal.CommandTimer, journal.CommandChild:
			begin(r.begin(command))
		case journal.CommandCancel:
			r.cancel(command.Path)
		}
	}
}

// begin takes an operation among the open ones, in the place of an older one of the
// same path whose end comes too late now.
func (r *Run) begin(command journal.Command) *Operation {
	path := command.Path
	r.close(r.open[path])
	r.opened++
	op := &Operation{Command: command, Canceled: r.dropped[path], order: r.opened, resent: r.resent[path]}
	delete(r.dropped, path)
	delete(r.resent, path)
	r.open[path] = op
	if isCall(command) {
		r.calls++
	}
	return op
}

// cancel is the rule of a cancel: a timer is gone, a call and a sub-workflow's run
// are hastened and stay open until they answer. What has not begun, since its record
// is on its way to the journal, begins as canceled.
func (r *Run) cancel(path string) {
	op := r.open[path]
	switch {
	case op == nil:
		if !runs.IsTimer(path) {
			if r.dropped == nil {
				r.dropped = map[string]bool{}
			}
			r.dropped[path] = true
		}
		return
	case op.Command.Kind == journal.CommandTimer:
		r.close(op)
	}
	op.Canceled = true
	if op.Stop != nil {
		op.Stop()
	}
}

// Settle takes an operation that has ended from the open ones; false for one that is
// no longer open: its end is dropped.
func (r *Run) Settle(op *Operation) bool {
	if !r.close(op) {
		return false
	}
	if isCall(op.Command) {
		r.careful = max(0, r.careful-1)
	}
	return true
}

func (r *Run) close(op *Operation) bool {
	if op == nil || r.open[op.Command.Path] != op {
		return false
	}
	delete(r.open, op.Command.Path)
	if isCall(op.Command) {
		r.calls--
	}
	return true
}

// At is the open operation of a path; nil = none.
func (r *Run) At(path string) *Operation { return r.open[path] }

// Clash reports whether the command would begin what is open and was not canceled:
// the Machine never asks for that.
func (r *Run) Clash(command journal.Command) bool {
	switch command.Kind {
	case journal.CommandCall, journal.CommandTimer, journal.CommandChild:
		op := r.open[command.Path]
		return op != nil && !op.Canceled
	}
	return false
}

// Open lists the open operations in the order in which they began.
func (r *Run) Open() []*Operation {
	return slices.SortedFunc(maps.Values(r.open), func(a, b *Operation) int { return a.order - b.order })
}

// OpenCalls counts the open calls.
func (r *Run) OpenCalls() int { return r.calls }

// Answer is the event of a call's answer. One that is none may have taken effect.
func (op *Operation) Answer(answer runs.Answer) journal.Event {
	ev := journal.Event{Kind: journal.Failed, Path: op.Command.Path, Failed: answer.Failed, Waits: answer.Waits}
	switch {
	case answer.Completed != nil:
		ev.Kind, ev.Completed, ev.Failed = journal.Completed, answer.Completed, nil
	case answer.Pending != nil:
		ev.Kind, ev.Pending, ev.Failed = journal.Pending, answer.Pending, nil
	case answer.Failed == nil:
		ev.Failed = runs.Failure(plan.KindCrashed, runs.AppliedUnknown, "the call ended without an answer")
	}
	return ev
}

// Interrupted is the event of an operation that its cancel ended: nobody knows what
// became of it.
func (op *Operation) Interrupted() journal.Event {
	return op.ended(runs.AppliedUnknown, "canceled", "canceled")
}

// Unsent is the event of an operation that was canceled before it began. What an
// earlier process may have sent may have taken effect all the same
// (docs/reliability.md, P3).
func (op *Operation) Unsent() journal.Event {
	if op.resent {
		return op.ended(runs.AppliedUnknown, "the engine stopped while the call was in flight, and it was canceled then", "canceled before the question was sent")
	}
	ev := op.ended(runs.NotApplied, "canceled before it was sent", "canceled before the question was sent")
	if ev.Child != nil {
		ev.Child.Failed = &runs.Error{Kind: plan.KindCanceled, Message: "it was canceled before it began"}
	}
	return ev
}

func (op *Operation) ended(applied runs.Applied, message, note string) journal.Event {
	path := op.Command.Path
	failure := &runs.Error{Kind: plan.KindCanceled, Message: message, Applied: applied}
	switch {
	case op.Command.Child != nil:
		return journal.Event{Kind: journal.ChildEnded, Path: path, Child: &journal.Child{RunID: op.Command.Child.RunID, Failed: failure}}
	case op.Command.Call != nil && op.Command.Call.Reconcile != "":
		return journal.Event{Kind: journal.Reconciled, Path: path, Outcome: &runs.Outcome{Note: note}}
	}
	return journal.Event{Kind: journal.Failed, Path: path, Failed: failure}
}
