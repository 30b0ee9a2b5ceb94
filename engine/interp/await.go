package interp

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// awaiting is a step's wait for an approval or a signal. It is no operation of
// the driver: nothing goes on by it until somebody answers.
type awaiting struct {
	signal string         // of core.wait; "" = an approval
	match  map[string]any // fields of the payload that must be equal
	held   *answer        // recorded while no process drove the run
}

// coreApprove asks a person; the form's fields are the step's outputs.
func (s *step) coreApprove(input map[string]any) {
	s.note = textField(input, "message", "")
	s.await(&awaiting{}, runs.WaitApproval)
}

// coreWait waits for a signal. One that came within the last 24 hours and that
// no other step took is taken at once.
func (s *step) coreWait(input map[string]any) {
	m := s.list.m
	wait := &awaiting{signal: textField(input, "signal", "")}
	wait.match, _ = input["match"].(map[string]any)
	s.note = "waiting for the signal " + wait.signal
	if early := m.takeEarly(s, wait); early != nil {
		s.answeredBy(early)
		return
	}
	s.await(wait, runs.WaitSignal)
}

// await leaves the step waiting until it is answered, or for its timeout. Without
// one it may wait as long as the run.
func (s *step) await(wait *awaiting, shown runs.WaitKind) {
	m := s.list.m
	s.awaiting, s.status, s.wait = wait, runs.StepWaiting, string(shown)
	m.awaiting = append(m.awaiting, s)
	if wait.signal == "" {
		m.asks++
	}
	if s.late = s.limit(); s.late != nil {
		s.op, s.until = m.timerPath(s.path, journal.TimerTimeout), s.late.at
		m.timer(s, s.op, journal.TimerTimeout, s.late.at)
	}
	m.touch(s)
}

// limit returns the step's first bound; nil when it has none.
func (s *step) limit() *lateness { return s.sleepLimit(s.list.m.at.Add(1<<63 - 1)) }

// unanswered ends a step that nobody answered in time.
func (s *step) unanswered() {
	s.op = ""
	late, what := s.late, "nobody decided"
	if s.awaiting.signal != "" {
		what = fmt.Sprintf("the signal %s did not come", s.awaiting.signal)
	}
	s.fail(&runs.Error{
		Kind:    plan.KindTimeout,
		Reason:  late.reason,
		Message: fmt.Sprintf("%s within the step's %s of %s", what, late.reason, schema.FormatDuration(late.limit)),
	})
}

// forgetAwaiting takes the step from those that wait for an answer.
func (m *Machine) forgetAwaiting(s *step) {
	if s.awaiting == nil {
		return
	}
	if s.awaiting.signal == "" {
		m.asks--
	}
	s.awaiting, s.late = nil, nil
	m.awaiting = slices.DeleteFunc(m.awaiting, func(other *step) bool { return other == s })
}

// answeredBy ends the step by what a person, or whoever sent the signal, said.
func (s *step) answeredBy(a *answer) {
	m := s.list.m
	approval := s.code.step.Uses == runs.CoreApprove
	m.forgetAwaiting(s)
	s.decision = a.decision()
	if approval && a.signal.Rejected {
		message := "it was rejected"
		if a.by != "" {
			message += " by " + a.by
		}
		if a.signal.Comment != "" {
			message += ": " + a.signal.Comment
		}
		s.fail(&runs.Error{Kind: plan.KindDenied, Reason: "rejected", Message: message})
		return
	}
	result, err := decodeAnswer(s.code.output, a.signal.Payload, !approval)
	if err != nil {
		s.fail(unreadable(err)) // whoever passes it on has checked it, so that this is rare
		return
	}
	s.note = ""
	s.succeed(result, nil)
}

// decodeAnswer reads an answer by the type of the step's outputs: a form's
// fields, defaults filled in, or the payload of a signal.
func decodeAnswer(t *schema.Type, payload json.RawMessage, isSignal bool) (map[string]any, error) {
	if isSignal {
		part, _ := t.Field("payload")
		value, err := decodePayload(part, payload)
		if err != nil {
			return nil, err
		}
		return map[string]any{"payload": value}, nil
	}
	value, err := decodePayload(t, payload)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &schema.Mismatch{Message: "a form is an object, got " + schema.TypeOf(value)}
	}
	return object, nil
}

func decodePayload(t *schema.Type, payload json.RawMessage) (any, error) {
	if t == nil {
		t = anyType
	}
	if len(payload) == 0 {
		payload = json.RawMessage("null")
		if t.Kind == schema.Object {
			payload = json.RawMessage("{}")
		}
	}
	filled, err := fillDefaults(t, payload)
	if err != nil {
		return nil, err
	}
	return t.DecodeExact(filled)
}

// fillDefaults adds what an object lacks: its fields' defaults, null for those
// that need not be there.
func fillDefaults(t *schema.Type, payload json.RawMessage) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if t.Kind != schema.Object || json.Unmarshal(payload, &object) != nil || object == nil {
		return payload, nil // what it is instead is told by its decoding
	}
	for _, field := range t.Fields {
		if _, there := object[field.Name]; there {
			continue
		}
		switch {
		case field.Type.Default != nil:
			object[field.Name] = field.Type.Default
		case !field.Required && field.Type.AcceptsNull():
			object[field.Name] = json.RawMessage("null")
		}
	}
	return json.Marshal(object)
}

// fits reports whether the payload of a signal is one that the step waits for.
func (w *awaiting) fits(s *step, payload json.RawMessage) (matches bool, err error) {
	answer, err := decodeAnswer(s.code.output, payload, true)
	if err != nil {
		return false, err
	}
	if len(w.match) == 0 {
		return true, nil
	}
	object, ok := answer["payload"].(map[string]any)
	if !ok {
		return false, nil
	}
	for name, want := range w.match {
		got, there := object[name]
		if !there || !equalValues(got, want) {
			return false, nil
		}
	}
	return true, nil
}

