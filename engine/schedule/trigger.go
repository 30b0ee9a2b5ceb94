// Package schedule decides what becomes of the slots of cron and every triggers
// (docs/schedules.md; docs/reliability.md, P10). Plan is pure: a trigger, what is
// kept of it and the time give the fires. Loop asks it again and again, and has
// the fires started and stored.
package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schedule/cron"
)

// Trigger is a cron or every trigger that was read. It is immutable and safe for
// concurrent use.
type Trigger struct {
	id      string // WORKFLOW/TRIGGER
	cron    *cron.Schedule
	every   time.Duration // of a trigger without cron
	zone    *time.Location
	dst     cron.DST
	jitter  time.Duration
	catchup plan.Catchup
	hash    string
}

// Read reads a checked trigger. It fails where the zone is not known on this
// machine. The id, WORKFLOW/TRIGGER, goes into the jitter.
func Read(id string, s *plan.Schedule) (*Trigger, error) {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return nil, fmt.Errorf("read schedule %s: %w", id, err)
	}
	t := &Trigger{
		id: id, every: s.Every, zone: zone, jitter: s.Jitter, catchup: s.Catchup,
		dst: cron.DST{Skipped: cron.SkippedTime(s.Skipped), Repeated: cron.RepeatedTime(s.Repeated)},
	}
	switch {
	case s.Cron != "":
		if t.cron, err = cron.Parse(s.Cron); err != nil {
			return nil, fmt.Errorf("read schedule %s: %w", id, err)
		}
	case t.every <= 0:
		return nil, fmt.Errorf("read schedule %s: it has neither cron nor every", id)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %q %q", s.Cron, s.Every, s.Timezone, s.Skipped, s.Repeated))
	t.hash = hex.EncodeToString(sum[:8])
	return t, nil
}

// Hash names what the slots follow from: the times, the zone and the DST rules.
// Jitter, catch-up and inputs are not in it.
func (t *Trigger) Hash() string { return t.hash }

// Zone returns the trigger's time zone.
func (t *Trigger) Zone() *time.Location { return t.zone }

// Next returns the first slot after a time, in UTC; false when there is none. The
// slots of `every` are the multiples of it since 1970-01-01T00:00:00Z, so that
// they are the same after every restart.
func (t *Trigger) Next(after time.Time) (time.Time, bool) {
	if t.cron != nil {
		slot, ok := t.cron.Next(after, t.zone, t.dst)
		return slot.UTC(), ok
	}
	return NextEvery(after, t.every), true
}

// NextEvery returns the first multiple of a duration since 1970 after a time.
func NextEvery(after time.Time, every time.Duration) time.Time {
	if every%time.Second == 0 { // all that a workflow can say but parts of seconds; no overflow far from 1970
		step := int64(every / time.Second)
		n := after.Unix() / step
		if after.Unix()%step < 0 {
			n--
		}
		return time.Unix((n+1)*step, 0).UTC()
	}
	nanos := after.UnixNano()
	n := nanos / int64(every)
	if nanos%int64(every) < 0 {
		n--
	}
	return time.Unix(0, (n+1)*int64(every)).UTC()
}

// Note says for people what a change of the clock does to a slot; "" for most.
func (t *Trigger) Note(after, slot time.Time) string {
	if t.cron == nil {
		return ""
	}
	return t.cron.Note(after, slot, t.zone, t.dst)
}

// Due returns when the run of a slot starts: the slot and its jitter. The jitter
// of a slot is always the same, and it never reaches the next slot.
func (t *Trigger) Due(slot time.Time) time.Time {
	if t.jitter <= 0 {
		return slot
	}
	most := t.jitter
	if next, ok := t.Next(slot); ok && next.Sub(slot) < most {
		most = next.Sub(slot)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", t.id, slot.UnixNano()))
	return slot.Add(time.Duration(binary.BigEndian.Uint64(sum[:8]) % uint64(most)))
}
