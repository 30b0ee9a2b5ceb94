package schedule

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// maxCount is how far slots are counted: a row says then "at least".
const maxCount = 10_000

// Slots returns the slots in [from, until), the oldest first, at most limit; more
// says that there are others behind them.
func (t *Trigger) Slots(from, until time.Time, limit int) (slots []time.Time, more bool) {
	at := from.Add(-1)
	for {
		slot, ok := t.Next(at)
		if !ok || !slot.Before(until) {
			return slots, false
		}
		if len(slots) == limit {
			return slots, true
		}
		slots = append(slots, slot)
		at = slot
	}
}

// newest returns the newest slots in (after, until], the oldest of them first. It
// looks back from until, further and further, so that a long absence costs no
// more than a short one.
func (t *Trigger) newest(after, until time.Time, n int) []time.Time {
	if !after.Before(until) {
		return nil
	}
	for back := time.Minute; ; back *= 2 {
		from := until.Add(-back)
		whole := from.Before(after) || back > 1<<61
		if whole {
			from = after
		}
		if found := t.lastOf(from, until, n); len(found) == n || whole {
			return found
		}
	}
}

// lastOf returns the last n slots in (after, until].
func (t *Trigger) lastOf(after, until time.Time, n int) []time.Time {
	var found []time.Time
	for at := after; ; {
		slot, ok := t.Next(at)
		if !ok || slot.After(until) {
			return found
		}
		if len(found) == n {
			found = append(found[:0], found[1:]...)
		}
		found = append(found, slot)
		at = slot
	}
}

// stretch is a row of slots that follow each other.
type stretch struct {
	first, last time.Time
	count       int // at most maxCount
}

// stretch returns the slots in (after, until]; count is 0 where there are none.
func (t *Trigger) stretch(after, until time.Time) (s stretch) {
	first, ok := t.Next(after)
	if !ok || first.After(until) {
		return s
	}
	s = stretch{first: first, last: t.newest(after, until, 1)[0]}
	if t.cron == nil {
		s.count = maxCount
		if n := s.last.Sub(first) / t.every; n < maxCount {
			s.count = int(n) + 1
		}
		return s
	}
	for slot := first; s.count < maxCount; {
		s.count++
		next, ok := t.Next(slot)
		if !ok || next.After(until) {
			break
		}
		slot = next
	}
	return s
}

// lastSlot returns the last slot that a row stands for. Where it is not counted to
// the end it is far away.
func (t *Trigger) lastSlot(row runs.Fire) time.Time {
	last := row.Slot
	if row.Slots >= maxCount {
		return last.AddDate(horizon, 0, 0)
	}
	for range row.Slots - 1 {
		next, ok := t.Next(last)
		if !ok {
			break
		}
		last = next
	}
	return last
}

// horizon is how far a row without an end may reach, in years.
const horizon = 100
