package view

import "time"

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
