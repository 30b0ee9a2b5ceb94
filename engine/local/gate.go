package local

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

// Gate is asked before every call, before the limiter: it holds calls back while
// there is no room to store what they would answer (docs/reliability.md, P12). Enter
// returns when the call may go on, or with ctx. onWait says why it waits and when
// it looks again; it may be called more than once.
type Gate interface {
	Enter(ctx context.Context, onWait func(reason string, until time.Time)) error
}

// rateLimit is the reason of a wait for the limiter.
const rateLimit = plan.WaitRateLimit

// passGate waits for the gate, where there is one, and shows the wait.
func (r *run) passGate(ctx context.Context, held *holdUp) error {
	if r.driver.options.Gate == nil {
		return nil
	}
	err := r.driver.options.Gate.Enter(ctx, held.wait)
	held.end()
	return err
}

// holdUp is what keeps one call from being sent: it is shown while it lasts, and
// noted for the record of the answer. A call that nothing holds up costs nothing.
type holdUp struct {
	run   *run
	step  string
	since time.Time // of the wait at hand; zero = there is none
	why   string
	waits []plan.Wait
}

// wait begins a wait, or says anew until when it lasts.
func (h *holdUp) wait(reason string, until time.Time) {
	if until.IsZero() {
		return
	}
	if h.since.IsZero() {
		h.since, h.why = h.run.driver.now(), reason
	}
	h.run.mail.put(message{wait: &limiterWait{path: h.step, since: h.since, until: until, reason: reason}})
}

// end ends the wait at hand, where there is one.
func (h *holdUp) end() {
	if h.since.IsZero() {
		return
	}
	h.waits = append(h.waits, plan.Wait{For: h.why, From: h.since, Until: h.run.driver.now()})
	h.since = time.Time{}
	h.run.mail.put(message{wait: &limiterWait{path: h.step}})
}

// in returns the answer of the call, with what has held it up.
func (h *holdUp) in(answer plan.Answer) plan.Answer {
	answer.Waits = h.waits
	return answer
}
