package page

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// pageRows is how many runs a page of the list has.
const pageRows = 40

// sinceChoices are the periods of the filter, with their words.
var sinceChoices = []choice{{"", "any time"}, {"1h", "last hour"}, {"24h", "last 24 hours"}, {"7d", "last 7 days"}, {"30d", "last 30 days"}}

// choice is one entry of a select.
type choice struct{ Value, Text string }

// runsData is what the list of runs shows.
type runsData struct {
	Runs     []runs.Run
	Filter   runFilter
	Statuses []tab
	Since    []choice
	Next     string // the path of the next page
	First    string // the path of the first page, where this is not it
	Wrong    string // what is wrong with the filter
	CLI      []any
}

// tab is a link with its words.
type tab struct {
	Path    string
	Text    string
	Count   int
	Current bool
}

// runFilter is the filter as it stands in the URL.
type runFilter struct {
	Workflow, Status, Label, Since, Query, Cursor string
}

// needsAttention stands among the statuses of the filter for runs that need
// somebody.
const needsAttention = "attention"

func (f runFilter) Any() bool { return f.Workflow+f.Status+f.Label+f.Since+f.Query != "" }

// path is the list with this filter.
func (f runFilter) path() string {
	return wire.WithQuery("/runs", wire.Query(
		"workflow", f.Workflow, "status", f.Status, "label", f.Label, "since", f.Since, "query", f.Query, "cursor", f.Cursor))
}

// command is the filter as arguments of `flowrun runs`.
func (f runFilter) command() []any {
	args := []any{"runs", "list"}
	if f.Status == needsAttention {
		args, f.Status = append(args, "--attention"), ""
	}
	for _, flag := range []choice{{"--workflow", f.Workflow}, {"--status", f.Status}, {"--label", f.Label}, {"--since", f.Since}, {"--query", f.Query}} {
		if flag.Text != "" {
			args = append(args, flag.Value, flag.Text)
		}
	}
	return args
}

var runStatuses = []runs.Status{
	runs.RunRunning, runs.RunWaiting, runs.RunPaused, runs.RunFailed, runs.RunTimedOut, runs.RunSucceeded, runs.RunCanceled, runs.RunQueued,
}

// asked turns the filter into the engine's.
func (f runFilter) asked(now func() time.Time) (runs.Filter, error) {
	text := runquery.Text{Workflow: f.Workflow, Status: f.Status, Since: f.Since, Query: f.Query, Cursor: f.Cursor, Limit: pageRows}
	if f.Status == needsAttention {
		text.Status, text.Attention = "", true
	}
	if f.Label != "" {
		text.Labels = []string{f.Label}
	}
	return text.Filter(now)
}

// filterText is what is wrong with a filter, and what to do about it; "" where err is
// no word about the filter.
func filterText(err error) string {
	hint := diag.Hint{}
	if query, ok := errors.AsType[*runquery.QueryError](err); ok {
		hint = query.Hint()
	} else if part, ok := errors.AsType[*runquery.FilterError](err); ok {
		hint = part.Hint
	} else {
		return ""
	}
	if hint.Text == "" {
		return err.Error()
	}
	return err.Error() + ": " + hint.Text
}

// runs is the list of runs. Its filter stands in the URL.
func (s *site) runs(r *http.Request) (*screen, error) {
	query := r.URL.Query()
	filter := runFilter{
		Workflow: strings.TrimSpace(query.Get("workflow")), Status: query.Get("status"), Label: strings.TrimSpace(query.Get("label")),
		Since: query.Get("since"), Query: strings.TrimSpace(query.Get("query")), Cursor: query.Get("cursor"),
	}
	data := runsData{Filter: filter, Statuses: statusTabs(filter), Since: sinceChoices, CLI: filter.command()}
	made := &screen{Title: "Runs", Nav: "/runs", Template: "runs", Live: live{Runs: true}}
	asked, err := filter.asked(s.Now)
	var found []runs.Run
	next := ""
	if err == nil {
		found, next, err = s.Engine.List(r.Context(), asked)
	}
	if data.Wrong = filterText(err); data.Wrong != "" {
		made.Data, made.Status = data, http.StatusBadRequest
		return made, nil
	}
	if err != nil {
		return nil, err
	}
	data.Runs = found
	if first := filter; filter.Cursor != "" {
		first.Cursor = ""
		data.First = first.path()
	}
	if following := filter; next != "" {
		following.Cursor = next
		data.Next = following.path()
	}
	made.Data = data
	return made, nil
}

// statusTabs are the filter with each status in turn.
func statusTabs(filter runFilter) []tab {
	filter.Cursor = ""
	current := filter.Status
	filter.Status = ""
	tabs := []tab{{Path: filter.path(), Text: "all", Current: current == ""}}
	filter.Status = needsAttention
	tabs = append(tabs, tab{Path: filter.path(), Text: "needs attention", Current: current == needsAttention})
	for _, status := range runStatuses {
		filter.Status = string(status)
		tabs = append(tabs, tab{Path: filter.path(), Text: strings.ReplaceAll(string(status), "_", " "), Current: current == string(status)})
	}
	return tabs
}
