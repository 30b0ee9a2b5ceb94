package cron

import (
	"strings"
	"time"
)

// noteTimes is how many times of one gap a note names.
const noteTimes = 3

// Note says for people what changes of the clock have to do with a fire: which
// times before it do not exist, and that its own comes twice. after is the fire
// before it, or where the list begins. It is "" for all others.
func (s *Schedule) Note(after, fire time.Time, zone *time.Location, dst DST) string {
	p := periodOf(fire.In(zone))
	var notes []string
	for at := p; !at.start.IsZero() && at.start.After(after); at = periodOf(at.start.Add(-1)) {
		if note := s.gapNote(at, fire, dst); note != "" {
			notes = append(notes, note)
		}
	}
	if note := s.repeatNote(p, fire, dst); note != "" {
		notes = append(notes, note)
	}
	return strings.Join(notes, "; ")
}

// gapNote is about the times that the change of the clock before a period skips.
func (s *Schedule) gapNote(p period, fire time.Time, dst DST) string {
	before := periodOf(p.start.Add(-1))
	gap, resumed := ceilMinute(before.wall(p.start)), p.wall(p.start)
	missing, more := s.between(gap, resumed)
	if len(missing) == 0 {
		return ""
	}
	day := missing[0].Format(time.DateOnly)
	texts := make([]string, len(missing))
	for i, wall := range missing {
		texts[i] = wall.Format("15:04")
	}
	text, verb, left := strings.Join(texts, ", "), " does not exist on ", ": it is left out"
	if more {
		text += " and others"
	}
	if more || len(missing) > 1 {
		verb, left = " do not exist on ", ": they are left out"
	}
	if first := p.instant(ceilMinute(resumed)); s.fixed && dst.Skipped != Skip {
		if !first.Equal(fire) {
			return "" // the fire before it has made up for them
		}
		left = ": this is the first minute after the gap"
	}
	return text + verb + day + left
}

// between returns the first times of the clock in [from, end) that the fields
// allow, and whether there are more.
func (s *Schedule) between(from, end time.Time) (found []time.Time, more bool) {
	for from.Before(end) {
		wall, ok := s.match(from, end)
		if !ok {
			return found, false
		}
		if len(found) == noteTimes {
			return found, true
		}
		found = append(found, wall)
		from = wall.Add(time.Minute)
	}
	return found, false
}

// repeatNote is about a time that the clock shows twice.
func (s *Schedule) repeatNote(p period, fire time.Time, dst DST) string {
	wall := p.wall(fire)
	text := wall.Format("15:04") + " comes twice on this day: this is the "
	switch {
	case seen(wall, p):
		return text + "second"
	case !shownAgain(wall, p):
		return ""
	case s.fixed && dst.Repeated != RunTwice:
		return text + "first, and the only one that fires"
	}
	return text + "first"
}

// shownAgain reports whether the clock shows a time once more after the period.
func shownAgain(wall time.Time, p period) bool {
	for end := p.end; !end.IsZero() && end.Sub(p.end) < repeat; {
		later := periodOf(end)
		if again := later.instant(wall); !again.Before(later.start) && later.contains(again) {
			return true
		}
		end = later.end
	}
	return false
}
