package cron

import "time"

// SkippedTime says what becomes of a fixed time that a change of the clock
// skips.
type SkippedTime string

// RepeatedTime says what becomes of a fixed time that a change of the clock
// repeats.
type RepeatedTime string

// The rules; the empty ones are the first of each.
const (
	RunAfter SkippedTime = "run_after" // at the first minute after the gap
	Skip     SkippedTime = "skip"

	RunOnce  RepeatedTime = "run_once" // the first time
	RunTwice RepeatedTime = "run_twice"
)

// DST says how fixed times behave where clocks change.
type DST struct {
	Skipped  SkippedTime
	Repeated RepeatedTime
}

const (
	// horizon bounds the search: every day that exists comes again within it
	// (a 29th of February on a given weekday in 40 years at most).
	horizon = 45
	// repeat is the longest time that clocks are set back by.
	repeat = 26 * time.Hour
)

// Next returns the first time after another at which the schedule fires in a
// zone, with whole minutes of that zone. It is false when there is none within
// 45 years.
func (s *Schedule) Next(after time.Time, zone *time.Location, dst DST) (time.Time, bool) {
	at := after.In(zone)
	limit := at.AddDate(horizon, 0, 0)
	for {
		p := periodOf(at)
		if fire, ok := s.inPeriod(after, p, dst); ok {
			return fire.In(zone), true
		}
		if p.end.IsZero() || p.end.After(limit) {
			return time.Time{}, false
		}
		at = p.end
	}
}

// period is a stretch of time with one offset from UTC.
type period struct {
	start, end time.Time // zero = unbounded
	offset     time.Duration
}

// periodOf returns the period around a time. Beyond the zone's table the standard
// library reckons by years and lets leap years end a day early: there the end that
// it gives is not after the time, and the search would stand still.
func periodOf(at time.Time) period {
	start, end := at.ZoneBounds()
	for later := at; !end.IsZero() && !end.After(at); {
		later = later.Add(24 * time.Hour)
		_, end = later.ZoneBounds()
	}
	_, offset := at.Zone()
	return period{start: start, end: end, offset: time.Duration(offset) * time.Second}
}

// wall is a time on the clock of the period, as a time of UTC.
func (p period) wall(t time.Time) time.Time { return t.UTC().Add(p.offset) }

func (p period) instant(wall time.Time) time.Time { return wall.Add(-p.offset) }

// inPeriod finds the first time after another within one period.
func (s *Schedule) inPeriod(after time.Time, p period, dst DST) (time.Time, bool) {
	from := p.wall(after).Truncate(time.Minute).Add(time.Minute)
	if !p.start.IsZero() {
		first := ceilMinute(p.wall(p.start))
		if first.After(from) {
			from = first
		}
		if s.fixed && dst.Skipped != Skip && !first.Before(from) && s.skipped(p) && p.contains(p.instant(first)) {
			return p.instant(first), true
		}
	}
	end := from.AddDate(horizon, 0, 0)
	if !p.end.IsZero() {
		if last := p.wall(p.end); last.Before(end) {
			end = last
		}
	}
	for {
		wall, ok := s.match(from, end)
		if !ok {
			return time.Time{}, false
		}
		if !s.fixed || dst.Repeated == RunTwice || !seen(wall, p) {
			return p.instant(wall), true
		}
		from = wall.Add(time.Minute)
	}
}

func (p period) contains(t time.Time) bool { return p.end.IsZero() || t.Before(p.end) }

func ceilMinute(t time.Time) time.Time {
	if whole := t.Truncate(time.Minute); !whole.Equal(t) {
		return whole.Add(time.Minute)
	}
	return t
}

// skipped reports whether the change of the clock that begins a period skips a
// time of the schedule.
func (s *Schedule) skipped(p period) bool {
	before := periodOf(p.start.Add(-1))
	gap, resumed := ceilMinute(before.wall(p.start)), p.wall(p.start)
	if !gap.Before(resumed) {
		return false
	}
	_, ok := s.match(gap, resumed)
	return ok
}

// seen reports whether the clock has shown a time already before the period.
func seen(wall time.Time, p period) bool {
	for end := p.start; !end.IsZero() && p.start.Sub(end) < repeat; {
		earlier := periodOf(end.Add(-1))
		shown := earlier.instant(wall)
		if shown.Before(end) && (earlier.start.IsZero() || !shown.Before(earlier.start)) {
			return true
		}
		end = earlier.start
	}
	return false
}

// match returns the first time of the clock in [from, end) that the fields
// allow. Both are whole minutes, as times of UTC.
func (s *Schedule) match(from, end time.Time) (time.Time, bool) {
	year, month, day := from.Date()
	minute := from.Hour()*60 + from.Minute()
	for {
		midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		if !midnight.Before(end) {
			return time.Time{}, false
		}
		year, month, day = midnight.Date()
		if s.months&(1<<month) == 0 {
			month, day, minute = month+1, 1, 0
			continue
		}
		if s.onDay(midnight) {
			if at, ok := s.minuteOfDay(minute); ok {
				found := midnight.Add(time.Duration(at) * time.Minute)
				return found, found.Before(end)
			}
		}
		day, minute = day+1, 0
	}
}

// minuteOfDay returns the first minute of the day that the fields allow, at or
// after another.
func (s *Schedule) minuteOfDay(least int) (int, bool) {
	for hour := least / 60; hour < 24; hour++ {
		if s.hours&(1<<hour) == 0 {
			continue
		}
		for minute := max(least-hour*60, 0); minute < 60; minute++ {
			if s.minutes&(1<<minute) != 0 {
				return hour*60 + minute, true
			}
		}
	}
	return 0, false
}

// onDay reports whether the schedule fires on a day.
func (s *Schedule) onDay(midnight time.Time) bool {
	switch {
	case s.anyDay || s.anyOfWeek:
		return s.byMonth(midnight) && s.byWeek(midnight)
	}
	return s.byMonth(midnight) || s.byWeek(midnight)
}

func (s *Schedule) byMonth(midnight time.Time) bool {
	day := midnight.Day()
	last := lastDay(midnight)
	switch {
	case s.days&(1<<day) != 0, s.lastDays&(1<<(last-day)) != 0:
		return true
	case s.lastWork && day == nearestTo(midnight, last, last):
		return true
	}
	ok := false
	each(s.nearest, func(wanted int) {
		ok = ok || wanted <= last && day == nearestTo(midnight, wanted, last)
	})
	return ok
}

// nearestTo returns the weekday nearest to a day of the month, in the same
// month.
func nearestTo(midnight time.Time, day, last int) int {
	switch time.Date(midnight.Year(), midnight.Month(), day, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == last {
			return day - 2
		}
		return day + 1
	}
	return day
}

func (s *Schedule) byWeek(midnight time.Time) bool {
	weekday, day := midnight.Weekday(), midnight.Day()
	switch {
	case s.weekday&(1<<weekday) != 0:
		return true
	case s.lastOf&(1<<weekday) != 0 && day+7 > lastDay(midnight):
		return true
	}
	return s.nth[weekday]&(1<<((day-1)/7+1)) != 0
}

func lastDay(midnight time.Time) int {
	return time.Date(midnight.Year(), midnight.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
