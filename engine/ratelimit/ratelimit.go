// Package ratelimit keeps the rate limits of services: one bucket for each key,
// shared by all runs. It asks no service; what a service answers closes a bucket
// for everybody.
package ratelimit

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Limiter holds the buckets. Safe for concurrent use. It starts no goroutine:
// every caller waits on its own.
type Limiter struct {
	now      func() time.Time
	after    func(time.Duration) <-chan time.Time
	onChange func(key string)

	mu      sync.Mutex
	buckets map[string]*bucket
}

// New returns a Limiter on a clock: time.Now and time.After, or virtual ones.
func New(now func() time.Time, after func(time.Duration) <-chan time.Time) *Limiter {
	return &Limiter{now: now, after: after, buckets: map[string]*bucket{}}
}

// OnChange sets what is called after a bucket was closed by CloseUntil, so that
// its row can be stored. Set it before the first use.
func (l *Limiter) OnChange(changed func(key string)) { l.onChange = changed }

// waiter is one caller in a bucket's queue.
type waiter struct {
	spec Spec
	wake chan struct{} // holds one token when the waiter shall look again
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Acquire waits for its turn in the bucket of key, first come first served, and
// for a permit. release must be called once, when the answer is there, with the
// time of the answer (zero = now); later calls do nothing. A request that was
// never sent counts like one that was.
//
// onWait, which may be nil, hears when the permit is expected: at the start of a
// wait and again whenever that changes by more than a second, on the caller's
// goroutine. The error is ctx's alone; the place in the queue is given up then.
func (l *Limiter) Acquire(ctx context.Context, key string, spec Spec, onWait func(until time.Time)) (release func(answeredAt time.Time), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &waiter{spec: spec, wake: make(chan struct{}, 1)}
	b := l.enqueue(key, w)
	var reported time.Time
	for {
		permit, expected, sleep := l.try(b, w)
		if permit != nil {
			return l.releaser(b, permit), nil
		}
		if onWait != nil && notable(reported, expected) {
			reported = expected
			onWait(expected)
		}
		select {
		case <-w.wake:
		case <-l.timer(sleep):
		case <-ctx.Done():
			l.leave(b, w)
			return nil, ctx.Err()
		}
	}
}

// notable reports whether an expected time is worth to be told again.
func notable(reported, expected time.Time) bool {
	return reported.IsZero() || expected.Sub(reported).Abs() > time.Second
}

// timer returns nil, which never fires, where only a signal can help.
func (l *Limiter) timer(sleep time.Duration) <-chan time.Time {
	if sleep <= 0 {
		return nil
	}
	return l.after(sleep)
}

func (l *Limiter) enqueue(key string, w *waiter) *bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key)
	b.queue = append(b.queue, w)
	return b
}

func (l *Limiter) bucket(key string) *bucket {
	b := l.buckets[key]
	if b == nil {
		b = &bucket{}
		l.buckets[key] = b
	}
	return b
}

// try grants w a permit if it is first and one is free. Else it says when one is
// expected, and how long to sleep before looking again (0 = until a signal).
func (l *Limiter) try(b *bucket, w *waiter) (granted *permit, expected time.Time, sleep time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	place := b.place(w)
	if place == 0 {
		free, ok := b.free(w.spec, now)
		if !free.After(now) && ok {
			b.queue = slices.Delete(b.queue, 0, 1)
			b.signalFirst()
			return b.grant(w.spec, now), time.Time{}, 0
		}
		if ok {
			return nil, free, free.Sub(now)
		}
		return nil, later(free, now), 0
	}
	// Others are first: look again when the turn was expected, to tell a new
	// time then. The grant itself comes with a signal.
	expected = b.expect(w.spec, now, place)
	if !expected.After(now) {
		return nil, now, 0
	}
	return nil, expected, max(expected.Sub(now), time.Second)
}

// leave gives a place up; the next in line may be first now.
func (l *Limiter) leave(b *bucket, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b.remove(w)
	b.signalFirst()
}

func (l *Limiter) releaser(b *bucket, p *permit) func(time.Time) {
	var once sync.Once
	return func(answeredAt time.Time) {
		once.Do(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if answeredAt.IsZero() {
				answeredAt = l.now()
			}
			b.answer(p, answeredAt)
			b.signalFirst()
		})
	}
}

// CloseUntil closes the bucket of key for everybody, as a service's "too many
// requests" asks for. It never shortens what is closed already.
func (l *Limiter) CloseUntil(key string, until time.Time) {
	l.mu.Lock()
	b := l.bucket(key)
	longer := until.After(b.closedUntil)
	if longer {
		b.closedUntil = until
		for _, w := range b.queue {
			w.signal()
		}
	}
	changed := l.onChange
	l.mu.Unlock()
	if longer && changed != nil {
		changed(key)
	}
}
