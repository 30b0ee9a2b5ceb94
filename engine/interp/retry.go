package interp

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// applied is what is known of the effect of a failed call.
type applied uint8

const (
	effectNone    applied = iota // certainly not applied, or repeating it is safe
	effectKnown                  // applied, or refused in a way that ends it
	effectUnknown                // nobody knows
)

func (s *step) once() bool { return s.code.action.action.Effect == plan.EffectOnce }

// attemptFailed decides what follows a failed attempt (docs/language.md, rules 10
// and 11).
func (s *step) attemptFailed(failure *runs.Error) {
	m := s.list.m
	failure = s.complete(failure)
	outcome := s.effect(failure)
	switch {
	case !s.list.live():
		s.interrupted(failure)
	case failure.Kind == plan.KindCursorExpired && s.restartPaging():
		m.log(s.path, "warn", "the page cursor expired: reading starts again from the first page, what was read is dropped")
		s.action.attempt = 1
		s.send()
	case outcome == effectUnknown && !s.mayRepeatRefused(failure):
		s.lose(loss{cause: failure, mayRetry: true})
	case outcome == effectKnown && !s.mayRepeatRefused(failure), !s.retries(failure):
		s.exhausted(failure, outcome)
	default:
		s.retry(failure)
	}
}

// exhausted ends a step that is not tried again.
func (s *step) exhausted(failure *runs.Error, outcome applied) {
	if outcome == effectUnknown {
		s.lose(loss{cause: failure})
		return
	}
	s.fail(failure)
}

// effect says what is known of the effect of a failed call, as far as it
// matters for sending it again.
func (s *step) effect(failure *runs.Error) applied {
	if !s.once() {
		return effectNone
	}
	return outcomeOf(failure)
}

func outcomeOf(failure *runs.Error) applied {
	switch {
	case failure.Applied == runs.AppliedFully, failure.Applied == runs.AppliedPartly:
		return effectKnown
	case failure.Kind == plan.KindRateLimited:
		return effectKnown // certainly not applied, and yet sent again only where the step says so (rule 11)
	case failure.Applied == runs.NotApplied:
		return effectNone
	}
	switch failure.Kind {
	case plan.KindInvalid, plan.KindUnauthorized, plan.KindAuthRequired, plan.KindForbidden, plan.KindNotFound:
		return effectNone // the service refused it
	case plan.KindRateLimited, plan.KindConflict, plan.KindQuotaExhausted, plan.KindDenied, plan.KindExpired,
		plan.KindCursorExpired, plan.KindUnsupported:
		return effectKnown
	}
	return effectUnknown
}

// mayRepeatRefused reports whether the author's own `retry` allows a `once`
// call to be sent again after 429 or 503.
func (s *step) mayRepeatRefused(failure *runs.Error) bool {
	if s.code.step.Retry == nil || !s.code.step.Retry.Explicit {
		return false
	}
	if failure.Applied == runs.AppliedFully || failure.Applied == runs.AppliedPartly {
		return false
	}
	return failure.Kind == plan.KindRateLimited ||
		failure.Kind == plan.KindUnavailable && failure.HTTPStatus == http.StatusServiceUnavailable
}

// retries reports whether the step's `retry` covers the failure, has an attempt left,
// and another attempt can end otherwise.
func (s *step) retries(failure *runs.Error) bool {
	policy := s.code.step.Retry
	if failure.Kind == plan.KindUnexpectedResponse && failure.Reason == runs.ReasonTooLarge && s.list.m.since(6) {
		return false
	}
	return policy != nil && s.action.attempt < policy.Attempts && slices.Contains(policy.On, failure.Kind)
}

// retry waits for the backoff, then tries again.
func (s *step) retry(failure *runs.Error) {
	policy, a := s.code.step.Retry, s.action
	next := a.attempt + 1
	s.err = failure // shown while it waits
	s.note = failure.Message
	wait := runs.Wait{Kind: runs.WaitRetry, Attempt: next, Of: policy.Attempts}
	s.sleep(journal.TimerRetry, "retry"+strconv.Itoa(next), s.backoff(policy, failure), runs.StepRetrying, wait)
}

// again sends the next attempt.
func (s *step) again() {
	s.err, s.note = nil, ""
	s.action.attempt++
	s.send()
}

// backoff is the delay before the next attempt. Its jitter follows from the run
// and the operation alone, so that a replay gives the same.
func (s *step) backoff(policy *plan.Retry, failure *runs.Error) time.Duration {
	delay := float64(policy.Delay) * math.Pow(max(policy.Factor, 1), float64(s.action.attempt-1))
	limit := float64(policy.MaxDelay)
	if limit <= 0 {
		limit = float64(24 * time.Hour)
	}
	delay = min(delay, limit)
	delay += delay * policy.Jitter * spread(s.list.m.begun.RunID, s.operation(), s.action.attempt)
	delay = max(0, min(delay, limit), min(failure.RetryAfterS, maxRetryAfter.Seconds())*float64(time.Second))
	return time.Duration(delay).Round(time.Millisecond)
}

// maxRetryAfter bounds what a service may ask for; a run's timeout is shorter in
// most cases.
const maxRetryAfter = 30 * 24 * time.Hour

// spread gives a number from -1 to 1 that is always the same for the same
// attempt.
func spread(runID, operation string, attempt int) float64 {
	sum := sha256.Sum256([]byte(runID + "\x00" + operation + "\x00" + strconv.Itoa(attempt)))
	return float64(binary.BigEndian.Uint64(sum[:8]))/float64(math.MaxUint64)*2 - 1
}

// lost handles an effect whose outcome nobody knows, as on_unknown says.
// mayRetry is false when there is no time or attempt left.
func (s *step) lost(cause *runs.Error, mayRetry bool) {
	policy := s.code.step.Retry
	if s.code.step.OnUnknown == "retry" && mayRetry && policy != nil && s.action.attempt < policy.Attempts {
		s.retry(s.complete(cause))
		return
	}
	failure := s.unknownOutcome(cause)
	if s.code.step.OnUnknown == "fail" || s.code.step.OnUnknown == "retry" {
		s.failUnknown(failure)
		return
	}
	s.leaveUnknown(failure)
}

// failUnknown fails a step whose outcome nobody knows. Where `on_error` pauses for
// that, it is a person's to resolve: a resume would send the call again.
func (s *step) failUnknown(failure *runs.Error) {
	m := s.list.m
	if m.since(5) && m.phase == running && s.reaction(plan.KindUnknownOutcome) == plan.ReactPause {
		s.leaveUnknown(failure)
		return
	}
	s.fail(failure)
}

// leaveUnknown leaves an unknown outcome to a person.
func (s *step) leaveUnknown(failure *runs.Error) {
	s.err = s.complete(failure)
	if s.list.m.phase != running {
		s.settle(runs.StepUnknown)
		return
	}
	s.list.m.unknown[s.path] = s
	s.park(runs.StepUnknown, runs.PausedUnknownOutcome)
}

// unknownOutcome tells a person what is not known and what to do.
func (s *step) unknownOutcome(cause *runs.Error) *runs.Error {
	failure := *cause
	failure.Kind, failure.Reason = plan.KindUnknownOutcome, string(cause.Kind)
	failure.Applied = runs.AppliedUnknown
	failure.Message = fmt.Sprintf("whether %s took effect is not known: %s", s.code.step.Uses, cause.Message)
	failure.Hint = diag.Sayf("look it up in the service, then say `flowrun runs resolve %s '%s' --happened`, `--did-not` or `--skip`", s.list.m.begun.RunID, s.path)
	return &failure
}
