package interp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// ReplanError says that a run can't go on by another plan: what it has done
// stands there differently, or not at all.
type ReplanError struct {
	Step string // RunStep.Path; "" = it is not about one step
	What string
}

func (e *ReplanError) Error() string {
	if e.Step == "" {
		return e.What
	}
	return "step " + e.Step + ": " + e.What
}

// Workflow returns the plan that the run goes by now.
func (m *Machine) Workflow() *plan.Workflow { return m.program.workflow }

// CheckReplan says whether a stopped run can go on by another plan: steps that
// have ended well or are open must stand there unchanged, those that failed or
// never began may be others (docs/language.md, rule 21). nil, or a *ReplanError.
func (m *Machine) CheckReplan(next *plan.Workflow) error {
	switch {
	case m.main == nil:
		return &ReplanError{What: "the run has not begun"}
	case m.phase != paused && m.phase != closed || m.status == runs.RunSucceeded:
		return &ReplanError{What: "the run has not stopped"}
	}
	now := m.program.workflow
	switch {
	case now.Name != next.Name:
		return &ReplanError{What: fmt.Sprintf("the file holds the workflow %s, the run is one of %s", next.Name, now.Name)}
	case !bytes.Equal(now.State, next.State):
		return &ReplanError{What: "the declared `state` has changed"}
	case !sameJSONOf(bare(now.Concurrency), bare(next.Concurrency)):
		return &ReplanError{What: "`concurrency` has changed"}
	}
	return m.main.checkReplan([]*list{m.main}, next.Steps, now, next)
}

func bare(c *plan.Concurrency) *plan.Concurrency {
	if c == nil {
		return nil
	}
	copied := *c
	stripValue(&copied.Key)
	return &copied
}

// checkReplan compares the steps of a list, or of all items of a loop, with
// those of another plan.
func (l *list) checkReplan(lists []*list, next []plan.Step, now, then *plan.Workflow) error {
	for i := range l.code.steps {
		code := l.code.steps[i].step
		at := slices.IndexFunc(next, func(s plan.Step) bool { return s.ID == code.ID })
		for _, one := range lists {
			s := &one.steps[i]
			if !s.keeps() {
				continue
			}
			if at < 0 {
				return &ReplanError{Step: s.path, What: "it has run already and is not in the file any more"}
			}
			if err := s.checkKept(&next[at], now, then); err != nil {
				return err
			}
		}
	}
	return nil
}

// keeps reports whether the step has done something that another plan must
// leave as it is.
func (s *step) keeps() bool {
	switch {
	case s.status == runs.StepPending, s.status == runs.StepBlocked, s.startedAt.IsZero() && !s.taken:
		return false
	case s.status == runs.StepFailed && !s.continued, s.status == runs.StepCanceled:
		return s.loop != nil || s.child != nil // what it began goes on
	}
	return true
}

func (s *step) checkKept(next *plan.Step, now, then *plan.Workflow) error {
	if s.loop == nil || s.settled && !s.bad() {
		if what := differs(s.code.step, next); what != "" {
			return &ReplanError{Step: s.path, What: what}
		}
		if s.child != nil && s.bad() && now.Workflows[s.code.step.Workflow].Source != then.Workflows[next.Workflow].Source {
			return &ReplanError{Step: s.path, What: "the workflow that it runs has changed, and its run goes on by the old one"}
		}
		return nil
	}
	if what := differs(withoutBody(s.code.step), withoutBody(next)); what != "" {
		return &ReplanError{Step: s.path, What: what}
	}
	var items []*list
	for i := range s.loop.items {
		if list := s.loop.items[i].list; list != nil {
			items = append(items, list)
		}
	}
	if len(items) == 0 {
		return nil
	}
	return items[0].checkReplan(items, next.Loop.Steps, now, then)
}

func withoutBody(step *plan.Step) *plan.Step {
	if step.Loop == nil {
		return step
	}
	copied, loop := *step, *step.Loop
	loop.Steps = nil
	copied.Loop = &loop
	return &copied
}

