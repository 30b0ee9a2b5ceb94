package interp

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// resume goes on with a run that failed, timed out, was canceled or is paused:
// what has ended well stays, the rest gets fresh attempts. For another run the
// event changes nothing.
func (m *Machine) resume() {
	switch {
	case m.main == nil: // it ended before it began: it waits for its turn again
		m.phase, m.status, m.err = waitingForStart, runs.RunQueued, nil
		m.attempt++
		return
	case m.phase == paused:
	case (m.phase == handling || m.phase == closed) && m.status != runs.RunSucceeded:
		m.dropHandlers()
	default:
		return
	}
	m.attempt++
	m.failure, m.outputs, m.parked = nil, nil, nil
	m.goOn()
	m.env[rootRun] = m.runValue(runs.RunRunning)
	m.main.reset()
	m.main.enqueue()
	m.release()
}

// dropHandlers stops handlers that have not ended; they run again at the new
// end.
func (m *Machine) dropHandlers() {
	for _, op := range m.ordered() {
		m.cancel(op.command.Path)
	}
	m.handlers, m.queued, m.dirty = nil, nil, nil
	m.awaiting, m.asks = nil, 0 // only handlers were left
}

// reset sets what has not ended well back to pending.
func (l *list) reset() {
	l.env[rootRun] = l.m.env[rootRun]
	for i := range l.steps {
		l.steps[i].reset()
	}
	l.count()
}

func (s *step) reset() {
	if s.settled && !s.bad() {
		return
	}
	m := s.list.m
	m.touch(s)
	delete(s.list.known, s.code.step.ID)
	if s.status == runs.StepUnknown && s.once() {
		s.settled = false
		if s.asksAgain() {
			return
		}
		s.parked = runs.PausedUnknownOutcome
		m.parked = append(m.parked, s)
		return
	}
	if s.action != nil {
		s.action.crashes = 0
		if s.status == runs.StepFailed && !s.crashLooped() {
			s.action.checkpoint = nil // what it waited for has ended: it begins anew
		}
	}
	s.settled, s.parked, s.err, s.continued = false, "", nil, false
	s.setResult(nil)
	s.outputs = nil
	s.note, s.attempts, s.endedAt, s.decision = "", 0, time.Time{}, nil
	s.status = runs.StepPending
	if s.loop == nil {
		return
	}
	s.loop.reset()
	if !m.since(2) {
		s.status, s.attempts = runs.StepRunning, 1
		s.loop.enqueue()
	}
}

// crashLooped reports whether the step was parked for its crashes.
func (s *step) crashLooped() bool { return s.err != nil && s.err.Reason == reasonCrashLoop }

// asksAgain asks the plugin once more about an unknown outcome, unless a person
// has said it meanwhile; false when the plugin can't be asked.
func (s *step) asksAgain() bool {
	m := s.list.m
	if !s.code.action.action.Reconcile || s.resolution != nil || s.err == nil || s.err.Reason == reasonOutputs {
		return false
	}
	delete(m.unknown, s.path)
	cause := *s.err
	cause.Kind, cause.Reason, cause.Hint = plan.KindCrashed, "", diag.Hint{}
	s.action.crashes, s.parked, s.err, s.endedAt, s.decision = 0, "", nil, time.Time{}, nil
	s.reconcile(loss{cause: &cause, mayRetry: true, again: true})
	return true
}

// reset queues every item that has not succeeded; those that began go on where
// they stopped.
func (l *loop) reset() {
	l.waiting, l.open, l.done, l.errors, l.stopped = nil, 0, 0, 0, false
	for i := range l.items {
		if l.items[i].state == itemSucceeded {
			l.done++
			continue
		}
		l.items[i].state = itemWaiting
		l.waiting = append(l.waiting, i)
	}
}

// resolveOutcome closes an unknown outcome by a person's word.
func (m *Machine) resolveOutcome(ev journal.Event) error {
	if ev.Resolution == nil {
		return fmt.Errorf("apply resolved %s: it has no payload", ev.Path)
	}
	path := runs.StepOf(ev.Path)
	s := m.unknown[path]
	if s == nil {
		return nil
	}
	switch {
	case s.settled:
		delete(m.unknown, path)
		s.decision = &runs.Decision{By: ev.By, At: m.at}
		return s.resolveLate(ev.Resolution)
	case s.resolution != nil:
		return nil // it was resolved already
	}
	s.decision = &runs.Decision{By: ev.By, At: m.at, Held: ev.Resolution.Held}
	if ev.Resolution.Held {
		s.resolution = ev.Resolution
		m.resolved = append(m.resolved, s)
		m.touch(s)
		return nil
	}
	return m.resolveStep(s, ev.Resolution)
}

// resolveStep goes on with a step whose outcome a person knows.
func (m *Machine) resolveStep(s *step, resolution *journal.Resolution) error {
	delete(m.unknown, s.path)
	if s.decision != nil {
		taken := *s.decision // views have the other
		taken.Held = false
		s.decision = &taken
	}
	m.parked = slices.DeleteFunc(m.parked, func(other *step) bool { return other == s })
	if s.queuesUp() {
		s.settled, s.parked = true, ""
		return s.resolveLate(resolution)
	}
	if m.phase == paused {
		m.goOn()
	}
	s.parked, s.err, s.status = "", nil, runs.StepRunning
	switch resolution.Outcome {
	case "happened":
		if len(resolution.Output) == 0 {
			s.succeed(nil, []byte("null"))
			return nil
		}
		s.completed(&runs.Completed{Output: resolution.Output})
	case "did_not":
		s.action.attempt = 1
		s.send()
	case "skip":
		s.settle(runs.StepSkipped)
	default:
		return fmt.Errorf("apply resolved %s: unknown outcome %q", s.path, resolution.Outcome)
	}
	return nil
}

// queuesUp reports whether the step is one of a loop's item that a resume has put
// back into the line: it goes on when the item does.
func (s *step) queuesUp() bool {
	if !s.list.m.since(2) {
		return false
	}
	for l := s.list; l.item != nil; l = l.item.loop.step.list {
		if l.item.state == itemWaiting {
			return true
		}
	}
	return false
}

// resolveLate notes the outcome in a run that has ended: a resume goes by it.
func (s *step) resolveLate(resolution *journal.Resolution) error {
	switch resolution.Outcome {
	case "happened":
		s.setResult(nil)
		s.status, s.outputs = runs.StepSucceeded, []byte("null")
		if len(resolution.Output) > 0 {
			result, err := s.decode(resolution.Output)
			if err != nil {
				s.list.m.log(s.path, "warn", unreadable(err).Message+"; the step has no outputs")
			} else {
				s.setResult(result)
				s.outputs = resolution.Output
			}
		}
	case "did_not":
		s.status = runs.StepCanceled
	case "skip":
		s.status = runs.StepSkipped
	default:
		return fmt.Errorf("apply resolved %s: unknown outcome %q", s.path, resolution.Outcome)
	}
	s.err = nil
	s.list.known[s.code.step.ID] = s.value()
	s.list.m.touch(s)
	return nil
}
