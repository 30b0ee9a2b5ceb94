package interp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

const rootState = "state"

// memory is what a run read of what earlier ones left, and what becomes of its
// own writes.
type memory struct {
	cursors map[string]uint64 // versions of the cursors that were read, by key
	moved   *runs.Error       // the store refused the writes of the success
	ahead   bool              // it did so when the run was about to begin or to go on: that event comes next
	discard bool              // a person said that nothing is to be written
}

func (r *memory) resume(ev journal.Event) {
	if !r.ahead || ev.Discard {
		r.moved = nil
	}
	r.discard = r.discard || ev.Discard
}

// refused notes that the store refuses what the run's success would write. Said
// before the run begins or goes on, it is of what would follow from that at once:
// else the same success would be tried again without end.
func (m *Machine) refused(cause *runs.Error) {
	m.memory.moved = cause
	m.memory.ahead = m.since(2) && m.phase != running
}

// memory compiles what the workflow keeps between runs.
func (c *compiler) memory(w *plan.Workflow) error {
	var err error
	if c.program.state, err = schema.FromJSONOr(w.State, nil); err != nil {
		return fmt.Errorf("read the schema of the state: %w", err)
	}
	if w.Concurrency != nil {
		if err := c.value(w.Concurrency.Key); err != nil {
			return fmt.Errorf("key of concurrency: %w", err)
		}
	}
	for i := range w.Steps {
		if w.Steps[i].Kind != plan.StepSetState {
			continue
		}
		for _, binding := range w.Steps[i].Let {
			c.program.reads[binding.Name] = true
		}
	}
	return nil
}

// stateReads notes which names of the state an expression reads; all of them
// where it reads the root as a whole.
func (c *compiler) stateReads(source string) {
	if c.program.state == nil {
		return
	}
	readsOf(source, rootState, func(path []string) {
		if len(path) > 1 {
			c.program.reads[path[1]] = true
			return
		}
		for _, name := range c.program.state.FieldNames() {
			c.program.reads[name] = true
		}
	})
}

// SlotKey evaluates the key under which runs of the workflow share their places;
// "" for one without `concurrency`.
func (p *Program) SlotKey(inputs json.RawMessage, at time.Time) (string, *runs.Error) {
	bounds := p.workflow.Concurrency
	if bounds == nil {
		return "", nil
	}
	m := p.NewMachine()
	m.at = at
	if len(inputs) == 0 {
		inputs = json.RawMessage("{}")
	}
	decoded, err := p.inputs.Decode(inputs)
	if err != nil {
		return "", &runs.Error{Kind: plan.KindInvalid, Message: fmt.Sprintf("inputs: %v", err)}
	}
	value, failure := m.resolve(bounds.Key, nil, map[string]any{rootInputs: decoded})
	if failure != nil {
		failure.Message = "the key of `concurrency`: " + failure.Message
		return "", failure
	}
	key := ""
	switch value := value.(type) {
	case string:
		key = value
	case bool, int:
		key = fmt.Sprint(value)
	}
	if key == "" || len(key) > maxSlotKey {
		return "", &runs.Error{
			Kind: plan.KindInvalid, Reason: reasonExpression,
			Message: fmt.Sprintf("the key of `concurrency` must be text of 1 to %d bytes, got %s", maxSlotKey, schema.TypeOf(value)),
		}
	}
	return key, nil
}

// maxSlotKey bounds the key of a place in bytes.
const maxSlotKey = 1000

// unstarted takes the events of a run that has been accepted and not begun.
func (m *Machine) unstarted(ev journal.Event) ([]journal.Command, error) {
	m.at = ev.At.UTC()
	switch ev.Kind {
	case journal.Queued:
		if ev.Start == nil {
			return nil, fmt.Errorf("apply queued: it has no payload")
		}
		m.begun, m.started = *ev.Start, m.at
		return nil, nil
	case journal.Refused:
		if ev.Failed == nil {
			return nil, fmt.Errorf("apply refused: it has no payload")
		}
		status := runs.RunFailed
		if ev.Failed.Kind == plan.KindCanceled {
			status = runs.RunCanceled
		}
		return m.endUnstarted(verdict{status, ev.Failed}), nil
	case journal.CancelRun:
		failure := &runs.Error{Kind: plan.KindCanceled, Message: "the run was canceled before it began"}
		if ev.Cancel != nil {
			failure.Reason = ev.Cancel.Reason
		}
		if ev.By != "" {
			failure.Message += ", by " + ev.By
		}
		return m.endUnstarted(verdict{runs.RunCanceled, failure}), nil
	case journal.Signaled: // kept for the step that will wait for it
		err := m.signaled(ev)
		commands := m.commands
		m.commands = nil
		return commands, err
	case journal.Moved:
		if m.since(2) {
			m.refused(ev.Failed)
		}
		return nil, nil
	case journal.Resumed, journal.Driven, journal.Stopped, journal.Limited:
		return nil, nil
	}
	return nil, fmt.Errorf("apply %s: the run has not started", ev.Kind)
}

// endUnstarted ends a run of which nothing has begun: no handler runs.
func (m *Machine) endUnstarted(v verdict) []journal.Command {
	m.phase, m.status, m.err = closed, v.status, v.err
	return []journal.Command{{Kind: journal.CommandFinish, Finish: &journal.Finish{Status: v.status, Error: v.err}}}
}

