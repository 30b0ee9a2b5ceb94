package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine/runquery"
)

// pageFlags are the flags by which lists are cut into pages.
type pageFlags struct {
	since, cursor string
	limit         int
}

// add adds the flags to a command that lists what.
func (f *pageFlags) add(c *cobra.Command, what string) {
	sinceFlag(c, &f.since, what)
	c.Flags().IntVarP(&f.limit, "limit", "n", 20, "how many, at most 1000")
	c.Flags().StringVar(&f.cursor, "cursor", "", "go on where a list ended (its next_cursor)")
}

// checkLimit refuses what is no length of a page.
func (f *pageFlags) checkLimit() error {
	if f.limit < 1 || f.limit > 1000 {
		return usageError(fmt.Errorf("--limit takes 1 to 1000, not %d", f.limit), "")
	}
	return nil
}

// sinceFlag adds --since to a command that lists what.
func sinceFlag(c *cobra.Command, into *string, what string) {
	c.Flags().StringVar(into, "since", "", "only "+what+" since a time (RFC 3339) or a duration ago (24h, 7d)")
}

// parseSince reads a time, or a duration that is taken off now, such as example; ""
// is the zero time.
func (a *app) parseSince(flag, text, example string) (time.Time, error) {
	at, err := runquery.Moment(flag, text, a.sys.Now)
	if err != nil {
		err = usageError(err, "such as 2026-03-01T09:00:00Z, or "+example)
	}
	return at, err
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
