package interp

import (
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// coreAction returns how the Machine itself runs an action; nil when a plugin
// does.
func coreAction(name string) func(*step, map[string]any) {
	switch name {
	case actionLog:
		return (*step).coreLog
	case actionFail:
		return (*step).coreFail
	case actionAssert:
		return (*step).coreAssert
	case actionSleep:
		return (*step).coreSleep
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
	m.emit(journal.Command{Kind: journal.CommandLog, Path: s.path, Log: &plan.Log{
		At: m.at, Level: textField(input, "level", "info"), Step: s.path, Message: textField(input, "text", ""),
	}})
	s.coreDone()
}

func (s *step) coreFail(input map[string]any) {
	s.fail(&plan.Error{
		Kind:    plan.ErrorKind(textField(input, "kind", string(plan.KindInternal))),
		Message: textField(input, "message", ""),
	})
}

func (s *step) coreAssert(input map[string]any) {
	if holds, _ := input["that"].(bool); holds {
		s.coreDone()
		return
	}
	s.fail(&plan.Error{
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
		s.fail(&plan.Error{
			Kind: plan.KindInvalid, Reason: reasonExpression,
			Message: m.place(s.code.step.Pos) + "core.sleep takes exactly one of `for` and `until`",
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
	s.op = m.timerPath(s.path, timerSleep)
	s.status, s.wait, s.until = plan.StepWaiting, "sleep", until.UTC()
	m.timer(s, s.op, timerSleep, s.until)
}

// awake ends a core.sleep.
func (s *step) awake() {
	s.op = ""
	s.coreDone()
}
