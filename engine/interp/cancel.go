package interp

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// cancelGrace is how long calls in flight may take to end after a cancel. The
// driver may end it earlier with a cancel event that says Grace.
const cancelGrace = 10 * time.Second

func (m *Machine) cancelRun(ev journal.Event) {
	cause := journal.Cancel{}
	if ev.Cancel != nil {
		cause = *ev.Cancel
	}
	switch {
	case cause.Grace:
		m.graceOver()
	case m.phase != running && m.phase != paused:
		// Ended, or ending already: handlers always run to their end.
	case cause.TimedOut:
		m.timeOut()
	default:
		failure := &runs.Error{Kind: plan.KindCanceled, Message: "the run was canceled", Reason: cause.Reason}
		if ev.By != "" {
			failure.Message += " by " + ev.By
		}
		m.stop(verdict{runs.RunCanceled, failure})
	}
}

// timeOut is the cancel that the run's own timeout causes.
func (m *Machine) timeOut() {
	m.stop(verdict{runs.RunTimedOut, &runs.Error{
		Kind:    plan.KindTimeout,
		Reason:  "run_timeout",
		Message: fmt.Sprintf("the run took longer than its timeout of %s", schema.FormatDuration(m.program.workflow.Timeout)),
	}})
}

// stop ends the run early: no new step, calls in flight are canceled and have
// their grace.
func (m *Machine) stop(v verdict) {
	if m.phase != running && m.phase != paused {
		return
	}
	m.phase, m.end = ending, &v
	m.cancel(m.timerPath("", "run"))
	m.main.halt()
	m.parked = nil
	if m.calls > 0 {
		m.timer(nil, m.timerPath("", "grace"), journal.TimerGrace, m.at.Add(cancelGrace))
	}
}

// halt cancels what the list has not ended. Steps with an open call end with
// its answer, or with the grace.
func (l *list) halt() {
	for i := range l.steps {
		if s := &l.steps[i]; !s.settled {
			s.halt()
		}
	}
}

func (s *step) halt() {
	m := s.list.m
	if open := m.open[s.op]; open != nil && open.command.Kind == journal.CommandChild {
		s.closeChild()
		m.emit(journal.Command{Kind: journal.CommandCancel, Path: s.op})
		return
	}
	if open := m.open[s.op]; open != nil && open.command.Kind == journal.CommandCall {
		if s.action.within != "" {
			m.cancel(s.action.within)
			s.action.within = ""
		}
		m.emit(journal.Command{Kind: journal.CommandCancel, Path: s.op})
		return
	}
	if s.loop != nil {
		for i := range s.loop.items {
			it := &s.loop.items[i]
			if it.state == itemRunning || it.state == itemWaiting && it.list != nil && m.since(2) {
				it.list.halt() // an item waits for its turn again after a resume: it may have left steps behind
			}
		}
	}
	if s.parked == "" || s.status == runs.StepWaiting && m.since(2) {
		s.status = runs.StepCanceled
		if !s.startedAt.IsZero() {
			s.close()
		}
	}
	s.settled, s.parked = true, ""
	m.touch(s)
}

// interrupt ends a step whose answer came after the run was stopped and that
// would go on: a resume takes it up there.
func (s *step) interrupt() {
	s.err = s.complete(&runs.Error{Kind: plan.KindCanceled, Message: "the run ended before the step did"})
	s.settle(runs.StepCanceled)
}

// interrupted ends a step whose canceled call failed. An effect that may have
// happened is said so.
func (s *step) interrupted(failure *runs.Error) {
	if s.code.action.action.Effect.Writes() && outcomeOf(failure) == effectUnknown {
		s.interruptedUnknown(failure)
		return
	}
	s.err = failure
	s.settle(runs.StepCanceled)
}

func (s *step) interruptedUnknown(cause *runs.Error) {
	m := s.list.m
	s.err = s.complete(s.unknownOutcome(cause))
	if s.once() {
		m.unknown[s.path] = s
	}
	m.log(s.path, "warn", s.err.Message)
	s.settle(runs.StepUnknown)
}

// graceOver ends the calls that have not answered a cancel: a read is canceled,
// the outcome of an effect is unknown.
func (m *Machine) graceOver() {
	if m.phase != ending {
		return
	}
	for _, op := range m.ordered() {
		if op.command.Kind == journal.CommandTimer {
			continue
		}
		m.forget(op.command.Path)
		s := op.step
		s.op = ""
		if op.asks() {
			cause := s.action.loss.cause
			s.action.loss = nil
			s.interruptedUnknown(cause)
			continue
		}
		if op.command.Kind == journal.CommandCall && op.command.Call.Effect.Writes() {
			s.interruptedUnknown(&runs.Error{Kind: plan.KindCanceled, Message: "it was canceled and gave no answer in time"})
			continue
		}
		s.interrupt()
	}
}
