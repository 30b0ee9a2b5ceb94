package interp

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// coreAction returns how the Machine itself runs an action; nil when a plugin
// does.
func coreAction(name string) func(*step, map[string]any) {
	switch name {
	case runs.CoreLog:
		return (*step).coreLog
	case runs.CoreFail:
		return (*step).coreFail
	case runs.CoreAssert:
		return (*step).coreAssert
	case runs.CoreSleep:
		return (*step).coreSleep
	case runs.CoreApprove:
		return (*step).coreApprove
	case runs.CoreWait:
		return (*step).coreWait
	}
	return nil
}

func (s *step) startCore(run func(*step, map[string]any)) {
	input, failure := s.list.m.input(s)
	if failure != nil {
		s.fail(failure)
		return
	}
	run(s, input)
}

func textField(input map[string]any, name, fallback string) string {
	if text, ok := input[name].(string); ok {
		return text
	}
	return fallback
}

func (s *step) coreDone() { s.succeed(map[string]any{}, nil) }

func (s *step) coreLog(input map[string]any) {
	m := s.list.m
	m.emit(journal.Command{Kind: journal.CommandLog, Path: s.path, Log: &runs.Log{
		At: m.at, Level: textField(input, "level", "info"), Step: s.path, Message: textField(input, "text", ""),
	}})
	s.coreDone()
}

func (s *step) coreFail(input map[string]any) {
	s.fail(&runs.Error{
		Kind:    plan.ErrorKind(textField(input, "kind", string(plan.KindInternal))),
		Message: textField(input, "message", ""),
	})
}

func (s *step) coreAssert(input map[string]any) {
	if holds, _ := input["that"].(bool); holds {
		s.coreDone()
		return
	}
	s.fail(&runs.Error{
		Kind:    plan.KindInvalid,
		Reason:  reasonAssertion,
		Message: textField(input, "message", "the assertion does not hold"),
	})
}

func (s *step) coreSleep(input map[string]any) {
	m := s.list.m
	duration, hasFor := input["for"].(time.Duration)
	until, hasUntil := input["until"].(time.Time)
	if hasFor == hasUntil {
		s.fail(&runs.Error{
			Kind: plan.KindInvalid, Reason: reasonExpression,
			Message: m.place(s.code.step.Pos) + runs.CoreSleep + " takes exactly one of `for` and `until`",
		})
		return
	}
	if hasFor {
		until = m.at.Add(duration)
	}
	if !until.After(m.at) {
		s.coreDone()
		return
	}
	s.late = s.sleepLimit(until)
	if s.late != nil {
		until = s.late.at
	}
	s.op = m.timerPath(s.path, journal.TimerSleep)
	s.status, s.wait, s.until = runs.StepWaiting, string(runs.WaitSleep), until.UTC()
	m.timer(s, s.op, journal.TimerSleep, s.until)
}

// lateness is the end of a wait that is longer than its step may take.
type lateness struct {
	at     time.Time
	reason string // timeout or within
	limit  time.Duration
}

// sleepLimit returns the first bound of the step that ends before until does;
// nil when there is none (docs/language.md, rules 10 and 25).
func (s *step) sleepLimit(until time.Time) *lateness {
	now, step := s.list.m.at, s.code.step
	timeout := step.Timeout
	if timeout <= 0 && s.list.code.handler {
		timeout = defaultHandlerTimeout
	}
	var late *lateness
	for _, bound := range []lateness{{reason: "timeout", limit: timeout}, {reason: "within", limit: step.Within}} {
		bound.at = now.Add(bound.limit)
		if bound.limit > 0 && bound.at.Before(until) {
			late, until = &bound, bound.at
		}
	}
	return late
}

// awake ends a core.sleep.
func (s *step) awake() {
	s.op = ""
	late := s.late
	s.late = nil
	if late == nil {
		s.coreDone()
		return
	}
	s.fail(&runs.Error{
		Kind:    plan.KindTimeout,
		Reason:  late.reason,
		Message: fmt.Sprintf("the step took longer than its %s of %s", late.reason, schema.FormatDuration(late.limit)),
	})
}
