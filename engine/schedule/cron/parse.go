package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
)

// maxText is the most bytes that a schedule may have.
const maxText = 256

// Schedule is a read schedule. It is immutable and safe for concurrent use; the
// zero value never fires.
type Schedule struct {
	text    string
	minutes uint64 // bit = minute
	hours   uint64
	days    uint64 // bit = day of the month
	months  uint64
	weekday uint64 // bit = day of the week, Sunday is 0

	lastDays  uint64 // bit n = n days before the last
	nearest   uint64 // bit = day of the month, the weekday nearest to it fires
	lastWork  bool   // the last weekday of the month
	lastOf    uint64 // bit = day of the week, its last one in the month
	nth       [7]uint8
	anyDay    bool // the day of the month does not limit
	anyOfWeek bool
	fixed     bool
}

// Error says what is wrong with a schedule. Start and End are byte offsets in
// its text; Message is one lower-case sentence, Hint says what to write.
type Error struct {
	Start, End int
	Message    string
	Hint       diag.Hint
}

// Error returns the message and the hint on one line.
func (e *Error) Error() string {
	if e.Hint.Text == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint.Text
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = diag.Sayf(format, args...)
	return e
}

// String returns the text that was read.
func (s *Schedule) String() string { return s.text }

// Fixed reports whether the schedule has fixed wall-clock times: only then the
// DST rules apply.
func (s *Schedule) Fixed() bool { return s.fixed }

// Names returns the names of schedules with the five fields that they stand for.
func Names() map[string]string {
	return map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}
}

// Parse reads a schedule. A schedule that can never fire (the 30th of February)
// is refused. The error is an *Error.
func Parse(text string) (*Schedule, error) {
	s, problem := parse(text)
	if problem != nil {
		return nil, problem
	}
	return s, nil
}

func parse(text string) (*Schedule, *Error) {
	if len(text) > maxText {
		return nil, &Error{End: len(text), Message: fmt.Sprintf("the schedule is longer than %d characters", maxText)}
	}
	words := split(text)
	if len(words) > 0 && strings.HasPrefix(words[0].text, "@") {
		return named(text, words)
	}
	if problem := count(text, words); problem != nil {
		return nil, problem
	}
	s := &Schedule{text: text}
	for i, f := range fields() {
		if problem := s.field(f, words[i]); problem != nil {
			return nil, problem
		}
	}
	s.fixed = isFixed(words[0].text) && isFixed(words[1].text)
	if !s.everFires() {
		return nil, &Error{Start: words[2].at, End: words[3].at + len(words[3].text), Message: "no month of these has such a day: the schedule never fires"}
	}
	return s, nil
}

// word is a part of the text with its place.
type word struct {
	text string
	at   int
}

func split(text string) []word {
	var words []word
	start := -1
	for i := 0; i <= len(text); i++ {
		blank := i == len(text) || text[i] == ' ' || text[i] == '\t'
		switch {
		case blank && start >= 0:
			words = append(words, word{text[start:i], start})
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	return words
}

func named(text string, words []word) (*Schedule, *Error) {
	name := words[0]
	whole := func(format string, args ...any) *Error {
		return &Error{Start: name.at, End: name.at + len(name.text), Message: fmt.Sprintf(format, args...)}
	}
	fields, ok := Names()[strings.ToLower(name.text)]
	switch {
	case strings.EqualFold(name.text, "@every"):
		return nil, whole("`@every` is not a schedule").hint("write the trigger `every: 15m` instead of `cron`")
	case strings.EqualFold(name.text, "@reboot"):
		return nil, whole("`@reboot` is not a schedule").hint("nothing runs when flowrun starts")
	case !ok:
		return nil, whole("`%s` is not the name of a schedule", name.text).hint("the names are @hourly, @daily, @weekly, @monthly and @yearly")
	case len(words) > 1:
		return nil, &Error{Start: words[1].at, End: len(text), Message: "nothing can follow `" + name.text + "`"}
	}
	s, problem := parse(fields)
	if problem == nil {
		s.text = text
	}
	return s, problem
}

func count(text string, words []word) *Error {
	whole := func(format string, args ...any) *Error {
		return &Error{End: len(text), Message: fmt.Sprintf(format, args...)}
	}
	const order = "they are minute, hour, day of month, month, day of week"
	switch {
	case len(words) == 0:
		return whole("the schedule is empty").hint("write five fields such as `30 2 * * 1`, or @daily")
	case strings.HasPrefix(words[0].text, "TZ=") || strings.HasPrefix(words[0].text, "CRON_TZ="):
		first := words[0]
		return (&Error{Start: first.at, End: first.at + len(first.text), Message: "a time zone can't stand inside the schedule"}).
			hint("write it beside: `timezone: %s`", first.text[strings.IndexByte(first.text, '=')+1:])
	case len(words) == 6 || len(words) == 7:
		return whole("a schedule has five fields, this has %d", len(words)).hint("there are no seconds and no years: %s", order)
	case len(words) != 5:
		return whole("a schedule has five fields, this has %d", len(words)).hint("%s", order)
	}
	return nil
}

// isFixed reports whether a field is a number or a list of numbers.
func isFixed(field string) bool { return strings.Trim(field, "0123456789,") == "" }

// number reads digits; false for anything else and for more than four.
func number(text string) (int, bool) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// everFires looks through the calendar: within 28 years each day of the year falls
// on each day of the week, the 29th of February too.
func (s *Schedule) everFires() bool {
	for day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2028; day = day.AddDate(0, 0, 1) {
		if s.months&(1<<day.Month()) != 0 && s.onDay(day) {
			return true
		}
	}
	return false
}

func each(set uint64, visit func(int)) {
	for ; set != 0; set &= set - 1 {
		visit(bits.TrailingZeros64(set))
	}
}
