package page

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

func TestHomeShowsFirstWhatNeedsSomebody(t *testing.T) {
	d := crowd(t)
	page := d.get("/", http.StatusOK)
	has(t, page, "Needs attention", "failing failed 2 times", "broken: no luck with 1", "asking: approve asks", "Publish to stable?", "broken.yaml is broken",
		"Running now", "asking", "Next starts", "No scheduler runs", "timed", "daily", "Last 24 hours", "<h2 id=\"h-wf\">Workflows")
	if strings.Index(page, "failing failed") > strings.Index(page, "approve asks") {
		t.Error("what waits stands before what fails")
	}
}

func TestHomeOfANewStoreSaysHowToBegin(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	has(t, d.get("/", http.StatusOK), "Nothing has run yet", "Nothing fails", "Nothing runs", "No schedule")
	has(t, d.get("/runs", http.StatusOK), "Nothing has run yet")
}

func run(workflow string, status runs.Status, minutes int) runs.Run {
	end := noon.Add(time.Duration(minutes) * time.Minute)
	return runs.Run{
		ID: fmt.Sprintf("01k8zq4c0vdx3y6t7k9m2n%04d", minutes+5000), Workflow: workflow, Status: status, StartedAt: end.Add(-time.Second),
		FinishedAt: &end, DurationMS: 1000, Closed: true,
	}
}

func TestAWorkflowFailsWhileItsNewestEndedRunsDo(t *testing.T) {
	open := run("w", runs.RunRunning, 0)
	open.FinishedAt, open.Closed = nil, false
	for name, c := range map[string]struct {
		runs   []runs.Run // the newest first
		failed int
	}{
		"the newest failed":            {[]runs.Run{run("w", runs.RunFailed, -1), run("w", runs.RunSucceeded, -2)}, 1},
		"two in a row":                 {[]runs.Run{run("w", runs.RunFailed, -1), run("w", runs.RunTimedOut, -2), run("w", runs.RunSucceeded, -3)}, 2},
		"it is well again":             {[]runs.Run{run("w", runs.RunSucceeded, -1), run("w", runs.RunFailed, -2)}, 0},
		"a new one runs meanwhile":     {[]runs.Run{open, run("w", runs.RunFailed, -2)}, 1},
		"canceled ones do not count":   {[]runs.Run{run("w", runs.RunCanceled, -1), run("w", runs.RunFailed, -2), run("w", runs.RunSucceeded, -3)}, 1},
		"all ran well":                 {[]runs.Run{run("w", runs.RunSucceeded, -1)}, 0},
		"nothing but open ones is new": {[]runs.Run{open}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			found := pulses(c.runs)
			if len(found) != 1 || found[0].Failed != c.failed {
				t.Errorf("%+v", found)
			}
			wellFormed(t, string(found[0].Runs))
		})
	}
}

func TestFailingWorkflowsComeFirstAndSubWorkflowsAreLeftOut(t *testing.T) {
	child := run("child", runs.RunFailed, -1)
	child.Parent = &runs.ParentStep{Run: "x", Step: "y"}
	found := pulses([]runs.Run{child, run("good", runs.RunSucceeded, -2), run("bad", runs.RunFailed, -3)})
	if len(found) != 2 || found[0].Name != "bad" || found[1].Name != "good" || found[1].Typical != "1s" {
		t.Errorf("%+v", found)
	}
}

func TestTheDayIsCountedByTheHour(t *testing.T) {
	hours := []engine.HourSummary{
		{Hour: noon.Add(-25 * time.Hour), Runs: engine.RunCounts{runs.RunFailed: 1}},
		{Hour: noon.Add(-22 * time.Hour), Runs: engine.RunCounts{runs.RunSucceeded: 320}},
		{Hour: noon.Add(-time.Hour), Runs: engine.RunCounts{runs.RunFailed: 1}},
		{Hour: noon, Runs: engine.RunCounts{runs.RunSucceeded: 1}},
	}
	chart, words := hoursChart(hours, noon, time.UTC)
	if words != "322 runs in the last 24 hours, 1 failed" {
		t.Error(words)
	}
	wellFormed(t, string(chart))
	if strings.Count(string(chart), `class="t-bad"`) != 1 || strings.Count(string(chart), `class="t-ok"`) != 2 {
		t.Errorf("%s", chart)
	}
}

// slowLogins are connections that take a while to tell how they are.
type slowLogins struct {
	asked int
	list  []workspace.ConnectionStatus
}

func (s *slowLogins) read(context.Context) ([]workspace.ConnectionStatus, error) {
	s.asked++
	return s.list, nil
}

