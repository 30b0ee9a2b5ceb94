package interp

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// childRun is the run of a sub-workflow. It outlives a failure: a resume of the
// parent goes on with the same run.
type childRun struct {
	runID  string
	inputs json.RawMessage
	timer  string // path of the open timer of its timeout; "" = none
	seen   int    // the last of its attempts whose end came here
}

// ChildID is the id of a sub-workflow's run. It follows from the parent's id and
// the operation path, so that a start that is asked for twice is one run.
func ChildID(parent, path string, at time.Time) string {
	var id ulid.ULID
	sum := sha256.Sum256([]byte(parent + "\x00" + path))
	copy(id[6:], sum[:])
	if err := id.SetTime(ulid.Timestamp(at)); err != nil {
		_ = id.SetTime(0) // after the year 10889 the time is left out
	}
	return strings.ToLower(id.String())
}

func (s *step) startChild() {
	m := s.list.m
	if s.child == nil {
		begun, failure := s.prepareChild()
		if failure != nil {
			s.fail(failure)
			return
		}
		s.child = begun
	}
	timeout := s.code.step.Timeout
	if timeout <= 0 && s.list.code.handler {
		timeout = defaultHandlerTimeout
	}
	if timeout > 0 {
		s.child.timer = m.timerPath(s.path, journal.TimerTimeout)
		m.timer(s, s.child.timer, journal.TimerTimeout, m.at.Add(timeout))
	}
	s.op = s.path
	m.issue(s, journal.Command{Kind: journal.CommandChild, Path: s.op, Child: &journal.ChildStart{
		Step: s.path, Workflow: s.code.step.Workflow, RunID: s.child.runID, Inputs: s.child.inputs, After: s.child.seen,
	}})
	m.touch(s)
}

func (s *step) prepareChild() (*childRun, *runs.Error) {
	m := s.list.m
	input, failure := m.input(s)
	if failure != nil {
		return nil, failure
	}
	encoded, failure := encodeResult(input)
	if failure != nil {
		return nil, failure
	}
	filled, err := fillDefaults(s.code.action.input, encoded)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInternal, Message: "fill in the inputs of the sub-workflow: " + err.Error()}
	}
	return &childRun{runID: ChildID(m.begun.RunID, s.path, m.at), inputs: filled}, nil
}

// childEnded takes the end or the pause of a sub-workflow's run.
func (m *Machine) childEnded(ev journal.Event) error {
	op := m.open[ev.Path]
	if op == nil || op.command.Kind != journal.CommandChild {
		return nil
	}
	if ev.Child == nil {
		return fmt.Errorf("apply child_ended %s: it has no payload", ev.Path)
	}
	m.forget(ev.Path)
	if m.phase == running {
		m.history.addEvent(ev)
	}
	op.step.childDone(ev.Child)
	m.checkHistory()
	return nil
}

func (s *step) childDone(end *journal.Child) {
	s.op, s.child.seen = "", end.Attempt
	s.closeChild()
	switch {
	case end.Failed == nil && end.Paused == "":
		s.childSucceeded(end)
	case !s.list.live():
		s.interrupt()
	case end.Paused != "" && s.list.m.phase == running:
		s.err = s.complete(s.childFailure(end))
		s.note = fmt.Sprintf("its run %s is paused", s.child.runID)
		s.park(runs.StepWaiting, end.Paused)
	default:
		s.fail(s.childFailure(end))
	}
}

func (s *step) childSucceeded(end *journal.Child) {
	outputs := end.Outputs
	if len(outputs) == 0 {
		outputs = json.RawMessage("{}")
	}
	result, err := s.code.output.Decode(outputs)
	if err != nil {
		s.fail(unreadable(err))
		return
	}
	s.succeed(result, outputs)
}

// childFailure is the failure of the child's run as the error of its parent's
// step (docs/language.md, rule 25).
func (s *step) childFailure(end *journal.Child) *runs.Error {
	failure := &runs.Error{Kind: plan.KindInternal, Message: "it did not end well"}
	where := s.code.step.Uses
	if cause := end.Failed; cause != nil {
		failure.Kind, failure.Reason, failure.Message, failure.Hint = cause.Kind, cause.Reason, cause.Message, cause.Hint
		if cause.Step != "" {
			where += " in its step " + cause.Step
		}
	}
	failure.Message = where + ": " + failure.Message
	failure.Details, _ = schema.Encode(map[string]any{"run": s.child.runID}) // text always encodes
	return failure
}

// closeChild ends the timer of the child's timeout.
func (s *step) closeChild() {
	if s.child != nil && s.child.timer != "" {
		s.list.m.cancel(s.child.timer)
		s.child.timer = ""
	}
}

// timedOut ends a step whose answer or sub-workflow took too long.
func (s *step) timedOut() {
	if s.awaiting != nil {
		s.unanswered()
		return
	}
	if s.child == nil {
		return
	}
	s.child.timer = ""
	timeout := s.code.step.Timeout
	if timeout <= 0 {
		timeout = defaultHandlerTimeout
	}
	failure := &runs.Error{
		Kind: plan.KindTimeout, Reason: "timeout",
		Message: fmt.Sprintf("%s took longer than the step's timeout of %s", s.code.step.Uses, schema.FormatDuration(timeout)),
	}
	failure.Details, _ = schema.Encode(map[string]any{"run": s.child.runID})
	s.fail(failure)
}

// Ending reports whether the run was stopped and waits for the end of what is in
// flight.
func (m *Machine) Ending() bool { return m.phase == ending }
