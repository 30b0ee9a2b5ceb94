package web

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// longestPage is the longest page of a list.
const longestPage = 1000

// LogsAsked selects the log lines that a client reads. The zero value is all.
type LogsAsked struct {
	Step, Level, Text string
	Since             time.Time
	Tail              int // only the newest so many; 0 = all
}

func (a LogsAsked) query() url.Values {
	return wire.Query("step", a.Step, "level", a.Level, "q", a.Text, "since", moment(a.Since, time.RFC3339Nano))
}

// EachLog hands over the log lines of a run page by page, in the order in which
// they were written, until there are no more or take says so.
func (c *Client) EachLog(ctx context.Context, id string, asked LogsAsked, take func([]runs.Log) error) error {
	if asked.Tail > 0 {
		lines, err := c.tail(ctx, id, asked)
		if err != nil {
			return err
		}
		return take(lines)
	}
	query := asked.query()
	query.Set("limit", strconv.Itoa(longestPage))
	return eachPage(ctx, c, runPath(id, "/logs"), query, take)
}

// tail reads the newest lines, which may be more than a page has.
func (c *Client) tail(ctx context.Context, id string, asked LogsAsked) ([]runs.Log, error) {
	query, lines := asked.query(), []runs.Log(nil)
	for {
		query.Set("tail", strconv.Itoa(min(asked.Tail-len(lines), longestPage)))
		page, err := fetch[Page[runs.Log]](ctx, c, wire.WithQuery(runPath(id, "/logs"), query))
		if err != nil {
			return nil, err
		}
		lines = append(page.Items, lines...)
		if page.NextCursor == nil || len(lines) >= asked.Tail {
			return lines, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// Logs returns the log lines of a run, or of one step of it.
func (c *Client) Logs(ctx context.Context, id, step string) (lines []runs.Log, err error) {
	err = c.EachLog(ctx, id, LogsAsked{Step: step}, addTo(&lines))
	return lines, err
}

// Steps returns the steps of a run in file order, items in input order.
func (c *Client) Steps(ctx context.Context, id string) (steps []runs.Step, err error) {
	query := url.Values{"limit": {strconv.Itoa(longestSteps)}}
	err = eachPage(ctx, c, runPath(id, "/steps"), query, addTo(&steps))
	return steps, err
}

// StepsInShort is Steps without long outputs: Step.OutputsBytes says so.
func (c *Client) StepsInShort(ctx context.Context, id string) (steps []runs.Step, err error) {
	query := url.Values{"limit": {strconv.Itoa(longestSteps)}, "short": {"true"}}
	err = eachPage(ctx, c, runPath(id, "/steps"), query, addTo(&steps))
	return steps, err
}

// addTo collects the pages of a list.
func addTo[T any](list *[]T) func([]T) error {
	return func(part []T) error {
		*list = append(*list, part...)
		return nil
	}
}

// eachPage reads a list to its end.
func eachPage[T any](ctx context.Context, c *Client, path string, query url.Values, take func([]T) error) error {
	for {
		page, err := fetch[Page[T]](ctx, c, wire.WithQuery(path, query))
		if err != nil {
			return err
		}
		if err := take(page.Items); err != nil {
			return err
		}
		if page.NextCursor == nil {
			return nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}
