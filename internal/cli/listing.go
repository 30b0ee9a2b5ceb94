package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/duration"
)

// pageFlags are the flags by which lists are cut into pages.
type pageFlags struct {
	since, cursor string
	limit         int
}

// add adds the flags to a command that lists what.
func (f *pageFlags) add(c *cobra.Command, what string) {
	sinceFlag(c, &f.since, what)
	c.Flags().IntVar(&f.limit, "limit", 20, "how many, at most 1000")
	c.Flags().StringVar(&f.cursor, "cursor", "", "go on where a list ended (its next_cursor)")
}

// check returns the time of --since.
func (f *pageFlags) check(a *app) (since time.Time, err error) {
	if f.limit < 1 || f.limit > 1000 {
		return since, usageError(fmt.Errorf("--limit takes 1 to 1000, not %d", f.limit), "")
	}
	if f.since == "" {
		return since, nil
	}
	return a.parseSince("--since", f.since, "24h")
}

// sinceFlag adds --since to a command that lists what.
func sinceFlag(c *cobra.Command, into *string, what string) {
	c.Flags().StringVar(into, "since", "", "only "+what+" since a time (RFC 3339) or a duration ago (24h, 7d)")
}

// parseSince reads a time, or a duration that is taken off now, such as example.
func (a *app) parseSince(flag, text, example string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := duration.Parse(text)
	if err != nil || ago < 0 {
		return time.Time{}, usageError(fmt.Errorf("%s %q is neither an RFC 3339 time nor a duration", flag, text), "such as 2026-03-01T09:00:00Z, or "+example)
	}
	return a.sys.Now().Add(-ago), nil
}

// parseTimeFlag reads a time; "" is the zero time.
func parseTimeFlag(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usageError(fmt.Errorf("%s %q is not an RFC 3339 time", flag, text), "such as 2026-03-01T09:00:00Z")
	}
	return at, nil
}
