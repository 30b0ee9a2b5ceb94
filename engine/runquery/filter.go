package runquery

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/runs"
)

// Text is a filter of runs as people write it: in an address, in a request, behind
// flags. What is empty filters nothing.
type Text struct {
	Workflow, Status     string
	Attention            bool
	Labels               []string // each name=value
	Since, Query, Cursor string
	IDPrefix, IDSuffix   string // how the id begins, and how it ends: LeastLetters or more
	Limit                int
}

// LeastLetters is how many letters of a run's id find it at least.
const LeastLetters = 4

// FilterError says which part of a filter can't be read, and why.
type FilterError struct {
	Part string // its name where it is written: since, label
	Text string
	Why  string // behind the name and the text: "is not name=value"
	Hint diag.Hint
}

func (e *FilterError) Error() string { return fmt.Sprintf("%s %q %s", e.Part, e.Text, e.Why) }

// Filter reads the text. The query is left to who looks through the runs. The error is
// a *FilterError.
func (t Text) Filter(now func() time.Time) (runs.Filter, error) {
	filter := runs.Filter{
		Workflow: t.Workflow, Status: runs.Status(t.Status), Attention: t.Attention, Query: t.Query, Limit: t.Limit, Cursor: t.Cursor, Labels: map[string]string{},
		IDPrefix: t.IDPrefix, IDSuffix: t.IDSuffix,
	}
	if t.Status != "" && !slices.Contains(runs.Statuses(), filter.Status) {
		return filter, &FilterError{"status", t.Status, "is none of a run", diag.MeantOr(t.Status, diag.Words(runs.Statuses()...), "one of ")}
	}
	if t.Cursor != "" && !IsID(t.Cursor) {
		return filter, &FilterError{Part: "cursor", Text: t.Cursor, Why: "is not the next_cursor of a list"}
	}
	if err := checkLetters("id_prefix", t.IDPrefix, IsPrefix); err != nil {
		return filter, err
	}
	if err := checkLetters("id_suffix", t.IDSuffix, IsSuffix); err != nil {
		return filter, err
	}
	for _, label := range t.Labels {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return filter, &FilterError{Part: "label", Text: label, Why: "is not name=value"}
		}
		filter.Labels[name] = value
	}
	since, err := Moment("since", t.Since, now)
	filter.Since = since
	return filter, err
}

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-7][0-9a-hjkmnp-tv-z]{25}$`) })

// IsID reports whether text may be the id of a run, which is also the cursor behind it.
func IsID(text string) bool { return idPattern().MatchString(text) }

// IsPrefix reports whether the id of a run may begin so: with LeastLetters or more.
func IsPrefix(text string) bool { return IsSuffix(text) && text[0] <= '7' }

// IsSuffix reports whether the id of a run may end so: with LeastLetters or more.
func IsSuffix(text string) bool {
	if len(text) < LeastLetters || len(text) > idLetters {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z' && !strings.ContainsRune("ilou", rune(c)):
		default:
			return false
		}
	}
	return true
}

// idLetters is the length of a run's id.
const idLetters = 26

func checkLetters(part, text string, may func(string) bool) error {
	if text == "" || may(text) {
		return nil
	}
	return &FilterError{part, text, "is not of the id of a run", diag.Sayf("%d to %d of its letters, in lower case", LeastLetters, idLetters)}
}

// Moment reads a time, or a duration that is taken off now; "" is the zero time. part
// is the name where it is written. The error is a *FilterError.
func Moment(part, text string, now func() time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := duration.Parse(text)
	if err != nil || now == nil {
		return time.Time{}, &FilterError{part, text, "is neither an RFC 3339 time nor a duration", diag.Say("such as 2026-03-01T09:00:00Z, or 24h")}
	}
	return now().Add(-ago), nil
}
