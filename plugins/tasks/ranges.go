package tasks

import (
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// rangeLimit is how long a range an action of the service takes.
type rangeLimit struct {
	words string // as people say it
	last  func(since time.Time) time.Time
}

// completionLimit is the limit of E9, dueLimit that of E10.
var (
	completionLimit = rangeLimit{"3 months", func(since time.Time) time.Time { return addMonths(since, 3) }}
	dueLimit        = rangeLimit{"6 weeks", func(since time.Time) time.Time { return since.Add(dueWindow) }}
)

// addMonths is the same day and time n months on; where that month is shorter,
// its last day: 30 November and 3 months is 28 or 29 February. time.AddDate
// would give 1 or 2 March.
func addMonths(t time.Time, n int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), lastDay)-1)
}

// parseTime reads RFC 3339. Its offset stays as it was written: in the zone of
// this machine, which time.Parse prefers, a month's length would depend on where
// flowrun runs.
func parseTime(text string) (time.Time, bool) {
	t, err := time.ParseInLocation(time.RFC3339Nano, text, time.UTC)
	return t, err == nil
}

// problems judges a range. What is no time was refused by the schema already.
func (l rangeLimit) problems(since, until string) []sdk.Problem {
	from, ok := parseTime(since)
	to, okTo := parseTime(until)
	if !ok || !okTo {
		return nil
	}
	if !from.Before(to) {
		return []sdk.Problem{sdk.Problemf("/until", "must be later than `since`").WithDetail("since is inclusive and until is exclusive")}
	}
	if last := l.last(from); to.After(last) {
		return []sdk.Problem{sdk.Problemf("/until", "the range is longer than %s: with this `since` it may reach to %s", l.words, last.Format(time.RFC3339Nano)).
			WithDetail("add `paginate` to the step: the engine then cuts the range into windows that the service takes")}
	}
	return nil
}
