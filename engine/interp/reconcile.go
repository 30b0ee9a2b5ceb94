package interp

import (
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// reconcileTimeout bounds one question to a plugin about a lost call.
const reconcileTimeout = time.Minute

// reasonOutputs is the reason of an unknown outcome that took effect and whose
// outputs are not known.
const reasonOutputs = "outputs"

// loss is an effect of which nobody knows whether it happened.
type loss struct {
	cause    *runs.Error
	mayRetry bool // there are time and attempts left
	again    bool // the same attempt is sent again when it did not happen: the engine stopped, not the service failed
}

// lose handles a lost effect: the plugin is asked, where it can be, else it is
// unknown (docs/language.md, rule 11).
func (s *step) lose(l loss) {
	if s.code.action.action.Reconcile && s.list.live() {
		s.reconcile(l)
		return
	}
	s.lost(l.cause, l.mayRetry)
}

// reconcile asks the plugin what became of the operation at hand.
func (s *step) reconcile(l loss) {
	m := s.list.m
	if s.op != "" { // `within` is over while the call is open
		m.cancel(s.op)
	}
	asked := s.operation()
	s.action.loss = &l
	s.status, s.wait, s.until = runs.StepRunning, "", time.Time{}
	s.note = "asking whether it took effect: " + l.cause.Message
	call := s.callNow()
	call.Effect, call.Timeout, call.Cursor, call.Cache, call.Reconcile = plan.EffectRead, reconcileTimeout, "", 0, asked
	s.op = runs.PartPath(asked, runs.PartReconcile, 0)
	m.issue(s, journal.Command{Kind: journal.CommandCall, Path: s.op, Call: call})
	m.touch(s)
}

// reconciled goes on by the plugin's word on a lost call.
func (s *step) reconciled(outcome *runs.Outcome) {
	l := *s.action.loss
	s.action.loss = nil
	s.note = ""
	switch outcome.Applied {
	case runs.AppliedFully:
		s.didHappen(l, outcome)
	case runs.AppliedPartly:
		s.fail(s.found(l, runs.AppliedPartly, "the plugin says that a part of it took effect", outcome.Note))
	case runs.NotApplied:
		s.didNot(l, outcome)
	default:
		cause := s.found(l, runs.AppliedUnknown, "the plugin can't tell", outcome.Note)
		if !s.list.live() {
			s.interruptedUnknown(cause)
			return
		}
		s.lost(cause, l.mayRetry)
	}
}

// found is the failure of a lost call with what its plugin found out.
func (s *step) found(l loss, applied runs.Applied, what, note string) *runs.Error {
	failure := *s.complete(l.cause)
	failure.Applied = applied
	failure.Message += "; " + what
	if note != "" {
		failure.Message += " (" + note + ")"
	}
	return &failure
}

// didHappen ends a lost call that took effect, with its outputs. Where they are
// not known a person must say them.
func (s *step) didHappen(l loss, outcome *runs.Outcome) {
	m, output := s.list.m, outcome.Output
	if len(output) == 0 {
		output = []byte("{}")
	}
	if _, err := s.decode(output); err == nil {
		m.log(s.path, "info", s.found(l, runs.AppliedFully, "the plugin says that it took effect", outcome.Note).Message)
		s.completed(&runs.Completed{Output: output})
		return
	}
	failure := s.found(l, runs.AppliedFully, "the plugin says that it took effect, its outputs are not known", outcome.Note)
	failure.Kind, failure.Reason = plan.KindUnknownOutcome, reasonOutputs
	failure.Hint = diag.Sayf("look them up in the service, then say `flowrun runs resolve %s '%s' --happened --output JSON`", m.begun.RunID, s.path)
	if s.code.step.OnUnknown == "fail" {
		s.failUnknown(failure)
		return
	}
	s.leaveUnknown(failure)
}

// didNot goes on after a lost call that certainly did not take effect: one that
// the engine's end cut off is sent again as it was, another as its `retry` says.
func (s *step) didNot(l loss, outcome *runs.Outcome) {
	m := s.list.m
	failure := s.found(l, runs.NotApplied, "the plugin says that nothing took effect", outcome.Note)
	switch {
	case !s.list.live():
		s.interrupt()
	case l.again && s.action.crashes >= maxCrashes:
		s.crashLoop()
	case l.again:
		m.log(s.path, "info", failure.Message)
		s.send()
	case l.mayRetry && s.retries(failure):
		s.retry(failure)
	default:
		s.fail(failure)
	}
}