func TestEndingLoginsAreTold(t *testing.T) {
	soon, later := noon.Add(24*time.Hour), noon.Add(30*24*time.Hour)
	login := func(state string, refresh *time.Time) *workspace.LoginState {
		return &workspace.LoginState{State: state, RefreshExpiresAt: refresh}
	}
	asked := &slowLogins{list: []workspace.ConnectionStatus{
		{Name: "fine", Login: login("valid", &later)}, {Name: "none"}, {Name: "ends", Login: login("valid", &soon)},
		{Name: "over", Login: login("auth_required", nil)}, {Name: "gone", Login: login("expired", nil)}, {Name: "renews", Login: login("valid", &later)},
		{Name: "wrong", Error: "no such setting"},
	}}
	now := noon
	s := &site{Options: Options{Now: func() time.Time { return now }}}
	s.known = &known{links: kept[[]workspace.ConnectionStatus]{age: linksKept, now: s.Now, later: true, read: asked.read}}
	for range 2 {
		var data homeData
		s.endingLogins(t.Context(), &data)
		var got []string
		for _, a := range data.Attention {
			got = append(got, a.Text)
		}
		want := "the login of ends ends in 24 h|the login of over has ended|the login of gone has ended|connection wrong"
		if strings.Join(got, "|") != want {
			t.Errorf("%q", got)
		}
	}
	if asked.asked != 1 {
		t.Errorf("asked %d times within a minute", asked.asked)
	}
	now = now.Add(2 * linksKept)
	s.endingLogins(t.Context(), new(homeData))
	if asked.asked != 2 {
		t.Errorf("asked %d times after a minute", asked.asked)
	}
}

// answers gives one number after the other.
type answers struct {
	asked int
	fails bool
}

func (a *answers) read(context.Context) (int, error) {
	a.asked++
	if a.fails {
		return 0, errors.New("no disk")
	}
	return a.asked, nil
}

func TestAnAnswerIsKeptForAMoment(t *testing.T) {
	now, source := noon, &answers{}
	k := &kept[int]{read: source.read, age: time.Minute, now: func() time.Time { return now }}
	want := func(value, asked int) {
		t.Helper()
		if got, err := k.get(t.Context()); err != nil || got != value || source.asked != asked {
			t.Errorf("%d %v after %d questions, want %d after %d", got, err, source.asked, value, asked)
		}
	}
	want(1, 1)
	want(1, 1)
	now = now.Add(time.Minute)
	source.fails = true
	if _, err := k.get(t.Context()); err == nil {
		t.Error("a failure is not told")
	}
	source.fails = false
	want(3, 3) // an error is not kept
	now = now.Add(-time.Hour)
	want(4, 4) // the clock was put back
}

func TestAnOldAnswerIsRenewedBehindThePage(t *testing.T) {
	for name, later := range map[string]bool{"the first one is waited for": false, "nobody waits": true} {
		t.Run(name, func(t *testing.T) {
			now, source := noon, &answers{}
			var tasks []func(context.Context)
			k := &kept[int]{
				read: source.read, age: time.Minute, now: func() time.Time { return now }, later: later,
				start: func(task func(context.Context)) { tasks = append(tasks, task) },
			}
			first, err := k.get(t.Context())
			if err != nil || (first == 0) != later || (len(tasks) == 1) != later {
				t.Fatalf("%d %v, %d tasks", first, err, len(tasks))
			}
			for _, task := range tasks {
				task(t.Context())
			}
			now, tasks = now.Add(time.Minute), nil
			for range 2 {
				if got, err := k.get(t.Context()); err != nil || got != 1 || len(tasks) != 1 {
					t.Errorf("%d %v, %d tasks", got, err, len(tasks))
				}
			}
			source.fails = true
			tasks[0](t.Context()) // what was known stays
			source.fails = false
			if got, err := k.get(t.Context()); err != nil || got != 1 || len(tasks) != 2 {
				t.Errorf("%d %v, %d tasks", got, err, len(tasks))
			}
			tasks[1](t.Context())
			if got, err := k.get(t.Context()); err != nil || got != 3 || len(tasks) != 2 {
				t.Errorf("%d %v, %d tasks", got, err, len(tasks))
			}
		})
	}
}

// listing is a project with a list of workflows.
type listing struct{ Workflows }

func (listing) WorkflowList(context.Context) ([]engine.WorkflowInfo, error) {
	broken := engine.WorkflowInfo{File: "b.yaml", Stale: true}
	broken.Problems.Errorf(diag.Pos{File: "b.yaml", Line: 1, Column: 1}, "FR1001", "it is wrong")
	return []engine.WorkflowInfo{{Name: "good"}, broken}, nil
}

func TestOnlyBrokenFilesAreKept(t *testing.T) {
	if got, err := brokenFiles(t.Context(), listing{}); err != nil || len(got) != 1 || got[0].File != "b.yaml" {
		t.Errorf("%v %v", got, err)
	}
}
