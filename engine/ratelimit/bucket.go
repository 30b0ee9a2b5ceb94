package ratelimit

import (
	"slices"
	"time"
)

// bucket is the state of one key. Its Limiter's mutex guards it.
//
// For fixed windows a permit counts from its grant until a whole window after
// its answer. The request reached the service somewhere in between, so any N+1
// permits hold two requests that lie a window or more apart: the rule is safe
// for every alignment of the service's own windows and for every latency.
type bucket struct {
	queue       []*waiter
	open        int         // granted, not yet answered
	answered    []time.Time // of answers, ascending; old ones are dropped
	lastGrant   time.Time
	closedUntil time.Time
}

// permit is a granted request.
type permit struct {
	grantedAt time.Time
	counts    bool // after its answer too: fixed windows
}

func (b *bucket) place(w *waiter) int { return slices.Index(b.queue, w) }

func (b *bucket) remove(w *waiter) {
	if i := b.place(w); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
	}
}

func (b *bucket) signalFirst() {
	if len(b.queue) > 0 {
		b.queue[0].signal()
	}
}

func (b *bucket) grant(spec Spec, now time.Time) *permit {
	b.open++
	b.lastGrant = later(b.lastGrant, now)
	return &permit{grantedAt: now, counts: spec.limitsRate() && spec.Fixed}
}

// answer ends a permit. An answer can't be older than its grant.
func (b *bucket) answer(p *permit, at time.Time) {
	b.open--
	if !p.counts {
		return
	}
	at = later(at, p.grantedAt)
	i, _ := slices.BinarySearchFunc(b.answered, at, time.Time.Compare)
	b.answered = slices.Insert(b.answered, i, at)
}

// forget drops the answers that no longer count.
func (b *bucket) forget(spec Spec, now time.Time) {
	old := 0
	for old < len(b.answered) && !b.answered[old].Add(spec.Window).After(now) {
		old++
	}
	b.answered = slices.Delete(b.answered, 0, old)
}

// free returns when the next permit is free for the first in line. ok is
// false when that hangs on an answer that is still to come; the time is then the
// least that is possible.
func (b *bucket) free(spec Spec, now time.Time) (at time.Time, ok bool) {
	at, ok = b.closedUntil, true
	if spec.MaxConcurrent > 0 && b.open >= spec.MaxConcurrent {
		ok = false
	}
	switch {
	case !spec.limitsRate():
	case spec.Fixed:
		b.forget(spec, now)
		if over := b.open + len(b.answered) - spec.Requests; over >= len(b.answered) && over >= 0 {
			at, ok = later(at, now.Add(spec.Window)), false
		} else if over >= 0 {
			at = later(at, b.answered[over].Add(spec.Window))
		}
	default:
		if !b.lastGrant.IsZero() {
			at = later(at, b.lastGrant.Add(spec.interval()))
		}
	}
	return at, ok
}

// expect estimates when the waiter with this many others before it has a permit:
// as if every open call were answered now.
func (b *bucket) expect(spec Spec, now time.Time, place int) time.Time {
	first, _ := b.free(spec, now)
	first = later(first, now)
	switch {
	case !spec.limitsRate():
		return first
	case !spec.Fixed:
		return first.Add(time.Duration(place) * spec.interval())
	}
	free := spec.Requests - b.open - len(b.answered)
	if place < free {
		return first
	}
	// Slots come free one after the other, each again a window later.
	slot := (place - free) % spec.Requests
	rounds := (place - free) / spec.Requests
	at := now
	if slot < len(b.answered) {
		at = b.answered[slot]
	}
	return later(first, at.Add(time.Duration(rounds+1)*spec.Window))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
