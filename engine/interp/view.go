package interp

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// touch notes that views must show the step again.
func (m *Machine) touch(s *step) {
	if !s.changed {
		s.changed = true
		m.changed = append(m.changed, s)
	}
}

// Changes returns the steps that changed since the last call, each once, in the
// order in which they first did.
func (m *Machine) Changes() []runs.Step {
	if len(m.changed) == 0 {
		return nil
	}
	views := make([]runs.Step, len(m.changed))
	for i, s := range m.changed {
		views[i] = s.view()
		s.changed = false
	}
	m.changed = m.changed[:0]
	return views
}

// Steps returns every step in file order, the steps of a loop's items that have
// begun in input order behind the loop, handlers last.
func (m *Machine) Steps() []runs.Step {
	if m.main == nil {
		return nil
	}
	views := m.main.views(nil)
	for _, handler := range m.handlers {
		views = handler.views(views)
	}
	return views
}

func (l *list) views(views []runs.Step) []runs.Step {
	for i := range l.steps {
		s := &l.steps[i]
		views = append(views, s.view())
		if s.loop == nil {
			continue
		}
		for j := range s.loop.items {
			if body := s.loop.items[j].list; body != nil {
				views = body.views(views)
			}
		}
	}
	return views
}

func (s *step) view() runs.Step {
	view := runs.Step{
		Path:       s.path,
		Status:     s.status,
		Attempts:   s.attempts,
		Outputs:    s.outputs,
		Error:      s.err,
		Uses:       s.code.step.Uses,
		Wait:       s.wait,
		Until:      timeOrNil(s.until),
		Message:    s.note,
		Prompt:     s.prompt,
		StartedAt:  timeOrNil(s.startedAt),
		FinishedAt: timeOrNil(s.endedAt),
		Cached:     s.cached,
		WaitedMS:   s.waited.Milliseconds(),
		Decision:   s.decision,
	}
	if s.awaiting != nil {
		view.Form = s.answerType().JSONSchema()
	}
	if s.child != nil {
		view.Run = s.child.runID
	}
	switch s.parked {
	case runs.PausedAuthRequired:
		view.Wait = string(runs.WaitLogin)
	case runs.PausedUnknownOutcome:
		view.Wait = string(runs.WaitResolve)
	case runs.PausedError, runs.PausedCrashLoop:
		view.Wait = string(runs.WaitResume)
	}
	if s.action != nil {
		view.Crashes = s.action.crashes
		if s.code.page != nil {
			view.Pages = s.action.paging.pages
		}
	}
	if s.taken {
		view.TakenFrom = s.list.m.begun.RerunOf
	}
	if s.loop != nil {
		view.Items, view.Done, view.ItemErrors = len(s.loop.items), s.loop.done, s.loop.errors
	}
	return view
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
