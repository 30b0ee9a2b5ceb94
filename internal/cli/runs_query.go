package cli

import (
	"context"
	"errors"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// fullPage asks on until a page is full or the list ends: with a query one answer
// stands for as many runs as its work is bounded to.
func fullPage(ctx context.Context, c *web.Client, filter runs.Filter) (*web.Page[runs.Run], error) {
	full := web.Page[runs.Run]{Items: []runs.Run{}}
	for limit := filter.Limit; ; {
		filter.Limit = limit - len(full.Items)
		page, err := c.Runs(ctx, filter)
		if err != nil {
			return nil, err
		}
		full.Items, full.NextCursor = append(full.Items, page.Items...), page.NextCursor
		if page.NextCursor == nil || len(full.Items) >= limit {
			return &full, nil
		}
		filter.Cursor = *page.NextCursor
	}
}

// queryFault prints what is wrong with a query, under the query itself; another
// error it returns as it is.
func (a *app) queryFault(query string, err error) error {
	var (
		wrong   *runquery.QueryError
		problem *web.Problem
		list    diag.List
	)
	switch {
	case errors.As(err, &wrong):
		list = wrong.Problems
	case errors.As(err, &problem) && problem.Code == wire.CodeBadRequest:
		list = problem.Problems
	}
	if len(list) == 0 {
		return err
	}
	a.printProblemsOf(list, map[string][]byte{runquery.QueryFile: []byte(query)})
	return exitWith(exitUsage)
}
