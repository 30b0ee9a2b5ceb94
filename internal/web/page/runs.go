package page

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
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
	query := url.Values{}
	for name, value := range map[string]string{
		"workflow": f.Workflow, "status": f.Status, "label": f.Label, "since": f.Since, "query": f.Query, "cursor": f.Cursor,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return "/runs"
	}
	return "/runs?" + query.Encode()
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

var cursorPattern = regexp.MustCompile(`^[0-7][0-9a-hjkmnp-tv-z]{25}$`)

// asked turns the filter into the engine's; wrong says what can't be asked.
func (f runFilter) asked(now time.Time) (asked runs.Filter, wrong string) {
	asked = runs.Filter{Workflow: f.Workflow, Limit: pageRows}
	if f.Status == needsAttention {
		asked.Attention = true
	} else if f.Status != "" {
		if !slices.Contains(runStatuses, runs.Status(f.Status)) {
			return asked, "there is no status " + f.Status
		}
		asked.Status = runs.Status(f.Status)
	}
	if f.Label != "" {
		name, value, ok := strings.Cut(f.Label, "=")
		if !ok || name == "" {
			return asked, "a label is written name=value"
		}
		asked.Labels = map[string]string{name: value}
	}
	if f.Since != "" {
		age, exists := map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}[f.Since]
		if !exists {
			return asked, "the period is 1h, 24h, 7d or 30d"
		}
		asked.Since = now.Add(-age)
	}
	if f.Cursor != "" {
		if !cursorPattern.MatchString(f.Cursor) {
			return asked, "the page of the list does not exist"
		}
		asked.Cursor = f.Cursor
	}
	if asked.Query = f.Query; f.Query != "" {
		if err := runquery.Check(f.Query); err != nil {
			return asked, queryText(err)
		}
	}
	return asked, ""
}

// queryText is what is wrong with a query, and what to do about it.
func queryText(err error) string {
	var wrong *runquery.QueryError
	if !errors.As(err, &wrong) || wrong.Hint().Text == "" {
		return err.Error()
	}
	return wrong.Error() + ": " + wrong.Hint().Text
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
	asked, wrong := filter.asked(s.Now())
	if wrong != "" {
		data.Wrong = wrong
		made.Data, made.Status = data, http.StatusBadRequest
		return made, nil
	}
	found, next, err := s.Engine.List(r.Context(), asked)
	if failed := (*runquery.QueryError)(nil); errors.As(err, &failed) {
		data.Wrong = queryText(failed)
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
