package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// takeOver gives the steps of a rerun the results that its start names.
func (m *Machine) takeOver() error {
	if len(m.begun.Taken) == 0 {
		return nil
	}
	for i := range m.main.steps {
		s := &m.main.steps[i]
		taken := m.begun.Taken[s.code.step.ID]
		if taken == nil {
			continue
		}
		result, err := resultOf(taken)
		if err != nil {
			return fmt.Errorf("result of step %s, which is taken over: %w", s.path, err)
		}
		s.status, s.settled, s.taken, s.continued = taken.Status, true, true, taken.Continued
		s.result, s.outputs, s.err, s.attempts = result, taken.Outputs, taken.Error, taken.Attempts
		if s.long() != nil {
			s.outputs = nil // they stand in the result
		}
		s.endedAt = m.at
		m.main.known[s.code.step.ID] = s.value()
		m.touch(s)
	}
	m.main.count()
	return nil
}

func resultOf(taken *journal.Taken) (any, error) {
	switch {
	case len(taken.Items) > 0:
		return takenLong(taken)
	case len(taken.Result) > 0:
		return decodeTyped(taken.Result)
	case len(taken.Outputs) > 0:
		return anyType.Decode(taken.Outputs)
	}
	return nil, nil
}

// TakenOver is what a rerun from a step takes over.
type TakenOver struct {
	Results map[string]*journal.Taken
	Inputs  map[string][]string // by input: the steps among Results that read it, in file order
	All     []string            // those that read all inputs at once
}

// MainSteps returns the ids of the main steps that have a name, in file order.
func (m *Machine) MainSteps() []string {
	var ids []string
	for i := range m.program.main.steps {
		if id := m.program.main.steps[i].step.ID; id[0] != '_' {
			ids = append(ids, id)
		}
	}
	return ids
}

// TakeOver returns what a new run takes over that begins at a step. That are the
// results of all steps that ended well and that do not depend on it, nor on
// another one that runs anew. The step must have been decided on; else the error
// says why it was not.
func (m *Machine) TakeOver(from string) (*TakenOver, error) {
	if m.main == nil {
		return nil, fmt.Errorf("the run has not begun")
	}
	at := slices.IndexFunc(m.main.steps, func(s step) bool { return s.code.step.ID == from })
	if at < 0 {
		return nil, fmt.Errorf("there is no step %s", from)
	}
	if s := &m.main.steps[at]; s.startedAt.IsZero() && !s.taken {
		return nil, fmt.Errorf("step %s did not run: it is %s", from, s.status)
	}
	anew := m.runsAnew(at)
	taken := &TakenOver{Results: map[string]*journal.Taken{}, Inputs: map[string][]string{}}
	for i := range m.main.steps {
		s := &m.main.steps[i]
		if anew[i] || s.code.step.Kind == plan.StepSetState {
			continue // set_state is evaluated anew: what it writes belongs to the run's success
		}
		result, err := s.asTaken()
		if err != nil {
			return nil, err
		}
		taken.Results[s.code.step.ID] = result
		if err := taken.noteInputs(s.code.step); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// runsAnew marks the main steps that a rerun from one of them does again: itself,
// what did not end well or holds a secret, and all that follow one of these.
func (m *Machine) runsAnew(from int) []bool {
	anew := make([]bool, len(m.main.steps))
	var mark func(i int)
	mark = func(i int) {
		if anew[i] {
			return
		}
		anew[i] = true
		for _, next := range m.main.steps[i].code.dependents {
			mark(next)
		}
	}
	mark(from)
	for i := range m.main.steps {
		s := &m.main.steps[i]
		if !s.settled || s.bad() || s.holdsSecret() {
			mark(i)
		}
	}
	return anew
}

// holdsSecret reports whether a reference to a secret may stand in the outputs.
func (s *step) holdsSecret() bool {
	reference := []byte(`"$secret"`)
	if long := s.long(); long != nil && long.pages == nil {
		return bytes.Contains(long.json(), reference)
	} else if long != nil {
		return slices.ContainsFunc(long.pages, func(page pageText) bool { return bytes.Contains(page.items, reference) })
	}
	return bytes.Contains(s.outputs, reference)
}

// asTaken is the step's result for another run.
func (s *step) asTaken() (*journal.Taken, error) {
	taken := &journal.Taken{Status: s.status, Outputs: s.outputsJSON(), Error: s.err, Attempts: s.attempts, Continued: s.continued}
	if long := s.long(); s.result == nil || long != nil && long.take(taken) {
		return taken, nil
	}
	result, err := made(s.result)
	if err != nil {
		return nil, fmt.Errorf("read the result of step %s: %w", s.path, err)
	}
	if plain, err := anyType.Decode(taken.Outputs); err == nil && reflect.DeepEqual(plain, result) {
		return taken, nil
	}
	typed, err := encodeTyped(result)
	if err != nil {
		return nil, fmt.Errorf("keep the result of step %s: %w", s.path, err)
	}
	taken.Result = typed
	return taken, nil
}

// noteInputs notes which inputs a step reads.
func (t *TakenOver) noteInputs(code *plan.Step) error {
	reads := &bodyReads{root: rootInputs, names: map[string]bool{}}
	if err := reads.step(code); err != nil {
		return err
	}
	if reads.dynamic {
		t.All = append(t.All, code.ID)
	}
	for _, name := range reads.sorted() {
		t.Inputs[name] = append(t.Inputs[name], code.ID)
	}
	return nil
}

// EditedInputs returns the names whose values differ between two sets of inputs,
// sorted. Both are complete: the defaults are filled in.
func EditedInputs(before, after json.RawMessage) ([]string, error) {
	var old, now map[string]json.RawMessage
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	if err := json.Unmarshal(after, &now); err != nil {
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	var edited []string
	for name := range now {
		if !sameJSON(old[name], now[name]) {
			edited = append(edited, name)
		}
	}
	for name := range old {
		if _, there := now[name]; !there {
			edited = append(edited, name)
		}
	}
	slices.Sort(edited)
	return edited, nil
}

// sameJSON compares values, not how they are written.
func sameJSON(a, b json.RawMessage) bool {
	x, errA := anyType.Decode(a)
	y, errB := anyType.Decode(b)
	return errA == nil && errB == nil && reflect.DeepEqual(x, y)
}
