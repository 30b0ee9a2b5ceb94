package interp

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// step is a step of a running list.
type step struct {
	list    *list
	code    *stepCode
	path    string
	status  runs.StepStatus
	settled bool   // ended: what follows it may go on
	parked  string // not settled, since a person must act: the run's paused reason
	missing int    // needs that have not ended

	err       *runs.Error
	continued bool // failed, and on_error says continue
	outputs   json.RawMessage
	result    any // outputs as expressions see them, or the *outputText or *longOutputs that they are

	op     string // path of its open call or timer
	action *action
	loop   *loop
	late   *lateness // of a core.sleep: it ends before its time, as a failure; of an awaiting one: its timeout

	awaiting   *awaiting           // of a step that waits for an answer from outside
	decision   *runs.Decision      // who answered it
	resolution *journal.Resolution // of a step in the Machine's resolved
	child      *childRun           // of a sub-workflow

	attempts  int // of the operation that took the most
	note      string
	wait      string // the text of a runs.Wait
	until     time.Time
	prompt    *runs.Prompt
	cached    bool
	startedAt time.Time
	waited    time.Duration // of its calls for the rate limit, before they were sent
	endedAt   time.Time
	revised   int  // how often another plan changed it after it had begun: tells its calls from those before
	taken     bool // its result is that of the run that this one is a rerun of
	changed   bool // stands among the Machine's changed ones
}

// upstream is what run_if makes of the steps that a step follows.
type upstream uint8

const (
	upstreamFine  upstream = iota
	upstreamBad            // the step is blocked
	upstreamUnmet          // run_if: failed, and nothing has failed
)

// upstream decides run_if (docs/language.md, rule 8). cause is the first step that
// did not succeed.
func (s *step) upstream() (verdict upstream, cause string) {
	failed := false
	for _, place := range s.code.deps {
		dep := &s.list.steps[place]
		failed = failed || dep.bad() || dep.continued
		if cause == "" && dep.bad() {
			cause = dep.code.step.ID
		}
	}
	switch s.code.step.RunIf {
	case plan.RunIfAny:
		return upstreamFine, ""
	case plan.RunIfFailed:
		if !failed {
			return upstreamUnmet, ""
		}
		return upstreamFine, ""
	}
	if cause != "" {
		return upstreamBad, cause
	}
	return upstreamFine, ""
}

// bad reports whether the step ended in a way that blocks what follows.
func (s *step) bad() bool {
	switch s.status {
	case runs.StepFailed:
		return !s.continued
	case runs.StepBlocked, runs.StepCanceled, runs.StepUnknown:
		return true
	}
	return false
}

// succeed ends the step with its outputs. raw may be nil: then result is
// encoded.
func (s *step) succeed(result any, raw json.RawMessage) {
	if _, isLong := result.(*longOutputs); raw == nil && !isLong {
		encoded, err := encodeResult(result)
		if err != nil {
			s.fail(err)
			return
		}
		raw = encoded
	}
	s.setResult(result)
	s.outputs, s.err = raw, nil
	s.settle(runs.StepSucceeded)
}

// fail ends the step with an error, as its on_error says.
func (s *step) fail(failure *runs.Error) {
	s.err = s.complete(failure)
	switch s.reaction(failure.Kind) {
	case plan.ReactContinue:
		s.continued = true
	case plan.ReactPause:
		if s.list.m.phase == running { // handlers never wait for a person
			s.park(runs.StepFailed, s.pausedReason(failure.Kind))
			return
		}
	}
	s.settle(runs.StepFailed)
}

// complete fills in what an error does not know of its step.
func (s *step) complete(failure *runs.Error) *runs.Error {
	full := *failure
	if full.Step == "" {
		full.Step = s.path
	}
	if full.Action == "" && s.code.action != nil {
		full.Action = s.code.step.Uses
	}
	if full.Attempt == 0 && s.action != nil {
		full.Attempt = s.action.attempt
	}
	return &full
}

func (s *step) reaction(kind plan.ErrorKind) plan.Reaction {
	step := s.code.step
	if reaction, ok := step.OnError[kind]; ok {
		return reaction
	}
	if step.OnErrorAll != "" {
		return step.OnErrorAll
	}
	if kind == plan.KindAuthRequired && step.Kind == plan.StepAction {
		return plan.ReactPause
	}
	return plan.ReactFail
}

func (s *step) pausedReason(kind plan.ErrorKind) string {
	switch {
	case kind == plan.KindAuthRequired:
		return runs.PausedAuthRequired
	case kind == plan.KindUnknownOutcome && !s.list.m.since(5): // as if there were something to resolve
		return runs.PausedUnknownOutcome
	}
	return runs.PausedError
}

// park leaves the step to a person: it has stopped, but not ended.
func (s *step) park(status runs.StepStatus, reason string) {
	s.close()
	s.status, s.parked = status, reason
	s.list.m.parked = append(s.list.m.parked, s)
	s.list.m.touch(s)
}

// settle ends the step.
func (s *step) settle(status runs.StepStatus) {
	m := s.list.m
	s.close()
	s.status, s.settled, s.parked = status, true, ""
	m.touch(s)
	if s.bad() && s.err != nil && s.list == m.main && m.failure == nil {
		m.failure = s.err
	}
	s.list.settled(s)
}

// close ends what the step has open and what it showed of it.
func (s *step) close() {
	m := s.list.m
	m.forgetAwaiting(s)
	s.closeChild()
	if s.op != "" {
		m.cancel(s.op)
		s.op = ""
	}
	if s.action != nil && s.action.within != "" {
		m.cancel(s.action.within)
		s.action.within = ""
	}
	s.wait, s.until, s.prompt = "", time.Time{}, nil
	s.endedAt = m.at
}

// startLet evaluates the values of let in written order, or those of set_state; each sees
// the ones above it by bare name.
func (s *step) startLet() {
	if s.code.step.Kind == plan.StepSetState {
		s.setState()
		return
	}
	m := s.list.m
	env := cloneEnv(s.list.env)
	values := make(map[string]any, len(s.code.step.Let))
	for _, binding := range s.code.step.Let {
		value, err := m.resolve(binding.Value, nil, env)
		if err != nil {
			s.fail(err)
			return
		}
		values[binding.Name], env[binding.Name] = value, value
	}
	if long := m.storedOutputs(values); long != nil {
		s.succeed(long, nil)
		return
	}
	s.succeed(values, nil)
}