// differs says in what a step of two plans differs; "" = it is the same for what
// it has done. How long it may take and how often it is tried does not count.
func differs(a, b *plan.Step) string {
	x, y := stripped(a), stripped(b)
	for _, part := range []struct {
		name string
		same bool
	}{
		{"kind", x.Kind == y.Kind},
		{"uses", x.Uses == y.Uses && x.Workflow == y.Workflow},
		{"with", sameJSONOf(x.With, y.With)},
		{"connection", sameJSONOf(x.Connection, y.Connection)},
		{"needs", slices.Equal(x.Needs, y.Needs)},
		{"if", sameJSONOf(x.If, y.If)},
		{"run_if", x.RunIf == y.RunIf},
		{"let", sameJSONOf(x.Let, y.Let)},
		{"foreach", sameJSONOf(x.Loop, y.Loop)},
		{"paginate", sameJSONOf(x.Paginate, y.Paginate)},
		{"repeat", sameJSONOf(x.Repeat, y.Repeat)},
		{"incremental", x.Incremental == y.Incremental},
		{"on_error", x.OnErrorAll == y.OnErrorAll && sameJSONOf(x.OnError, y.OnError)},
	} {
		if !part.same {
			return fmt.Sprintf("it has run already, and its `%s` differs in the file", part.name)
		}
	}
	return ""
}

