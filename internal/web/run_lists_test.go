package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// list asks for a list, and wants it to be answered.
func list[T any](t *testing.T, handler http.Handler, path string, query url.Values) Page[T] {
	t.Helper()
	w := request(handler, "GET", path+"?"+query.Encode(), "", "")
	var page Page[T]
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s?%s: %d %s", path, query.Encode(), w.Code, w.Body)
	}
	return page
}

func loopSteps(items int) []runs.Step {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	steps := []runs.Step{{Path: "each", Status: runs.StepFailed}}
	for i := range items {
		begun := at.Add(time.Duration(i) * time.Second)
		check := runs.Step{Path: fmt.Sprintf("each[%d].check", i), Uses: "core.fail", Status: runs.StepSucceeded, StartedAt: &begun, FinishedAt: &begun}
		last := runs.Step{Path: fmt.Sprintf("each[%d].last", i), Status: runs.StepSucceeded}
		if i%5 == 4 {
			check.Status, check.Error, last.Status = runs.StepFailed, &runs.Error{Kind: "invalid", Message: "No SUCH Thing"}, runs.StepBlocked
		}
		steps = append(steps, check, last)
	}
	return append(steps, runs.Step{Path: "eachway", Status: runs.StepUnknown, Message: "who knows"})
}

func TestIssue12_23_StepsComeInPagesAndFiltered(t *testing.T) {
	rows := &fakeRuns{steps: loopSteps(100)}
	handler, _ := newTestHandler(t, rows)
	const path = Prefix + "/runs/" + knownRun + "/steps"
	count := func(fits func(runs.Step) bool) (paths []string) {
		for _, step := range rows.steps {
			if fits(step) {
				paths = append(paths, step.Path)
			}
		}
		return paths
	}
	late := rows.steps[1].StartedAt.Add(90 * time.Second)
	tests := map[string]struct {
		query url.Values
		want  []string
	}{
		"all":            {url.Values{}, count(func(runs.Step) bool { return true })},
		"of a status":    {url.Values{"status": {"failed"}}, count(func(s runs.Step) bool { return s.Status == runs.StepFailed })},
		"errors":         {url.Values{"level": {"error"}}, count(func(s runs.Step) bool { return s.Status == runs.StepFailed || s.Status == runs.StepUnknown })},
		"warnings":       {url.Values{"level": {"warn"}}, count(func(s runs.Step) bool { return s.Status != runs.StepSucceeded })},
		"a loop":         {url.Values{"step": {"each"}}, count(func(s runs.Step) bool { return s.Path != "eachway" })},
		"a step":         {url.Values{"step": {"each[3].last"}}, []string{"each[3].last"}},
		"none":           {url.Values{"step": {"eac"}}, nil},
		"a text":         {url.Values{"q": {"such thing"}}, count(func(s runs.Step) bool { return s.Error != nil })},
		"a message":      {url.Values{"q": {"WHO"}}, []string{"eachway"}},
		"since a time":   {url.Values{"since": {late.Format(time.RFC3339)}}, count(func(s runs.Step) bool { return s.StartedAt != nil && !s.StartedAt.Before(late) })},
		"several at one": {url.Values{"step": {"each"}, "status": {"blocked"}}, count(func(s runs.Step) bool { return s.Status == runs.StepBlocked })},
	}
	for name, test := range tests {
		for _, direction := range []string{"limit", "tail"} {
			for _, length := range []int{1, 3, 7, 50, 1000} {
				t.Run(fmt.Sprint(name, " ", direction, " ", length), func(t *testing.T) {
					query := url.Values{direction: {fmt.Sprint(length)}}
					for name, values := range test.query {
						query[name] = values
					}
					var got []string
					for asked := 0; ; asked++ {
						page := list[runs.Step](t, handler, path, query)
						var part []string
						for _, step := range page.Items {
							part = append(part, step.Path)
						}
						if len(part) > length || asked > 300 {
							t.Fatalf("a page of %d", len(part))
						}
						if direction == "tail" {
							got = append(part, got...)
						} else {
							got = append(got, part...)
						}
						if page.NextCursor == nil {
							break
						}
						query.Set("cursor", *page.NextCursor)
					}
					if diff := cmp.Diff(test.want, got); diff != "" {
						t.Errorf("(-want +got):\n%.500s", diff)
					}
				})
			}
		}
	}
	if page := list[runs.Step](t, handler, path, nil); len(page.Items) != defaultPage || page.NextCursor == nil {
		t.Errorf("%d steps where nobody says how many", len(page.Items))
	}
}

func TestIssue12_23_PagesOfStepsHoldWhileTheRunGoesOn(t *testing.T) {
	rows := &fakeRuns{steps: loopSteps(10)}
	handler, _ := newTestHandler(t, rows)
	const path = Prefix + "/runs/" + knownRun + "/steps"
	first := list[runs.Step](t, handler, path, url.Values{"limit": {"5"}})
	rows.steps = slices.Insert(rows.steps, 1, runs.Step{Path: "before[1].x"}, runs.Step{Path: "before[2].x"})
	second := list[runs.Step](t, handler, path, url.Values{"limit": {"1"}, "cursor": {*first.NextCursor}})
	if got := second.Items[0].Path; got != "each[2].check" {
		t.Errorf("after %s comes %s", first.Items[4].Path, got)
	}
}

