package tasks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyTime draws a moment with an offset of its own; ends of months often.
func anyTime(t *rapid.T) time.Time {
	offset := rapid.IntRange(-14*4, 14*4).Draw(t, "quarter hours of offset") * 15 * 60
	zone := time.FixedZone("", offset)
	at := time.Date(rapid.IntRange(2000, 2099).Draw(t, "year"), time.Month(rapid.IntRange(1, 12).Draw(t, "month")), 1,
		rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(0, 59).Draw(t, "minute"), rapid.IntRange(0, 59).Draw(t, "second"),
		rapid.SampledFrom([]int{0, 1, 500_000_000, 999_999_999}).Draw(t, "nanosecond"), zone)
	last := at.AddDate(0, 1, -1).Day()
	return at.AddDate(0, 0, rapid.OneOf(rapid.IntRange(0, last-1), rapid.IntRange(last-4, last-1)).Draw(t, "day"))
}

func TestT38_ClampingHasTheRightDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since := anyTime(t)
		end := addMonths(since, 3)
		months := (end.Year()-since.Year())*12 + int(end.Month()) - int(since.Month())
		lastDay := time.Date(end.Year(), end.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if months != 3 || end.Day() != min(since.Day(), lastDay) {
			t.Fatalf("%s and 3 months is %s", since, end)
		}
		if since.Format("15:04:05.999999999Z07:00") != end.Format("15:04:05.999999999Z07:00") {
			t.Fatalf("%s and 3 months is at another time of day: %s", since, end)
		}
	})
}

func TestT38_WindowsOfTheEngineAreNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since := anyTime(t)
		until := since.Add(time.Duration(rapid.Int64Range(1, int64(3*366*24*time.Hour)).Draw(t, "length")))
		for _, l := range []struct {
			limit  rangeLimit
			window time.Duration
		}{{completionLimit, completionWindow}, {dueLimit, dueWindow}} {
			for from := since; from.Before(until); from = from.Add(l.window) { // as engine/interp cuts
				to := from.Add(l.window)
				if to.After(until) {
					to = until
				}
				if problems := l.limit.problems(from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano)); len(problems) != 0 {
					t.Fatalf("%s to %s: %v", from, to, problems)
				}
			}
		}
	})
}

func TestT38_OneMomentTooFarIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		since := anyTime(t)
		zone := time.FixedZone("", rapid.IntRange(-14, 14).Draw(t, "offset of until")*3600)
		for _, l := range []rangeLimit{completionLimit, dueLimit} {
			last := l.last(since)
			fits := l.problems(since.Format(time.RFC3339Nano), last.In(zone).Format(time.RFC3339Nano))
			tooFar := l.problems(since.Format(time.RFC3339Nano), last.Add(1).In(zone).Format(time.RFC3339Nano))
			if len(fits) != 0 || len(tooFar) != 1 || !strings.Contains(tooFar[0].Detail, "paginate") {
				t.Fatalf("%s to %s: %v, then %v", since, last, fits, tooFar)
			}
		}
	})
}

// FuzzRange holds the judgement of a range against all texts: never a panic,
// and what passes is a range that no reading of the limit forbids.
func FuzzRange(f *testing.F) {
	f.Add("2030-11-30T00:00:00Z", "2031-03-01T00:00:00Z")
	f.Add("2031-01-31T00:00:00+14:00", "2031-04-30T00:00:00-11:59")
	f.Add("0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z")
	f.Add("2031-01-01", "")
	f.Fuzz(func(t *testing.T, since, until string) {
		problems := completionLimit.problems(since, until)
		from, ok := parseTime(since)
		to, okTo := parseTime(until)
		if !ok || !okTo {
			if len(problems) != 0 {
				t.Fatalf("judged what is no time: %v", problems)
			}
			return
		}
		length := to.Sub(from)
		switch {
		case len(problems) == 0 && (length <= 0 || length > 92*24*time.Hour):
			t.Fatalf("%s to %s passes", since, until)
		case len(problems) != 0 && length > 0 && length <= 89*24*time.Hour:
			t.Fatalf("%s to %s: %s", since, until, fmt.Sprint(problems))
		}
	})
}
