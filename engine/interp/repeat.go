package interp

import (
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// roundDone takes the outputs of one round: of a step without `repeat` they are
// the step's.
func (s *step) roundDone(result any, raw json.RawMessage) {
	repeat := s.code.step.Repeat
	if repeat == nil {
		s.actionDone(result, raw)
		return
	}
	env := cloneEnv(s.list.env)
	value, err := made(result)
	if err != nil {
		s.fail(unreadable(err))
		return
	}
	env[rootResult] = value
	done, failure := s.list.m.condition(&repeat.Until, env)
	switch {
	case failure != nil:
		s.fail(failure)
	case done:
		s.actionDone(result, raw)
	case repeat.Max > 0 && s.action.round >= repeat.Max:
		s.fail(&runs.Error{
			Kind:    plan.KindTimeout,
			Reason:  "max",
			Message: fmt.Sprintf("`until` did not hold after %d rounds", repeat.Max),
		})
	default:
		s.waitForRound(repeat)
	}
}

func (s *step) waitForRound(repeat *plan.Repeat) {
	a := s.action
	a.round++
	a.attempt = 1
	a.paging = a.paging.fresh()
	if !s.list.live() {
		s.interrupt()
		return
	}
	s.sleep(journal.TimerRepeat, "round", repeat.Every, runs.StepWaiting, runs.Wait{Kind: runs.WaitRound, Attempt: a.round})
}

func (s *step) nextRound() { s.send() }

// actionDone ends the step; its watermark goes into the run's success.
func (s *step) actionDone(result any, raw json.RawMessage) {
	if name := s.code.step.Incremental; name != "" && len(s.action.watermark) > 0 {
		m := s.list.m
		if m.cursors == nil {
			m.cursors = map[string][]byte{}
		}
		m.cursors[s.cursorKey(name)] = s.action.watermark
	}
	s.action.paging.texts, s.action.paging.known = nil, nil // they stand in raw
	s.succeed(result, raw)
}
