package calls

import (
	"context"
	"errors"
	"sync"
	"time"
)

// open are the calls that belong to no run: `flowrun call`, logins. Safe
// for concurrent use.
type open struct {
	refusal error // of a call that comes when a stop has begun

	mu      sync.Mutex
	closed  bool
	running int
	idle    chan struct{} // closed when closed and the last one has ended

	admission, life context.Context // end when a stop begins, and when it has waited enough
	refuse, cancel  context.CancelFunc
}

func newOpen(refusal error) *open {
	o := &open{refusal: refusal, idle: make(chan struct{})}
	o.admission, o.refuse = context.WithCancel(context.Background())
	o.life, o.cancel = context.WithCancel(context.Background())
	return o
}

// enter counts a call and bounds its context by the engine's life; leave must be
// called.
func (o *open) enter(ctx context.Context) (bounded context.Context, leave func(), err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, nil, o.refusal
	}
	o.running++
	bounded, end := within(ctx, o.life)
	return bounded, func() {
		end()
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.running--; o.running == 0 && o.closed {
			close(o.idle)
		}
	}, nil
}

func (o *open) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.running
}

// drain refuses calls, waits for those that run and cancels them when ctx ends.
func (o *open) drain(ctx context.Context, grace time.Duration) error {
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		if o.running == 0 {
			close(o.idle)
		}
	}
	o.mu.Unlock()
	o.refuse()
	select {
	case <-o.idle:
		return nil
	case <-ctx.Done():
	}
	o.cancel()
	select {
	case <-o.idle:
		return nil
	case <-time.After(grace):
		return errors.New("a call outside of runs does not end")
	}
}

// pauseBetween waits before the next attempt, or poll, of a call outside of runs.
// A stop ends the wait: nothing is in flight.
func (o *open) pauseBetween(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-o.admission.Done():
		return o.refusal
	case <-ctx.Done():
		return ctx.Err()
	}
}

// within is ctx that also ends with another.
func within(ctx, other context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return bounded, func() {
		stop()
		cancel()
	}
}
