package interp

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// limited ends a run whose journal is full (ADR 29). The driver counts what is
// stored and says so in an event: a replay comes to the same without counting.
// The event's path, where it has one, is that of the operation which would go on:
// its step has failed.
func (m *Machine) limited(ev journal.Event) error {
	if ev.Failed == nil {
		return fmt.Errorf("apply limited: it has no payload")
	}
	switch m.phase {
	case running, paused:
		cause := ev.Failed
		if s := m.failLimited(ev); s != nil {
			cause = s.err // it names the step
		}
		m.stop(verdict{runs.RunFailed, cause})
	case handling:
		m.cutHandlers(ev.Failed)
	}
	return nil
}

// failLimited fails the step of the event and returns it. A call in flight that may
// take effect is left to the grace of all others.
func (m *Machine) failLimited(ev journal.Event) *step {
	op := m.open[ev.Path]
	if op == nil || op.step == nil || op.command.Kind == journal.CommandChild ||
		op.command.Kind == journal.CommandCall && (op.asks() || op.command.Call.Effect.Writes()) {
		return nil
	}
	m.cancel(ev.Path)
	if op.step.op == ev.Path {
		op.step.op = ""
	}
	op.step.fail(ev.Failed)
	return op.step
}

// cutHandlers ends the handlers where they are: what they may store is used up.
// Calls in flight are canceled and not waited for.
func (m *Machine) cutHandlers(cause *runs.Error) {
	m.queued = nil
	for _, op := range m.ordered() {
		if op.command.Kind == journal.CommandTimer {
			continue
		}
		s := op.step
		m.cancel(op.command.Path)
		s.op = ""
		failure := s.complete(cause)
		if op.command.Kind == journal.CommandCall && op.command.Call.Effect.Writes() {
			failure = s.complete(s.unknownOutcome(cause))
		}
		s.err = failure
		s.settle(runs.StepCanceled)
	}
	if n := len(m.handlers); n > 0 {
		m.handlers[n-1].halt()
	}
	m.phase = closed
}

// InEnd reports whether the run is past its steps: calls that were canceled have
// their grace, handlers run, or nothing is left to do.
func (m *Machine) InEnd() bool { return m.phase == ending || m.phase == handling || m.phase == closed }
