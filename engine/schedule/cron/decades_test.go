package cron

import (
	"testing"
	"time"
)

// A search over decades takes milliseconds: nobody waits for a schedule that
// hardly ever fires.
func BenchmarkNextOverDecades(b *testing.B) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	s, parseErr := Parse("0 0 29 2 */5")
	if parseErr != nil {
		b.Fatal(parseErr)
	}
	after := time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
	for b.Loop() {
		if next, ok := s.Next(after, berlin, DST{}); !ok || next.Year() != 2060 {
			b.Fatal(next, ok)
		}
	}
}

// Beyond 2037 the standard library's bounds of a zone stand still on the last day
// of a leap year.
func TestNextGoesOnBeyondTheTableOfTheZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, problem := Parse("30 12 31 12 *")
	if problem != nil {
		t.Fatal(problem)
	}
	at := time.Date(2036, 1, 1, 0, 0, 0, 0, berlin)
	for year := 2036; year < 2075; year++ {
		next, ok := s.Next(at, berlin, DST{})
		if want := time.Date(year, 12, 31, 12, 30, 0, 0, berlin); !ok || !next.Equal(want) {
			t.Fatalf("after %v: %v, %v, want %v", at, next, ok, want)
		}
		at = next
	}
}