// Unstarted reports whether the run waits for its started event.
func (m *Machine) Unstarted() bool { return m.phase == waitingForStart }

// HasBegun reports whether the run has taken its started event.
func (m *Machine) HasBegun() bool { return m.main != nil }

// Begun returns the payload of the event that the run was accepted with.
func (m *Machine) Begun() journal.Start { return m.begun }

// StateNames returns the names of the workflow's state, in declared order.
func (m *Machine) StateNames() []string {
	if m.program.state == nil {
		return nil
	}
	return m.program.state.FieldNames()
}

// readState gives expressions the state at the run's start: what is stored, else
// the defaults.
func (m *Machine) readState() *runs.Error {
	t := m.program.state
	if t == nil {
		return nil
	}
	values := make(map[string]any, len(t.Fields))
	for _, field := range t.Fields {
		raw := m.begun.State[field.Name]
		stored := len(raw) > 0
		if !stored {
			raw = field.Type.Default
		}
		if len(raw) == 0 {
			values[field.Name] = nil
			continue
		}
		value, err := field.Type.DecodeExact(raw)
		if err != nil {
			return &runs.Error{
				Kind: plan.KindInvalid, Reason: "state", Applied: runs.NotApplied,
				Message: fmt.Sprintf("the stored state `%s` does not fit its declaration: %v", field.Name, err),
				Hint:    diag.Sayf("%s puts the default in its place", diag.Command{"state", "reset", m.program.workflow.Name, field.Name}).Plain(),
			}
		}
		values[field.Name] = value
	}
	m.env[rootState] = values
	return nil
}

// setState notes the values for the transaction of the run's success.
func (s *step) setState() {
	m := s.list.m
	values := make(map[string]json.RawMessage, len(s.code.step.Let))
	for _, binding := range s.code.step.Let {
		raw, failure := s.stateValue(binding)
		if failure != nil {
			s.fail(failure)
			return
		}
		values[binding.Name] = raw
	}
	if m.state == nil {
		m.state = map[string]json.RawMessage{}
	}
	maps.Copy(m.state, values)
	s.succeed(map[string]any{}, nil)
}

// stateValue evaluates a value and brings it into its declared type.
func (s *step) stateValue(binding plan.Binding) (json.RawMessage, *runs.Error) {
	m := s.list.m
	t := anyType
	if m.program.state != nil {
		if declared, ok := m.program.state.Field(binding.Name); ok {
			t = declared
		}
	}
	value, failure := m.resolve(binding.Value, t, s.list.env)
	if failure != nil {
		return nil, failure
	}
	accepted, err := t.Accept(value)
	if err != nil {
		return nil, &runs.Error{
			Kind: plan.KindInvalid, Reason: reasonExpression, Applied: runs.NotApplied,
			Message: m.place(s.code.step.Pos) + fmt.Sprintf("the state `%s`: %v", binding.Name, err),
		}
	}
	return encodeResult(accepted)
}

// readCursor notes which version of its cursor the step reads from. Pages that
// were read from different ones do not fit together.
func (s *step) readCursor(read *runs.CursorRead) *runs.Error {
	if read == nil || s.code.step.Incremental == "" {
		return nil
	}
	m, a := s.list.m, s.action
	if a.cursor != nil && *a.cursor != *read && !m.memory.discard {
		return &runs.Error{
			Kind: plan.KindConflict, Reason: "moved", Applied: runs.NotApplied,
			Message: fmt.Sprintf("the cursor `%s` was changed while the step was reading", s.code.step.Incremental),
		}
	}
	a.cursor = read
	if m.memory.cursors == nil {
		m.memory.cursors = map[string]uint64{}
	}
	m.memory.cursors[read.Key] = read.Version
	return nil
}

// cursorKey is the key of the step's cursor; its name where no store told one.
func (s *step) cursorKey(name string) string {
	if s.action.cursor != nil {
		return s.action.cursor.Key
	}
	return name
}

// writes reports whether the run's success has something to keep.
func (m *Machine) writes() bool { return !m.memory.discard && len(m.state)+len(m.cursors) > 0 }

// addWrites puts into a success what it keeps, with the versions that the run
// read.
func (m *Machine) addWrites(finish *journal.Finish) {
	if !m.writes() {
		return
	}
	finish.State, finish.Cursors = m.state, m.cursors
	for _, name := range slices.Sorted(maps.Keys(m.state)) {
		if finish.StateVersions == nil {
			finish.StateVersions = map[string]uint64{}
		}
		finish.StateVersions[name] = m.begun.StateVersions[name]
	}
	for key := range m.cursors {
		version, read := m.memory.cursors[key]
		if !read {
			continue
		}
		if finish.CursorVersions == nil {
			finish.CursorVersions = map[string]uint64{}
		}
		finish.CursorVersions[key] = version
	}
}

// Reads returns the versions of the state values and cursors that the run has
// read so far and that its success counts on. A run that discards its writes
// counts on none.
func (m *Machine) Reads() (state, cursors map[string]uint64) {
	if m.memory.discard || m.main == nil {
		return nil, nil
	}
	state = map[string]uint64{}
	for name := range m.program.reads {
		if m.program.state == nil {
			break
		}
		if _, declared := m.program.state.Field(name); declared {
			state[name] = m.begun.StateVersions[name]
		}
	}
	return state, maps.Clone(m.memory.cursors)
}
