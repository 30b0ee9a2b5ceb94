package local

import (
	"context"
	"time"
)

// Gate is asked before every call, before the limiter: it holds calls back while
// there is no room to store what they would answer (docs/reliability.md, P12). Enter
// returns when the call may go on, or with ctx. onWait says why it waits and when
// it looks again; it may be called more than once.
type Gate interface {
	Enter(ctx context.Context, onWait func(reason string, until time.Time)) error
}

// rateLimit is the reason of a wait for the limiter.
const rateLimit = "rate limit"

// passGate waits for the gate, where there is one, and shows the wait.
func (r *run) passGate(ctx context.Context, step string) error {
	if r.driver.options.Gate == nil {
		return nil
	}
	waited := false
	err := r.driver.options.Gate.Enter(ctx, func(reason string, until time.Time) {
		waited = true
		r.mail.put(message{wait: &limiterWait{path: step, until: until, reason: reason}})
	})
	if waited {
		r.mail.put(message{wait: &limiterWait{path: step}})
	}
	return err
}
