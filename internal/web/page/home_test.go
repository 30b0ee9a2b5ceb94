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
	"github.com/flowrun/flowrun/engine/plan"
)

func TestHomeShowsFirstWhatNeedsSomebody(t *testing.T) {
	d := crowd(t)
	page := d.get("/", http.StatusOK)
	has(t, page, "Needs attention", "failing failed 2 times in a row", "broken: no luck with 1", "asking: approve asks", "Publish to stable?", "broken.yaml is broken",
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

func run(workflow string, status plan.RunStatus, minutes int) plan.Run {
	end := noon.Add(time.Duration(minutes) * time.Minute)
	return plan.Run{
		ID: fmt.Sprintf("01k8zq4c0vdx3y6t7k9m2n%04d", minutes+5000), Workflow: workflow, Status: status, StartedAt: end.Add(-time.Second),
		FinishedAt: &end, DurationMS: 1000, Closed: true,
	}
}

func TestAWorkflowFailsWhileItsNewestEndedRunsDo(t *testing.T) {
	open := run("w", plan.RunRunning, 0)
	open.FinishedAt, open.Closed = nil, false
	for name, c := range map[string]struct {
		runs   []plan.Run // the newest first
		failed int
	}{
		"the newest failed":            {[]plan.Run{run("w", plan.RunFailed, -1), run("w", plan.RunSucceeded, -2)}, 1},
		"two in a row":                 {[]plan.Run{run("w", plan.RunFailed, -1), run("w", plan.RunTimedOut, -2), run("w", plan.RunSucceeded, -3)}, 2},
		"it is well again":             {[]plan.Run{run("w", plan.RunSucceeded, -1), run("w", plan.RunFailed, -2)}, 0},
		"a new one runs meanwhile":     {[]plan.Run{open, run("w", plan.RunFailed, -2)}, 1},
		"canceled ones do not count":   {[]plan.Run{run("w", plan.RunCanceled, -1), run("w", plan.RunFailed, -2), run("w", plan.RunSucceeded, -3)}, 1},
		"all ran well":                 {[]plan.Run{run("w", plan.RunSucceeded, -1)}, 0},
		"nothing but open ones is new": {[]plan.Run{open}, 0},
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
	child := run("child", plan.RunFailed, -1)
	child.Parent = &plan.ParentStep{Run: "x", Step: "y"}
	found := pulses([]plan.Run{child, run("good", plan.RunSucceeded, -2), run("bad", plan.RunFailed, -3)})
	if len(found) != 2 || found[0].Name != "bad" || found[1].Name != "good" || found[1].Typical != "1s" {
		t.Errorf("%+v", found)
	}
}

func TestTheDayIsCountedByTheHour(t *testing.T) {
	runs := []plan.Run{run("a", plan.RunSucceeded, 0), run("a", plan.RunFailed, -30), run("a", plan.RunSucceeded, -22*60), run("a", plan.RunFailed, -25*60)}
	chart, words := hoursChart(runs, noon, time.UTC)
	if words != "3 runs in the last 24 hours, 1 failed" {
		t.Error(words)
	}
	wellFormed(t, string(chart))
	if strings.Count(string(chart), `class="t-bad"`) != 1 || strings.Count(string(chart), `class="t-ok"`) != 2 {
		t.Errorf("%s", chart)
	}
}

// slowLogins are connections that take a while to tell how they are.
type slowLogins struct {
	Connections
	asked int
	list  []engine.ConnectionStatus
}

func (s *slowLogins) ListConnections(context.Context) []engine.ConnectionStatus {
	s.asked++
	return s.list
}

func TestEndingLoginsAreTold(t *testing.T) {
	soon, later := noon.Add(24*time.Hour), noon.Add(30*24*time.Hour)
	login := func(state string, refresh *time.Time) *engine.LoginState {
		return &engine.LoginState{State: state, RefreshExpiresAt: refresh}
	}
	asked := &slowLogins{list: []engine.ConnectionStatus{
		{Name: "fine", Login: login("valid", &later)}, {Name: "none"}, {Name: "ends", Login: login("valid", &soon)},
		{Name: "over", Login: login("auth_required", nil)}, {Name: "gone", Login: login("expired", nil)}, {Name: "renews", Login: login("expired", &later)},
		{Name: "wrong", Error: "no such setting"},
	}}
	now := noon
	clock := func() time.Time { return now }
	s := &site{Options: Options{Now: clock}, links: &links{engine: asked, now: clock}}
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
	s.links.recent(t.Context())
	if asked.asked != 2 {
		t.Errorf("asked %d times after a minute", asked.asked)
	}
}

func TestLoginsAreAskedForBehindThePage(t *testing.T) {
	asked := &slowLogins{list: []engine.ConnectionStatus{{Name: "a"}}}
	var tasks []func(context.Context)
	l := &links{engine: asked, now: func() time.Time { return noon }, start: func(task func(context.Context)) { tasks = append(tasks, task) }}
	if got := l.recent(t.Context()); got != nil || l.recent(t.Context()) != nil || len(tasks) != 1 {
		t.Fatalf("%v, %d tasks", got, len(tasks))
	}
	tasks[0](t.Context())
	if got := l.recent(t.Context()); len(got) != 1 || len(tasks) != 1 {
		t.Errorf("%v, %d tasks", got, len(tasks))
	}
}

// listing is a project with a list of workflows.
type listing struct {
	Workflows
	asked int
	fails bool
}

func (l *listing) WorkflowList(context.Context) ([]engine.WorkflowInfo, error) {
	l.asked++
	if l.fails {
		return nil, errors.New("no disk")
	}
	broken := engine.WorkflowInfo{File: "b.yaml", Stale: true}
	broken.Problems.Errorf(diag.Pos{File: "b.yaml", Line: 1, Column: 1}, "FR1001", "it is wrong")
	return []engine.WorkflowInfo{{Name: "good"}, broken}, nil
}

func TestBrokenFilesAreKeptForAMoment(t *testing.T) {
	now := noon
	list := &listing{}
	b := &broken{engine: list, now: func() time.Time { return now }}
	for range 3 {
		if got, err := b.recent(t.Context()); err != nil || len(got) != 1 || got[0].File != "b.yaml" {
			t.Errorf("%v %v", got, err)
		}
	}
	if list.asked != 1 {
		t.Errorf("asked %d times", list.asked)
	}
	now, list.fails = now.Add(brokenKept), true
	if _, err := b.recent(t.Context()); err == nil {
		t.Error("a failure is not told")
	}
	now, list.fails = now.Add(-time.Hour), false // the clock was put back
	if _, err := b.recent(t.Context()); err != nil || list.asked != 3 {
		t.Errorf("%v, asked %d times", err, list.asked)
	}
}

func TestOldBrokenFilesAreReadBehindThePage(t *testing.T) {
	now := noon
	list := &listing{}
	var tasks []func(context.Context)
	b := &broken{engine: list, now: func() time.Time { return now }, start: func(task func(context.Context)) { tasks = append(tasks, task) }}
	if got, err := b.recent(t.Context()); err != nil || len(got) != 1 || len(tasks) != 0 {
		t.Fatalf("%v %v", got, err)
	}
	now = now.Add(brokenKept)
	for range 2 {
		if got, err := b.recent(t.Context()); err != nil || len(got) != 1 || len(tasks) != 1 || list.asked != 1 {
			t.Errorf("%v %v, %d tasks", got, err, len(tasks))
		}
	}
	tasks[0](t.Context())
	if _, err := b.recent(t.Context()); err != nil || list.asked != 2 || len(tasks) != 1 {
		t.Errorf("%v, asked %d times", err, list.asked)
	}
}
