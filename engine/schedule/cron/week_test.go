package cron

import (
	"testing"
	"time"
)

// The seventh day of a month is the last one of its first week, the eighth begins
// the second.
func TestTheSeventhDayIsOfTheFirstWeek(t *testing.T) {
	after := time.Date(2026, 8, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"0 0 * * 1#1": "2026-09-07", "0 0 * * 2#2": "2026-09-08", "0 0 * * 1#2": "2026-09-14", "0 0 * * 2#1": "2026-09-01", "0 0 * * 1#4": "2026-09-28", "0 0 * * 2#5": "2026-09-29",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := s.Next(after, time.UTC, DST{}); !ok || got.Format(time.DateOnly) != want {
			t.Errorf("%s is next on %s, %v, want %s", text, got, ok, want)
		}
	}
}