// equalValues compares values as JSON shows them; numbers by their size.
func equalValues(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	return schema.Same(a, b)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Await is what a step waits for.
type Await struct {
	Path   string
	Signal string          // the name that core.wait waits for; "" = an approval
	Answer json.RawMessage // the JSON Schema of the answer: a form, or the payload
	Type   *schema.Type    // the same as a type
	Held   bool            // it was answered; nobody drove the run
}

// Awaiting returns what a step waits for; false when it waits for no answer.
func (m *Machine) Awaiting(path string) (Await, bool) {
	for _, s := range m.awaiting {
		if s.path == path {
			return s.describeAwait(), true
		}
	}
	return Await{}, false
}

// AwaitingSignal returns the steps that wait for a signal of a name, in the
// order in which they began to.
func (m *Machine) AwaitingSignal(name string) []Await {
	var awaits []Await
	for _, s := range m.awaiting {
		if s.awaiting.signal == name && name != "" {
			awaits = append(awaits, s.describeAwait())
		}
	}
	return awaits
}

func (s *step) describeAwait() Await {
	t := s.answerType()
	return Await{Path: s.path, Signal: s.awaiting.signal, Answer: t.JSONSchema(), Type: t, Held: s.awaiting.held != nil}
}

// answerType is the type of the answer to a step that waits for one.
func (s *step) answerType() *schema.Type {
	if s.code.step.Uses == runs.CoreApprove {
		return s.code.output
	}
	if part, ok := s.code.output.Field("payload"); ok && part != nil {
		return part
	}
	return anyType
}

// CheckAnswer says why an answer does not fit what a step waits for; nil when it
// does. The error is a *schema.Mismatch, or says that `match` asks for another
// payload.
func (m *Machine) CheckAnswer(path string, payload json.RawMessage) error {
	for _, s := range m.awaiting {
		if s.path != path {
			continue
		}
		if s.awaiting.signal == "" {
			_, err := decodeAnswer(s.code.output, payload, false)
			return err
		}
		fits, err := s.awaiting.fits(s, payload)
		if err == nil && !fits {
			err = &schema.Mismatch{Message: "the payload is not the one that the step's `match` asks for"}
		}
		return err
	}
	return nil
}

// Resolvable reports whether a step has an unknown outcome that a person can
// close.
func (m *Machine) Resolvable(path string) bool {
	return m.unknown[path] != nil && m.unknown[path].resolution == nil
}

// Resolved reports whether the unknown outcome of a step was closed while nobody
// drove the run: the next resume goes by it.
func (m *Machine) Resolved(path string) bool {
	return m.unknown[path] != nil && m.unknown[path].resolution != nil
}

// ForPeople reports whether nothing goes on in the run without a person or a
// signal. children is how many of its sub-workflows are known to wait so.
func (m *Machine) ForPeople(children int) bool {
	return m.phase == running && m.calls == children && m.waits == 0 && len(m.awaiting)+children > 0
}

// Asks returns how many steps of the run ask a person for a decision.
func (m *Machine) Asks() int { return m.asks }

// earlyFor is how long a signal that nobody waits for is kept (docs/language.md, rule
// 20), maxEarly how many of them.
const (
	earlyFor = 24 * time.Hour
	maxEarly = 1000
)

// Signals returns the names that the workflow's core.wait steps wait for, in file
// order; open says that one of them computes its name.
func (m *Machine) Signals() (names []string, open bool) {
	w := m.program.workflow
	for _, steps := range [][]plan.Step{w.Steps, w.OnSuccess, w.OnFailure, w.Finally} {
		found, computed := signalsOf(steps)
		names, open = append(names, found...), open || computed
	}
	return names, open
}

func signalsOf(steps []plan.Step) (names []string, open bool) {
	for i := range steps {
		step := &steps[i]
		if step.Loop != nil {
			found, computed := signalsOf(step.Loop.Steps)
			names, open = append(names, found...), open || computed
		}
		if step.Uses != runs.CoreWait || step.Kind != plan.StepAction {
			continue
		}
		if name, ok := signalOf(step); ok {
			names = append(names, name)
		} else {
			open = true
		}
	}
	return names, open
}

// CheckOutcome says why an output can't be the one of a call whose outcome is
// unknown; nil when it can.
func (m *Machine) CheckOutcome(path string, output json.RawMessage) error {
	s := m.unknown[path]
	if s == nil || len(output) == 0 {
		return nil
	}
	_, err := s.decode(output)
	return err
}

// SignalOf returns the name of the signal that a step outside of loops waits for,
// or will wait for. ok is false where there is no such step, or where it computes
// the name.
func (m *Machine) SignalOf(id string) (name string, ok bool) {
	steps := m.program.workflow.Steps
	i := slices.IndexFunc(steps, func(s plan.Step) bool { return s.ID == id && s.Kind == plan.StepAction && s.Uses == runs.CoreWait })
	if i < 0 {
		return "", false
	}
	return signalOf(&steps[i])
}

// signalOf reads the name out of a core.wait step.
func signalOf(step *plan.Step) (name string, ok bool) {
	var with struct{ Signal string }
	switch step.With.Kind {
	case plan.ValueLiteral:
		ok = json.Unmarshal(step.With.Literal, &with) == nil
		return with.Signal, ok
	case plan.ValueObject:
		value, _ := part(step.With, "signal")
		ok = value.Kind == plan.ValueLiteral && json.Unmarshal(value.Literal, &name) == nil
	}
	return name, ok
}
