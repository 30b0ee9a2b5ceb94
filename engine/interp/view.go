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
// order in which they first did. Long outputs are left out: OutputsBytes says so.
func (m *Machine) Changes() []runs.Step {
	if len(m.changed) == 0 {
		return nil
	}
	views := make([]runs.Step, len(m.changed))
	for i, s := range m.changed {
		views[i] = s.view(false)
		s.changed = false
	}
	m.changed = m.changed[:0]
	return views
}

// DropChanges is Changes for who does not look at them.
func (m *Machine) DropChanges() {
	for _, s := range m.changed {
		s.changed = false
	}
	m.changed = m.changed[:0]
}

// Steps returns every step in file order, the steps of a loop's items that have
// begun in input order behind the loop, handlers last.
func (m *Machine) Steps() []runs.Step { return m.views(true) }

// StepsInShort is Steps without long outputs, as Changes leaves them out.
func (m *Machine) StepsInShort() []runs.Step { return m.views(false) }

func (m *Machine) views(whole bool) (views []runs.Step) {
	m.eachStep(func(s *step) { views = append(views, s.view(whole)) })
	return views
}

// OpenSteps are those of StepsInShort that have not ended.
func (m *Machine) OpenSteps() (views []runs.Step) {
	m.eachStep(func(s *step) {
		if !s.status.Ended() {
			views = append(views, s.view(false))
		}
	})
	return views
}

// eachStep visits all steps in the order of Steps.
func (m *Machine) eachStep(visit func(*step)) {
	if m.main == nil {
		return
	}
	m.main.eachStep(visit)
	for _, handler := range m.handlers {
		handler.eachStep(visit)
	}
}

func (l *list) eachStep(visit func(*step)) {
	for i := range l.steps {
		s := &l.steps[i]
		visit(s)
		if s.loop == nil {
			continue
		}
		for j := range s.loop.items {
			if body := s.loop.items[j].list; body != nil {
				body.eachStep(visit)
			}
		}
	}
}

// view shows the step; whole says that its outputs are there however long they are.
func (s *step) view(whole bool) runs.Step {
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
	if long := s.long(); long != nil {
		view.OutputsBytes = long.bytes
		if whole {
			view.Outputs, view.OutputsBytes = long.json(), 0
		}
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
	at := t // so that a zero time takes no memory
	return &at
}
