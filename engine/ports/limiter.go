// Package ports is what the driver of runs asks of the engine: limits that remember in the
// store what services have counted, answers of reads that may be given again, room on the
// disk, and calls that an observer hears of.
package ports

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/ratelimit"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// LimitSource knows the limits that a call falls under.
type LimitSource interface {
	LimitBuckets(action *plan.Action, connection string) ([]workspace.LimitBucket, error)
}

// limiterBucket is the store's bucket of limiter rows.
const limiterBucket = "limiter"

// Limiter asks the buckets that an action of a connection falls into: one per
// limiter and the values of the config fields of its scope, shared by all runs.
// The first change of a row is stored at once and those after it a few times a
// second, so that a restart remembers what the services have counted without a
// commit for every call.
type Limiter struct {
	source LimitSource
	around Surroundings
	limits *ratelimit.Limiter
	rows   store.KV

	mu     sync.Mutex
	dirty  map[string]struct{}
	closed bool
	wake   chan struct{}
	ending chan struct{} // closed when no more changes come
	writer sync.WaitGroup
}

// NewLimiter returns the limits of a project's connections, with what their services
// have counted as the store knows it. close ends it.
func NewLimiter(source LimitSource, limits *ratelimit.Limiter, rows store.KV, around Surroundings) (*Limiter, error) {
	l := &Limiter{source: source, around: around, limits: limits, rows: rows, dirty: map[string]struct{}{}, wake: make(chan struct{}, 1), ending: make(chan struct{})}
	if err := l.restore(); err != nil {
		return nil, err
	}
	limits.OnChange(l.changed)
	l.writer.Go(l.writeRows)
	return l, nil
}

func (l *Limiter) restore() error {
	keys, err := l.rows.List(limiterBucket, "")
	if err != nil {
		return fmt.Errorf("list limiter rows: %w", err)
	}
	stored := map[string][]byte{}
	for _, key := range keys {
		value, _, ok, err := l.rows.Get(limiterBucket, key)
		if err != nil {
			return fmt.Errorf("read limiter row %s: %w", key, err)
		}
		if ok {
			stored[key] = value
		}
	}
	if err := l.limits.Restore(stored); err != nil {
		l.around.Log.Warn("limiter row not restored", "error", err)
	}
	return nil
}

// changed notes that a row must be written; many changes become one write.
func (l *Limiter) changed(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.dirty[key] = struct{}{}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// rowInterval is the least time between two writes of limiter rows: what a
// killed process can forget. A write shares its commit with the runs' records.
const rowInterval = 250 * time.Millisecond

// writeRows stores what changed until close: a change after a quiet time at
// once, since the process may be killed before the interval ends.
func (l *Limiter) writeRows() {
	for range l.wake {
		l.mu.Lock()
		dirty := l.dirty
		l.dirty = map[string]struct{}{}
		l.mu.Unlock()
		for key := range dirty {
			if _, err := l.rows.Put(limiterBucket, key, l.limits.Row(key), nil); err != nil {
				l.around.Log.Debug("limiter row not stored", "key", key, "error", err)
			}
		}
		select {
		case <-time.After(rowInterval):
		case <-l.ending:
		}
	}
}

// Close writes what is left and ends the writer.
func (l *Limiter) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.ending)
		close(l.wake)
	}
	l.mu.Unlock()
	l.writer.Wait()
}

// Acquire waits until every bucket lets the call through.
func (l *Limiter) Acquire(ctx context.Context, action *plan.Action, connection string, onWait func(time.Time)) (func(runs.Answer), error) {
	buckets, err := l.source.LimitBuckets(action, connection)
	if err != nil {
		return nil, err
	}
	if len(buckets) == 0 {
		return unlimited, nil
	}
	var held []func(time.Time)
	release := func() {
		at := l.around.Now()
		for _, done := range held {
			done(at)
		}
	}
	for _, b := range buckets {
		begins, ended := observedWait(l.around, action.Plugin, b.Name, onWait)
		done, err := l.limits.Acquire(ctx, b.Key, b.Spec, begins)
		ended()
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, done)
		if b.Spec.Requests > 0 {
			l.changed(b.Key)
		}
	}
	return func(answer runs.Answer) {
		release()
		for _, b := range buckets {
			if b.Spec.Requests > 0 {
				l.changed(b.Key)
			}
		}
		l.note(buckets, answer)
	}, nil
}

// unlimited ends a call that no limit held up: nobody is to be told of its answer.
func unlimited(runs.Answer) {}

// note closes the bucket that a rate_limited answer speaks of, for every run.
func (l *Limiter) note(buckets []workspace.LimitBucket, answer runs.Answer) {
	failed := answer.Failed
	if failed == nil || failed.Kind != plan.KindRateLimited {
		return
	}
	for _, b := range buckets {
		if failed.Limiter != "" && failed.Limiter != b.Name && len(buckets) > 1 {
			continue
		}
		pause := time.Duration(failed.RetryAfterS * float64(time.Second))
		if pause <= 0 {
			pause = time.Second
		}
		l.limits.CloseUntil(b.Key, l.around.Now().Add(pause))
	}
}
