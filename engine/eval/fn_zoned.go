package eval

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
)

func zonedFunctions() []*function {
	return []*function{
		{
			signature: "startOf(time: time, unit: text, zone?: text): time", doc: "The first moment of the minute, hour, day, week (Monday), month, quarter or year of a time, in a zone (by default UTC).", example: `startOf(run.scheduled_at, "day", "Europe/Berlin")`,
			result: (*call).unitAndZone,
			run: func(m *machine, args []any) (any, error) {
				start, _, err := m.period(args)
				if err != nil {
					return nil, err
				}
				return schema.FixZone(start), nil
			},
		},
		{
			signature: "endOf(time: time, unit: text, zone?: text): time", doc: "The last moment, to the nanosecond, of the minute, hour, day, week, month, quarter or year of a time; startOf of the next one is a nanosecond later.", example: `endOf(run.scheduled_at, "month", "Europe/Berlin")`,
			result: (*call).unitAndZone,
			run: func(m *machine, args []any) (any, error) {
				_, next, err := m.period(args)
				if err != nil {
					return nil, err
				}
				return schema.FixZone(next.Add(-time.Nanosecond)), nil
			},
		},
		{
			signature: "addTime(time: time, amount: text, zone?: text): time", doc: "The time moved by an amount of y, mo, w, d, h, m, s or ms such as 1mo, -2d or 1d12h. Days and longer are of the calendar in the zone (by default UTC); a day that a month lacks becomes its last, and an hour that comes twice is the first one.", example: `addTime(run.scheduled_at, "-1mo", "Europe/Berlin")`,
			result: (*call).amountAndZone,
			run: func(m *machine, args []any) (any, error) {
				t, err := m.inZone(args[0].(time.Time), args, 2)
				if err != nil {
					return nil, err
				}
				moved, err := addTime(t, args[1].(string))
				if err != nil {
					return nil, err
				}
				return schema.FixZone(moved), m.step(len(args[1].(string)) / 16)
			},
		},
	}
}

func timeUnits() []string {
	return []string{"minute", "hour", "day", "week", "month", "quarter", "year"}
}

// period returns the start of the unit around a time and the start of the next.
func (m *machine) period(args []any) (start, next time.Time, err error) {
	t, err := m.inZone(args[0].(time.Time), args, 2)
	if err != nil {
		return start, next, err
	}
	year, month, day := t.Date()
	midnight := func(y int, mo time.Month, d int) time.Time { return firstOf(y, mo, d, t.Location()) }
	switch unit := args[1].(string); unit {
	case "minute":
		// Zones have had offsets with seconds, so the wall clock counts.
		start = t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
		next = start.Add(time.Minute)
	case "hour":
		start = t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
		next = start.Add(time.Hour)
	case "day":
		start, next = midnight(year, month, day), midnight(year, month, day+1)
	case "week":
		monday := day - (int(t.Weekday())+6)%7
		start, next = midnight(year, month, monday), midnight(year, month, monday+7)
	case "month":
		start, next = midnight(year, month, 1), midnight(year, month+1, 1)
	case "quarter":
		first := month - (month-1)%3
		start, next = midnight(year, first, 1), midnight(year, first+3, 1)
	case "year":
		start, next = midnight(year, time.January, 1), midnight(year+1, time.January, 1)
	default:
		return start, next, failf("%s is not a unit of time", shorten(unit)).hint("write one of %s", strings.Join(timeUnits(), ", "))
	}
	return start, next, checkYear(start)
}

// firstOf returns the first moment of a day. Where a change of the clock skips
// midnight the day begins after the gap; Go's Date may then give a moment of
// the day before.
func firstOf(year int, month time.Month, day int, zone *time.Location) time.Time {
	noon := time.Date(year, month, day, 12, 0, 0, 0, zone)
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if t.Day() == noon.Day() {
		// Where midnight comes twice the first one counts.
		if earlier := t.Add(-time.Hour); earlier.Day() == noon.Day() {
			return earlier
		}
		return t
	}
	// The zone's change is the first moment of the day.
	_, change := t.ZoneBounds()
	if !change.IsZero() && change.Before(noon) {
		return change.In(zone)
	}
	return t
}

// firstOccurrence returns the earlier of the two moments that have the wall clock
// of t where the clock was set back, as schedules take it; Go's Date gives either,
// by the zone.
func firstOccurrence(t time.Time) time.Time {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, offset := t.Zone()
	_, before := start.Add(-time.Nanosecond).Zone()
	if back := time.Duration(before-offset) * time.Second; back > 0 && t.Sub(start) < back {
		return t.Add(-back)
	}
	return t
}

var amountPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})(ms|mo|y|w|d|h|m|s)`) })

// addTime moves a time by an amount such as "-1mo2d".
func addTime(t time.Time, amount string) (time.Time, error) {
	rest, sign := strings.TrimSpace(amount), 1
	switch {
	case strings.HasPrefix(rest, "-"):
		rest, sign = rest[1:], -1
	case strings.HasPrefix(rest, "+"):
		rest = rest[1:]
	}
	if rest == "" {
		return t, notAmount(amount)
	}
	months, days, exact := 0, 0, time.Duration(0)
	for rest != "" {
		part := amountPart().FindStringSubmatch(rest)
		if part == nil {
			return t, notAmount(amount)
		}
		n, _ := strconv.Atoi(part[1]) // nine digits
		n *= sign
		switch part[2] {
		case "y":
			months += 12 * n
		case "mo":
			months += n
		case "w":
			days += 7 * n
		case "d":
			days += n
		default:
			exact += time.Duration(n) * unitOf(part[2])
		}
		rest = rest[len(part[0]):]
	}
	if max(months, -months) > 12*20_000 || max(days, -days) > 400*20_000 {
		return t, failf("addTime: %s is too far", shorten(amount))
	}
	if months != 0 || days != 0 {
		t = firstOccurrence(addMonths(t, months).AddDate(0, 0, days))
	}
	t = t.Add(exact)
	return t, checkYear(t)
}

func notAmount(amount string) error {
	return failf("%s is not an amount of time", shorten(amount)).hint("write it as 1mo, -2d, 3h or 1d12h")
}

func unitOf(name string) time.Duration {
	switch name {
	case "ms":
		return time.Millisecond
	case "s":
		return time.Second
	case "m":
		return time.Minute
	}
	return time.Hour
}

// addMonths keeps the day, or takes the month's last when it has no such day.
func addMonths(t time.Time, months int) time.Time {
	if months == 0 {
		return t
	}
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	last := time.Date(year, month+time.Month(months)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(year, month+time.Month(months), min(day, last), hour, minute, second, t.Nanosecond(), t.Location())
}

// checkYear refuses what RFC 3339 can't write.
func checkYear(t time.Time) error {
	if year := t.UTC().Year(); year < 1 || year > 9998 {
		return failf("the time is outside the years 1 to 9998")
	}
	return nil
}
