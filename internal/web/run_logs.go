package web

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

const logsText = "The lines as they were written. `limit` and `cursor` lead from the first one on; `tail` gives the newest ones, and its next_cursor leads to those " +
	"before them. One request looks at 20,000 lines, so that with a filter a page may be short, or empty, before the end: next_cursor is null at the end alone."

func registerLogs(t *typed, s *server) {
	register(t, guard.Viewer, "GET /runs/{id}/logs", huma.Operation{
		OperationID: "listLogs", Tags: []string{"runs"}, Summary: "List the log lines of a run, or of one step of it", Description: logsText,
	}, s.logs)
}

// TailQuery asks for the end of a list.
type TailQuery struct {
	Tail int `query:"tail" minimum:"1" maximum:"1000" doc:"The last so many that fit, still in the order of the list; next_cursor leads to those before them. Not together with limit."`
}

// part is which part of a list of a run is asked for.
type part struct {
	length int
	back   bool // from the end of the list
	since  time.Time
	from   uint64   // the place of the cursor
	list   []string // what a cursor is good for
}

// partOf reads it; filters are what the list is besides its run and its end.
func (s *server) partOf(what, run string, limit, tail int, cursor, since string, filters ...string) (part, error) {
	if tail > 0 && limit > 0 {
		return part{}, wire.NewProblem(wire.CodeBadRequest, "limit and tail can't be given together: tail is the length of its page")
	}
	p := part{length: cmp.Or(tail, limit, defaultPage), back: tail > 0}
	p.list = append([]string{what, run, strconv.FormatBool(p.back)}, filters...)
	var err error
	if p.since, err = runquery.Moment("since", since, s.Now); err != nil {
		return part{}, err
	}
	p.from, err = readCursor(cursor, p.list...)
	return p, err
}

// pageOf is a page of the list, which goes on at next; 0 = it ends.
func pageOf[T any](p part, items []T, next uint64) Page[T] {
	page := newPage(items, "")
	if next > 0 {
		page.NextCursor = makeCursor(next, p.list...)
	}
	return page
}

type logsQuery struct {
	RunRef
	PageQuery
	TailQuery
	Step  string `query:"step" doc:"Only lines of this step; one of a loop's item is domains[example.com].whois."`
	Level string `query:"level" enum:"debug,info,warn,error" doc:"Only lines of this level and above."`
	Since string `query:"since" doc:"Only lines that were written at this time or later: RFC 3339, or a duration that is taken off now, such as 10m." example:"10m"`
	Text  string `query:"q" maxLength:"200" doc:"Only lines whose message, step or fields hold this text, in letters of either case."`
}

func (s *server) logs(ctx context.Context, in *logsQuery) (Page[runs.Log], error) {
	p, err := s.partOf("logs", in.ID, in.Limit, in.Tail, in.Cursor, in.Since, in.Step, in.Level, in.Since, in.Text)
	if err != nil {
		return Page[runs.Log]{}, err
	}
	lines, err := s.Runs.LogPage(ctx, in.ID, engine.LogQuery{
		LogFilter: engine.LogFilter{Step: in.Step, Level: in.Level, Since: p.since, Text: in.Text}, From: p.from, Back: p.back, Limit: p.length,
	})
	if err != nil {
		return Page[runs.Log]{}, ofRun(in.ID, err)
	}
	return pageOf(p, lines.Lines, lines.Next), nil
}
