package web

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

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
	register(t, guard.Viewer, huma.Operation{
		OperationID: "listLogs", Method: http.MethodGet, Path: Prefix + "/runs/{id}/logs", Tags: []string{"runs"},
		Summary: "List the log lines of a run, or of one step of it", Description: logsText,
	}, s.logs)
}

// TailQuery asks for the end of a list.
type TailQuery struct {
	Tail int `query:"tail" minimum:"1" maximum:"1000" doc:"The last so many that fit, still in the order of the list; next_cursor leads to those before them. Not together with limit."`
}

// bounds reads how much of a list is wanted, and from which end.
func bounds(limit, tail int) (length int, back bool, err error) {
	if tail > 0 && limit > 0 {
		return 0, false, wire.NewProblem(wire.CodeBadRequest, "limit and tail can't be given together: tail is the length of its page")
	}
	return cmp.Or(tail, limit, defaultPage), tail > 0, nil
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
	none := Page[runs.Log]{}
	limit, back, err := bounds(in.Limit, in.Tail)
	if err != nil {
		return none, err
	}
	since, err := runquery.Moment("since", in.Since, s.Now)
	if err != nil {
		return none, err
	}
	list := []string{"logs", in.ID, strconv.FormatBool(back), in.Step, in.Level, in.Since, in.Text}
	from, err := readCursor(in.Cursor, list...)
	if err != nil {
		return none, err
	}
	lines, err := s.Runs.LogPage(ctx, in.ID, engine.LogQuery{
		LogFilter: engine.LogFilter{Step: in.Step, Level: in.Level, Since: since, Text: in.Text}, From: from, Back: back, Limit: limit,
	})
	if err != nil {
		return none, ofRun(in.ID, err)
	}
	page := newPage(lines.Lines, "")
	if lines.Next > 0 {
		page.NextCursor = makeCursor(lines.Next, list...)
	}
	return page, nil
}
