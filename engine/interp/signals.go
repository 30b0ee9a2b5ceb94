package interp

import (
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// answer is an approval, a rejection or a signal, and who gave it when.
type answer struct {
	signal journal.Signal
	by     string
	at     time.Time
}

func (a *answer) decision() *runs.Decision {
	return &runs.Decision{By: a.by, At: a.at, Comment: a.signal.Comment, Rejected: a.signal.Rejected}
}

// signaled takes an answer for one step, or a signal for whichever step waits
// for its name. A signal goes to one step only: the first that it fits, in the
// order in which they began to wait. One that nobody waits for is kept.
func (m *Machine) signaled(ev journal.Event) error {
	if ev.Signal == nil {
		return fmt.Errorf("apply signal %s: it has no payload", ev.Path)
	}
	if m.phase == ending || m.phase == closed {
		return nil
	}
	given := &answer{signal: *ev.Signal, by: ev.By, at: m.at}
	for _, s := range m.awaiting {
		if ev.Path == s.path && s.awaiting.held == nil || ev.Path == "" && s.waitsFor(given) {
			s.take(given)
			return nil
		}
	}
	if ev.Path == "" {
		m.keepEarly(given)
	}
	return nil
}

// waitsFor reports whether a signal is the one that the step waits for.
func (s *step) waitsFor(given *answer) bool {
	if s.awaiting.signal == "" || s.awaiting.signal != given.signal.Name || s.awaiting.held != nil {
		return false
	}
	fits, err := s.awaiting.fits(s, given.signal.Payload)
	return err == nil && fits
}

// take goes on with an answer, or holds it until a process drives the run.
func (s *step) take(given *answer) {
	if !given.signal.Held {
		s.answeredBy(given)
		return
	}
	s.awaiting.held = given
	s.decision = given.decision()
	s.decision.Held = true
	s.list.m.touch(s)
}

// release lets take effect what was recorded while no process drove the run.
func (m *Machine) release() {
	for _, s := range slices.Clone(m.awaiting) {
		if s.awaiting != nil && s.awaiting.held != nil {
			s.answeredBy(s.awaiting.held)
		}
	}
	for _, s := range slices.Clone(m.resolved) {
		m.resolved = slices.DeleteFunc(m.resolved, func(other *step) bool { return other == s })
		held := s.resolution
		s.resolution = nil
		if held != nil && m.unknown[s.path] == s {
			// The words of a resolution were checked when it was recorded.
			_ = m.resolveStep(s, held)
		}
	}
}

// Held reports whether something was recorded that waits for a process to drive
// the run.
func (m *Machine) Held() bool {
	return len(m.resolved) > 0 || slices.ContainsFunc(m.awaiting, func(s *step) bool { return s.awaiting.held != nil })
}

// keepEarly keeps a signal that no step waits for yet.
func (m *Machine) keepEarly(given *answer) {
	m.dropOldSignals()
	if len(m.early) >= maxEarly {
		m.log("", "warn", fmt.Sprintf("more than %d signals wait for a step: the oldest, %s, is dropped", maxEarly, m.early[0].signal.Name))
		m.early = m.early[1:]
	}
	m.early = append(m.early, given)
}

func (m *Machine) dropOldSignals() {
	m.early = slices.DeleteFunc(m.early, func(a *answer) bool { return m.at.Sub(a.at) > earlyFor })
}

// takeEarly returns the oldest kept signal that a step waits for; nil when there
// is none. One of its name that breaks the step's schema is dropped with a word.
func (m *Machine) takeEarly(s *step, wait *awaiting) *answer {
	m.dropOldSignals()
	for i := 0; i < len(m.early); i++ {
		if m.early[i].signal.Name != wait.signal {
			continue
		}
		early := m.early[i]
		fits, err := wait.fits(s, early.signal.Payload)
		switch {
		case err != nil:
			m.log(s.path, "warn", fmt.Sprintf("an early signal %s does not fit and is dropped: %v", wait.signal, err))
			m.early = slices.Delete(m.early, i, i+1)
			i--
		case fits:
			m.early = slices.Delete(m.early, i, i+1)
			return early
		}
	}
	return nil
}