func TestIssue12_23_LogsAreAskedForAsTheRequestSays(t *testing.T) {
	rows := &fakeRuns{next: 77}
	handler, _ := newTestHandler(t, rows)
	const path = Prefix + "/runs/" + knownRun + "/logs"
	since := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	filter := engine.LogFilter{Step: "a[x/y].b", Level: "warn", Since: since, Text: "Not Found"}
	query := url.Values{"step": {filter.Step}, "level": {"warn"}, "since": {since.Format(time.RFC3339)}, "q": {"Not Found"}, "limit": {"7"}}
	page := list[runs.Log](t, handler, path, query)
	query.Set("cursor", *page.NextCursor)
	list[runs.Log](t, handler, path, query)
	list[runs.Log](t, handler, path, nil)
	list[runs.Log](t, handler, path, url.Values{"tail": {"1000"}})
	want := []engine.LogQuery{
		{LogFilter: filter, Limit: 7}, {LogFilter: filter, Limit: 7, From: 77}, {Limit: defaultPage}, {Limit: 1000, Back: true},
	}
	if diff := cmp.Diff(want, rows.logQueries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIssue12_23_ACursorIsGoodForItsListAlone(t *testing.T) {
	handler, _ := newTestHandler(t, &fakeRuns{next: 77, steps: loopSteps(100)})
	logs, steps := Prefix+"/runs/"+knownRun+"/logs", Prefix+"/runs/"+knownRun+"/steps"
	ofLogs := *list[runs.Log](t, handler, logs, url.Values{"level": {"warn"}}).NextCursor
	ofSteps := *list[runs.Step](t, handler, steps, url.Values{"level": {"warn"}, "limit": {"2"}}).NextCursor
	list[runs.Log](t, handler, logs, url.Values{"level": {"warn"}, "cursor": {ofLogs}, "limit": {"9"}}) // the length may change
	for name, path := range map[string]string{
		"another level": logs + "?level=error&cursor=" + ofLogs, "no level": logs + "?cursor=" + ofLogs, "a step more": logs + "?level=warn&step=a&cursor=" + ofLogs,
		"a text more": logs + "?level=warn&q=a&cursor=" + ofLogs, "the other end": logs + "?level=warn&tail=5&cursor=" + ofLogs,
		"the steps": steps + "?level=warn&cursor=" + ofLogs, "of steps": logs + "?level=warn&cursor=" + ofSteps, "a status": steps + "?level=warn&status=failed&cursor=" + ofSteps,
		"cut": logs + "?level=warn&cursor=" + ofLogs[:9], "longer": logs + "?level=warn&cursor=" + ofLogs + "AA", "a number": logs + "?level=warn&cursor=7",
		"limit and tail": logs + "?limit=5&tail=5", "steps, both": steps + "?limit=5&tail=5", "a tail of 0": logs + "?tail=0", "a long tail": logs + "?tail=1001",
		"a limit of 0": logs + "?limit=0", "a long page": logs + "?limit=1001", "too many steps": steps + "?limit=10001", "a level that is none": logs + "?level=fatal",
		"a status that is none": steps + "?status=fail", "since nothing": logs + "?since=yesterday", "since the future": logs + "?since=-1h", "a long text": logs + "?q=" + strings.Repeat("a", 201),
		"another name": logs + "?grep=a", "steps since nothing": steps + "?since=1",
	} {
		if got := problemCode(t, request(handler, "GET", path, "", "")); got != wire.CodeBadRequest {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestIssue12_23_ADurationIsTakenOffNow(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	rows := new(fakeRuns)
	handler := NewSocketHandler(Options{Runs: rows, Gate: NewGate(), Now: func() time.Time { return now }})
	list[runs.Log](t, handler, Prefix+"/runs/"+knownRun+"/logs", url.Values{"since": {"90m"}})
	if got := rows.logQueries[0].Since; !got.Equal(now.Add(-90 * time.Minute)) {
		t.Errorf("since %s", got)
	}
}

func TestAClientReadsLongListsToTheirEnd(t *testing.T) {
	rows := &fakeRuns{steps: loopSteps(7000), lines: 2500}
	client := newTestClient(t, rows)
	steps, err := client.Steps(t.Context(), knownRun)
	if diff := cmp.Diff(rows.steps, steps); diff != "" || err != nil {
		t.Errorf("%v %.300s", err, diff)
	}
	for tail, want := range map[int]int{0: 2500, 10: 10, 1000: 1000, 1001: 1001, 2400: 2400, 9999: 2500} {
		var got []runs.Log
		err := client.EachLog(t.Context(), knownRun, LogsAsked{Tail: tail}, func(part []runs.Log) error {
			got = append(got, part...)
			return nil
		})
		if err != nil || len(got) != want || got[want-1].Message != "2500" || got[0].Message != fmt.Sprint(2501-want) {
			t.Errorf("tail %d: %d lines, %v", tail, len(got), err)
		}
	}
}

// TestRunsAreListedByTheLettersOfTheirIDs: the letters reach the engine; what is not of an id
// is refused, with what would be.
func TestRunsAreListedByTheLettersOfTheirIDs(t *testing.T) {
	rows := &fakeRuns{}
	handler, _ := newTestHandler(t, rows)
	client := NewClient(InProcess(handler))
	if _, err := client.Runs(t.Context(), runs.Filter{IDPrefix: "01k8zq", IDSuffix: "5p8r"}); err != nil || len(rows.filters) != 1 || rows.filters[0].IDPrefix != "01k8zq" || rows.filters[0].IDSuffix != "5p8r" {
		t.Errorf("%+v, %v", rows.filters, err)
	}
	for _, query := range []string{"id_prefix=01k", "id_prefix=81k8", "id_prefix=01K8", "id_suffix=oil1", "id_suffix=%2e%2e%2f%2e", "id_prefix=" + strings.Repeat("0", 27)} {
		w := request(handler, "GET", Prefix+"/runs?"+query, "", "")
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "4 to 26 of its letters") {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
