package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// ending is what a schedule came to.
type ending struct {
	status  runs.Status
	err     *runs.Error
	outputs map[string]json.RawMessage
	steps   []runs.Step
	last    *journal.Finish // of the run
	log     map[string]*sendings
	crashed bool
}

func (s *sim) ending() *ending {
	status, _ := s.m.Status()
	return &ending{
		status: status, err: s.m.Error(), outputs: s.m.Outputs(), steps: s.m.Steps(), last: s.watch.last(),
		log: s.service.log, crashed: s.lostCalls > 0,
	}
}

// compare holds what a schedule came to against the model: one outcome each.
func (s *ending) compare(m *model) {
	if s.status != m.status {
		violated("the run is %s (%v), the model says %s", s.status, s.err, m.status)
	}
	if m.status == runs.RunSucceeded {
		for name, want := range m.outputs {
			if got := s.outputs[name]; string(got) != string(encoded(want)) {
				violated("output %s is %s, the model says %s", name, got, encoded(want))
			}
		}
		s.compareWrites(m)
	}
	views := map[string]runs.Step{}
	for _, view := range s.steps {
		views[view.Path] = view
	}
	for _, list := range append([]*mlist{m.main}, m.handlers...) {
		list.each(func(want *mstep) {
			view, there := views[want.path]
			if want.list.optional {
				return
			}
			if !there {
				violated("step %s is missing, the model says %s", want.path, want.status)
			}
			s.compareStep(want, view)
		})
	}
	s.compareEffects(m)
}

func (s *ending) compareStep(want *mstep, view runs.Step) {
	if want.status == runs.StepPending && strings.Contains(want.path, "[") {
		return // of an item that waits for its place: it shows what it was
	}
	if view.Status != want.status {
		violated("step %s is %s (%v), the model says %s (%v)", want.path, view.Status, view.Error, want.status, want.err)
	}
	inTurn := want.loop != nil && want.node.parallel == 1 && want.outputs != nil // a loop that stopped keeps what had ended
	if want.status == runs.StepSucceeded || want.status == runs.StepFailed && inTurn {
		if got, wanted := normal(view.Outputs), encoded(want.outputs); !bytes.Equal(got, normal(wanted)) {
			violated("step %s gave %s, the model says %s", want.path, got, wanted)
		}
	}
	if want.err == nil || want.status != runs.StepFailed {
		return
	}
	if view.Error == nil || view.Error.Kind != want.err.kind || want.err.reason != "" && view.Error.Reason != want.err.reason {
		violated("step %s failed with %+v, the model says %v", want.path, view.Error, *want.err)
	}
}

// normal is an output without the messages of errors, keys in order.
func normal(raw json.RawMessage) []byte {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return raw
	}
	object, _ := value.(map[string]any)
	failures, _ := object["errors"].([]any)
	for _, failure := range failures {
		delete(failure.(map[string]any), "message")
	}
	return encoded(value)
}

func (s *ending) compareWrites(m *model) {
	last := s.last
	state, marks := map[string]string{}, map[string]string{}
	for name, value := range last.State {
		state[name] = string(value)
	}
	for name, mark := range last.Cursors {
		marks[name] = string(mark)
	}
	wanted := map[string]string{}
	for name, value := range m.state {
		wanted[name] = string(encoded(value))
	}
	if !maps.Equal(state, wanted) || !maps.Equal(marks, m.marks) {
		violated("the success writes state %v and cursors %v, the model says %v and %v", state, marks, wanted, m.marks)
	}
}

// compareEffects: the same effects by key. What was in flight at a crash may have
// been sent once more with the same key, never a once call.
func (s *ending) compareEffects(m *model) {
	paths := map[string]bool{}
	for path := range m.effects {
		paths[path] = true
	}
	for path := range s.log {
		paths[path] = true
	}
	crashed := s.crashed
	var wrong []string
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		want, got := m.effects[path], s.log[path]
		optional := want != nil && want.optional || want == nil && s.stoppedLoop(m, path)
		switch {
		case optional:
		case want == nil:
			if got.effect != "read" && got.reached > 0 {
				wrong = append(wrong, fmt.Sprintf("%s was asked for %d times, the model never does", path, got.reached))
			}
		case got == nil || got.reached < want.sends && want.effect != "once":
			if !crashed || got == nil || got.reached == 0 {
				wrong = append(wrong, fmt.Sprintf("%s was asked for %v, the model says %d times", path, got, want.sends))
			}
		case got.reached > want.sends && !crashed:
			wrong = append(wrong, fmt.Sprintf("%s was asked for %d times, the model says %d", path, got.reached, want.sends))
		case want.effect == "once" && got.lost == 0 && got.applied != want.applied:
			wrong = append(wrong, fmt.Sprintf("the once call %s took effect %d times, the model says %d", path, got.applied, want.applied))
		case want.effect == "keyed" && (got.applied > 0) != (want.applied > 0):
			wrong = append(wrong, fmt.Sprintf("the effect of %s happened %d times, the model says %d", path, got.applied, want.applied))
		}
	}
	if len(wrong) > 0 {
		violated("%s", strings.Join(wrong, "\n"))
	}
}

// stoppedLoop reports whether an operation belongs to an item that a loop began,
// or did not begin, by the order of time.
func (s *ending) stoppedLoop(m *model, path string) bool {
	i := strings.LastIndex(path, "].")
	if i < 0 {
		return false
	}
	found := false
	m.main.each(func(step *mstep) {
		if step.loop != nil && step.loop.stopped && step.node.parallel > 1 && strings.HasPrefix(path, step.path+"[") {
			found = true
		}
	})
	return found
}
