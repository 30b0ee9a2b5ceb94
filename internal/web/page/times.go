package page

import (
	"fmt"
	"html/template"
	"time"

	lengths "github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
)

// duration writes 12ms, 3.4s, 2m05s, 3h20m or 5d3h.
func duration(d time.Duration) string {
	if d < 48*time.Hour {
		return lengths.Brief(d)
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// distance writes how far off a time is, in one unit.
func distance(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// timeOf takes what templates have of times.
func timeOf(value any) (time.Time, bool) {
	switch t := value.(type) {
	case time.Time:
		return t, !t.IsZero()
	case *time.Time:
		if t != nil {
			return *t, !t.IsZero()
		}
	}
	return time.Time{}, false
}

// when is a time of the day, with the day unless it is today's; the whole time in
// UTC stands in its title.
func (s *site) when(value any) template.HTML { return s.day(value, "15:04") }

// slot is when with seconds on every day, since slots may be closer together than a
// minute.
func (s *site) slot(value any) template.HTML { return s.day(value, "15:04:05") }

// day is a time with the clock of other days than today in a layout.
func (s *site) day(value any, clock string) template.HTML {
	t, ok := timeOf(value)
	if !ok {
		return "–"
	}
	here, now := t.In(s.Location), s.Now().In(s.Location)
	layout := "Jan 2 " + clock
	switch {
	case here.YearDay() == now.YearDay() && here.Year() == now.Year():
		layout = "15:04:05"
	case here.Year() != now.Year():
		layout = "2006-01-02 " + clock
	}
	return timeTag(t, "", here.Format(layout))
}

// clockIn is a slot with its day, as a schedule's zone shows it.
func clockIn(timezone string, at time.Time) string {
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		zone = time.UTC
	}
	return at.In(zone).Format("Mon 2006-01-02 15:04:05 MST")
}

// clockOf is a time of the day, with seconds where it has some.
func clockOf(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// clock is the time of the day to the millisecond.
func (s *site) clock(t time.Time) template.HTML {
	return timeTag(t, "", t.In(s.Location).Format("15:04:05.000"))
}

// ago says how long ago a time was, or how far off it is; app.js counts on.
func (s *site) ago(value any) template.HTML {
	t, ok := timeOf(value)
	if !ok {
		return "–"
	}
	text := ""
	switch d := s.Now().Sub(t); {
	case d >= time.Second:
		text = distance(d) + " ago"
	case d > -time.Second:
		text = "now"
	default:
		text = "in " + distance(-d)
	}
	return timeTag(t, ` data-ago`, text)
}

// span is how long something takes so far: app.js counts on where end is not set.
func span(from, to any, now time.Time) template.HTML {
	begin, begun := timeOf(from)
	end, ended := timeOf(to)
	switch {
	case !begun:
		return ""
	case ended:
		return template.HTML(duration(end.Sub(begin))) //nolint:gosec // digits and units
	}
	return template.HTML(fmt.Sprintf(`<span data-since="%d">%s</span>`, begin.UnixMilli(), duration(now.Sub(begin)))) //nolint:gosec // digits and units
}

// runDuration is how long a run took, or takes so far.
func runDuration(run runs.Run, now time.Time) template.HTML {
	if run.FinishedAt == nil && run.StateOf() == runs.SlotQueued {
		return "–"
	}
	if run.FinishedAt != nil {
		return template.HTML(duration(time.Duration(run.DurationMS) * time.Millisecond)) //nolint:gosec // digits and units
	}
	return span(run.StartedAt, nil, now)
}

func timeTag(t time.Time, attrs, text string) template.HTML {
	utc := t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s"%s title="%s">%s</time>`, //nolint:gosec // digits, units and names of months
		utc.Format(time.RFC3339), attrs, utc.Format("2006-01-02 15:04:05 UTC"), text))
}
