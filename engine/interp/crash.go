package interp

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// maxCrashes is how often the engine may die while one call is in flight before
// its step is parked (docs/reliability.md, P6).
const maxCrashes = 5

// reasonCrashLoop is the reason of an error that parks a step for its crashes.
const reasonCrashLoop = "crash_loop"

// Interrupted returns the operation paths of the calls that were in flight when
// the process that drove the run died, in the order in which they were asked
// for: what a driver says in its driven event after a replay. Calls that a
// graceful stop left, and those of a canceled run, are not among them.
func (m *Machine) Interrupted() []string {
	var paths []string
	for _, op := range m.ordered() {
		if op.command.Kind == journal.CommandCall && op.left == leftNot && m.phase != ending {
			paths = append(paths, op.command.Path)
		}
	}
	return paths
}

// leftState is how a process that ended in good order left an open call.
type leftState uint8

const (
	leftNot    leftState = iota // it did not: the call is in flight, or its process died
	leftSent                    // it may have been sent
	leftUnsent                  // it was certainly not sent
)

// stoppedWell notes how a graceful stop leaves the open calls.
func (m *Machine) stoppedWell(ev journal.Event) {
	for _, op := range m.open {
		if op.command.Kind != journal.CommandCall {
			continue
		}
		op.left = leftSent
		if slices.Contains(ev.Unsent, op.command.Path) {
			op.left = leftUnsent
		}
	}
}

// driven takes the word that a process drives the run again. It counts the
// crash of each call that was in flight: what is still open afterwards is sent
// again, as the same attempt and with the same key.
func (m *Machine) driven(ev journal.Event) {
	interrupted := make(map[string]bool, len(ev.Interrupted))
	for _, path := range ev.Interrupted {
		interrupted[path] = true
	}
	for _, op := range m.ordered() {
		if op.command.Kind != journal.CommandCall {
			continue
		}
		left := op.left
		op.left = leftNot
		switch {
		case interrupted[op.command.Path]:
			op.step.crashed(op)
		case left == leftUnsent && m.phase == ending: // canceled before it was sent
			m.forget(op.command.Path)
			op.step.op = ""
			op.step.interrupt()
		case left == leftSent && m.phase != ending && op.step.once() && op.command.Call.Reconcile == "":
			m.forget(op.command.Path)
			op.step.op = ""
			op.step.lose(loss{cause: engineStopped("the engine was stopped while the call was in flight"), mayRetry: true, again: true})
		}
	}
	m.release()
}

func engineStopped(message string) *runs.Error {
	return &runs.Error{Kind: plan.KindCrashed, Applied: runs.AppliedUnknown, Message: message}
}

// crashed counts a crash of the engine while the step's call was in flight.
func (s *step) crashed(op *operation) {
	m := s.list.m
	s.action.crashes++
	m.touch(s)
	looping := s.action.crashes >= maxCrashes
	switch {
	case op.command.Call.Reconcile != "":
		if looping {
			m.forget(op.command.Path)
			s.op = ""
			s.reconciled(&runs.Outcome{Note: s.crashText() + " or the question about it"})
		}
	case s.once():
		m.forget(op.command.Path)
		s.op = ""
		s.lose(loss{cause: engineStopped("the engine stopped while the call was in flight"), mayRetry: true, again: true})
	case looping:
		m.forget(op.command.Path)
		s.op = ""
		s.crashLoop()
	}
}

func (s *step) crashText() string {
	return fmt.Sprintf("the engine died %d times while this call of %s was in flight", s.action.crashes, s.code.step.Uses)
}

// crashLoop leaves a step to a person whose call seems to kill the engine. A
// handler's step fails instead: handlers never wait for a person.
func (s *step) crashLoop() {
	m := s.list.m
	s.err = s.complete(&runs.Error{
		Kind: plan.KindCrashed, Reason: reasonCrashLoop, Applied: runs.AppliedUnknown,
		Message: s.crashText(),
		Hint: diag.Sayf("%s tries it again and counts anew, %s ends the run; its logs may tell why",
			diag.Command{"runs", "resume", m.begun.RunID}, diag.Command{"runs", "cancel", m.begun.RunID}).Plain(),
		Details: json.RawMessage(fmt.Sprintf(`{"crashes":%d}`, s.action.crashes)),
	})
	if s.code.action.action.Effect == plan.EffectRead {
		s.err.Applied = runs.NotApplied
	}
	if m.phase != running {
		s.settle(runs.StepFailed)
		return
	}
	s.park(runs.StepFailed, runs.PausedCrashLoop)
}

// NeverSent returns the operation paths of the open calls that a graceful stop
// kept from being sent.
func (m *Machine) NeverSent() []string {
	var paths []string
	for _, op := range m.ordered() {
		if op.left == leftUnsent {
			paths = append(paths, op.command.Path)
		}
	}
	return paths
}
