package view

import (
	"fmt"
	"time"
)

// Times shows times in one location.
type Times struct{ Location *time.Location }

func (t Times) in(at time.Time) time.Time {
	if t.Location == nil {
		return at.UTC()
	}
	return at.In(t.Location)
}

// Clock returns the time of day to the second.
func (t Times) Clock(at time.Time) string { return t.in(at).Format("15:04:05") }

// Full returns date, time and zone.
func (t Times) Full(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return t.in(at).Format("2006-01-02 15:04:05 MST")
}

// Short returns date and time for tables.
func (t Times) Short(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return t.in(at).Format("2006-01-02 15:04:05")
}

// Duration returns d as people say it: 812ms, 4.2s, 3m05s, 2h03m.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		if d%time.Second == 0 {
			return fmt.Sprintf("%ds", d/time.Second)
		}
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}