func sameJSONOf(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// stripped is a copy of a step without the places in its file.
func stripped(step *plan.Step) *plan.Step {
	var copied plan.Step
	encoded, err := json.Marshal(step)
	if err == nil {
		err = json.Unmarshal(encoded, &copied)
	}
	if err != nil {
		return step // plans come from JSON
	}
	stripStep(&copied)
	return &copied
}

func stripStep(s *plan.Step) {
	s.Pos = plan.Pos{}
	stripExpr(s.If)
	stripValue(s.Connection)
	stripValue(&s.With)
	for i := range s.Let {
		stripValue(&s.Let[i].Value)
	}
	if s.Repeat != nil {
		stripExpr(&s.Repeat.Until)
	}
	if s.Loop == nil {
		return
	}
	s.Loop.MaxParallel = 0
	stripValue(&s.Loop.Foreach)
	stripExpr(s.Loop.Key)
	stripValue(s.Loop.KeyText)
	stripValue(s.Loop.Collect)
	for i := range s.Loop.Steps {
		body := &s.Loop.Steps[i]
		stripStep(body)
		body.Title, body.Timeout, body.Within, body.Retry, body.Cache, body.OnUnknown = "", 0, 0, nil, 0, ""
	}
}

func stripExpr(x *plan.Expr) {
	if x != nil {
		x.Pos = plan.Pos{}
	}
}

func stripValue(v *plan.Value) {
	if v == nil {
		return
	}
	if v.Expr != nil {
		copied := *v.Expr
		copied.Pos = plan.Pos{}
		v.Expr = &copied
	}
	v.Text, v.Object, v.List = slices.Clone(v.Text), slices.Clone(v.Object), slices.Clone(v.List)
	for i := range v.Text {
		if x := v.Text[i].Expr; x != nil {
			v.Text[i].Expr = &plan.Expr{Source: x.Source}
		}
	}
	for i := range v.Object {
		stripValue(&v.Object[i].Value)
	}
	for i := range v.List {
		stripValue(&v.List[i])
	}
}

// replan goes over to another plan. The run stays stopped: a resume goes on.
func (m *Machine) replan(ev journal.Event) error {
	if ev.Replan == nil {
		return fmt.Errorf("apply replanned: it has no payload")
	}
	workflow, err := plan.Decode(ev.Replan.Plan)
	if err != nil {
		return fmt.Errorf("apply replanned: %w", err)
	}
	if err := m.CheckReplan(workflow); err != nil {
		return fmt.Errorf("apply replanned: %w", err)
	}
	program, err := Compile(workflow)
	if err != nil {
		return fmt.Errorf("apply replanned: %w", err)
	}
	inputs, err := program.inputs.Decode(ev.Replan.Inputs)
	if err != nil {
		return fmt.Errorf("apply replanned: inputs: %w", err)
	}
	if len(m.open) > 0 {
		return errors.New("apply replanned: something is in flight")
	}
	m.program = program
	m.begun.Inputs, m.begun.Plugins = ev.Replan.Inputs, ev.Replan.Plugins
	state, known := m.env[rootState], m.main.known
	m.env = m.rootEnv(inputs)
	m.env[rootRun], m.env[rootSteps] = m.runValue(m.status), known
	if state != nil {
		m.env[rootState] = state
	}
	m.main = m.main.moved(program.main, m.env)
	m.relink()
	m.commands = nil // a stopped run gives none
	return nil
}

// moved is the list under another plan: what has been done stays, what failed or
// never began is as the plan says now.
func (l *list) moved(code *listCode, env map[string]any) *list {
	fresh := l.m.newList(code, l.prefix, env)
	fresh.item = l.item
	for i := range l.steps {
		old := &l.steps[i]
		at := slices.IndexFunc(fresh.steps, func(s step) bool { return s.code.step.ID == old.code.step.ID })
		if at < 0 {
			delete(fresh.known, old.code.step.ID)
			continue
		}
		fresh.steps[at].inherit(old)
	}
	fresh.count()
	fresh.ended = l.ended && fresh.left == 0
	return fresh
}

// inherit takes over what the step has come to. One that failed and stands there
// differently now begins anew; so does one that never began.
func (s *step) inherit(old *step) {
	code, list, path := s.code, s.list, s.path
	same := differs(old.code.step, code.step) == ""
	if !old.keeps() && !(same && old.status == runs.StepFailed) {
		delete(list.known, code.step.ID)
		s.revised = old.revised
		if !same && old.action != nil {
			s.revised++
		}
		return
	}
	*s = *old
	s.code, s.list, s.path = code, list, path
	if s.loop == nil {
		return
	}
	l := *s.loop
	l.step, l.items = s, slices.Clone(s.loop.items)
	s.loop = &l
	for i := range l.items {
		it := &l.items[i]
		it.loop = &l
		if it.list == nil {
			continue
		}
		env := it.list.env
		if env != nil { // of an item that has not succeeded
			known, _ := env[rootSteps].(map[string]any)
			env = l.itemEnv(it.index)
			for _, body := range it.list.code.steps {
				if value, there := known[body.step.ID]; there {
					env[rootSteps].(map[string]any)[body.step.ID] = value
				}
			}
		}
		it.list = it.list.moved(code.loop.body, env)
		it.list.item = it
	}
}

// relink finds the steps again that the Machine remembers.
func (m *Machine) relink() {
	byPath := map[string]*step{}
	m.main.each(func(s *step) {
		s.changed = false
		byPath[s.path] = s
	})
	again := func(steps []*step) (kept []*step) {
		for _, s := range steps {
			if found := byPath[s.path]; found != nil {
				kept = append(kept, found)
			}
		}
		return kept
	}
	m.changed, m.dirty = nil, nil
	m.parked, m.resolved, m.awaiting = again(m.parked), again(m.resolved), again(m.awaiting)
	m.asks = 0
	for _, s := range m.awaiting {
		if s.awaiting != nil && s.awaiting.signal == "" {
			m.asks++
		}
	}
	for path := range m.unknown {
		if found := byPath[path]; found != nil {
			m.unknown[path] = found
		} else {
			delete(m.unknown, path)
		}
	}
	m.main.each(func(s *step) { m.touch(s) })
}

// each visits the steps of a list and of its loops' items.
func (l *list) each(visit func(*step)) {
	for i := range l.steps {
		s := &l.steps[i]
		visit(s)
		if s.loop == nil {
			continue
		}
		for j := range s.loop.items {
			if body := s.loop.items[j].list; body != nil {
				body.each(visit)
			}
		}
	}
}
