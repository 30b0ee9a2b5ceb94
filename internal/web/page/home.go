package page

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
)

// homeData is what the first page shows: first what needs somebody.
type homeData struct {
	Attention []attention
	Needy     *needy
	Running   []running
	Next      []trigger.ScheduleItem
	NextNote  string
	Workflows []pulse
	Hours     template.HTML
	HoursText string
	Empty     bool // nothing has ever run
}

// running is a run in progress.
type running struct {
	Run   runs.Run
	Done  int // of its steps
	Of    int
	Share string // of the bar, in per cent
	Now   string // what it does
}

// pulse is a workflow with its latest runs.
type pulse struct {
	Name    string
	URL     string
	Last    runs.Run
	Runs    template.HTML
	Failed  int // in a row, the newest
	Typical string
	Stored  int // all of its runs
	Bad     int // how many of them failed or ran out of time
}

const (
	pulseRuns     = 18
	homeRows      = 12
	homeWorkflows = 20
	nextStarts    = 8
)

// home is the first page.
func (s *site) home(r *http.Request) (*screen, error) {
	ctx := r.Context()
	summary, err := s.Engine.Summary(ctx, engine.SummaryRequest{Hours: chartHours, Limit: namedRuns})
	if err != nil {
		return nil, err
	}
	data := homeData{Empty: summary.Runs.Total() == 0}
	if data.Needy, err = s.needyOf(ctx, summary, ""); err != nil {
		return nil, err
	}
	data.Attention = data.Needy.Entries
	if data.Workflows, err = s.pulsesOf(ctx, summary.Workflows); err != nil {
		return nil, err
	}
	if err := s.lookAround(ctx, &data); err != nil {
		return nil, err
	}
	data.cutHistories(summary.Cut)
	data.Hours, data.HoursText = hoursChart(summary.Hours, s.Now(), s.Location)
	order.Sort(data.Attention, func(a, b attention) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), b.At.Compare(a.At))
	})
	return &screen{Title: "Home", Nav: "/", Template: "home", Data: data, Live: live{Runs: true, Every: homeEvery}}, nil
}

// homeEvery is how often the first page is looked at again though no run has
// changed: schedules and logins do without one.
const homeEvery = 15 * time.Second

// pulsesOf are the workflows that need somebody, then those that ran last.
// Workflows that only others call are their callers' matter.
func (s *site) pulsesOf(ctx context.Context, workflows []engine.WorkflowSummary) (list []pulse, err error) {
	for _, one := range workflows {
		if len(list) == homeWorkflows {
			break
		}
		rows, _, err := s.Engine.List(ctx, runs.Filter{Workflow: one.Workflow, Limit: pulseRuns})
		if err != nil {
			return nil, err
		}
		for _, found := range pulses(rows) {
			found.Stored, found.Bad = one.Runs.Total(), one.Runs[runs.RunFailed]+one.Runs[runs.RunTimedOut]
			list = append(list, found)
		}
	}
	return list, nil
}

// lookAround collects what else needs somebody, what runs and what comes.
func (s *site) lookAround(ctx context.Context, data *homeData) error {
	if err := s.brokenOnes(ctx, data); err != nil {
		return err
	}
	s.endingLogins(ctx, data)
	if err := s.runningOnes(ctx, data); err != nil {
		return err
	}
	schedules, err := s.known.schedules.get(ctx)
	if err != nil {
		return err
	}
	s.nextStarts(data, schedules)
	return nil
}

func stepTime(step runs.Step, run runs.Run) time.Time {
	if step.StartedAt != nil {
		return *step.StartedAt
	}
	return run.StartedAt
}

// mostCuts is how many workflows with a cut history are named.
const mostCuts = 5

// cutHistories are the workflows whose history is shorter than it should be.
func (data *homeData) cutHistories(cuts []upkeep.HistoryCut) {
	add := func(url, text, note string) {
		data.Attention = append(data.Attention, attention{Tone: "calm", Icon: "clock", URL: url, Text: text, Note: note, rank: 5})
	}
	for _, cut := range cuts[:min(len(cuts), mostCuts)] {
		add(workflowURL(cut.Workflow), "the history of "+cut.Workflow+" is cut",
			fmt.Sprintf("runs before %s are gone, earlier than retention.keep says: retention.%s is %d", cut.UpTo.Format(time.DateTime), cut.By, cut.Limit))
	}
	if more := len(cuts) - mostCuts; more > 0 {
		add("/system", fmt.Sprintf("the histories of %s more are cut", plural(more, "workflow")), "`flowrun doctor` names them")
	}
}

// brokenOnes are the workflow files with errors.
func (s *site) brokenOnes(ctx context.Context, data *homeData) error {
	workflows, err := s.known.broken.get(ctx)
	if err != nil {
		return err
	}
	for _, w := range workflows {
		found := attention{Tone: "bad", Icon: "late", URL: "/workflows", Text: w.File + " is broken", Note: oneLine(w.Problems[0].Message), CLI: []any{"validate", w.File}, rank: 3}
		if w.Name != "" {
			found.URL = workflowURL(w.Name)
		}
		if w.Stale {
			found.Note = "its last good revision is in force: " + found.Note
		}
		data.Attention = append(data.Attention, found)
	}
	return nil
}

// loginSoon is how early the end of a login is told.
const loginSoon = 3 * 24 * time.Hour

// endingLogins are the logins that have ended or will soon.
func (s *site) endingLogins(ctx context.Context, data *homeData) {
	list, _ := s.known.links.get(ctx) // what is wrong with a connection stands in its row
	for _, c := range list {
		found := attention{
			Tone: "wait", Icon: "link", URL: connectionURL(c.Name), Text: "the login of " + c.Name, CLI: []any{"connections", "login", c.Name}, rank: 4,
		}
		switch {
		case c.Error != "":
			found.Tone, found.Text, found.Note = "bad", "connection "+c.Name, oneLine(c.Error)
			found.CLI = []any{"connections", "test", c.Name}
		case c.Login == nil:
			continue
		case c.Login.State == "auth_required", c.Login.State == "expired":
			found.Text += " has ended"
			found.Note = c.Login.Reason
		case c.Login.RefreshExpiresAt != nil && c.Login.RefreshExpiresAt.Sub(s.Now()) < loginSoon:
			found.Text += " ends in " + distance(c.Login.RefreshExpiresAt.Sub(s.Now()))
		default:
			continue
		}
		data.Attention = append(data.Attention, found)
	}
}

// runningOnes are the runs in progress, with how far they are.
func (s *site) runningOnes(ctx context.Context, data *homeData) error {
	for _, status := range []runs.Status{runs.RunRunning, runs.RunQueued, runs.RunWaiting} {
		runs, _, err := s.Engine.List(ctx, runs.Filter{Status: status, Limit: homeRows})
		if err != nil {
			return err
		}
		for _, run := range runs {
			if len(data.Running) == homeRows {
				return nil
			}
			one := running{Run: run, Now: runText(run)}
			if steps, err := s.Engine.Steps(ctx, run.ID); err == nil { // else it was removed meanwhile
				one.count(steps)
			}
			data.Running = append(data.Running, one)
		}
	}
	return nil
}

// count says how far a run is by its steps; those of items count inside of their
// loops.
func (r *running) count(steps []runs.Step) {
	share := 0.0
	for _, step := range steps {
		if at := runs.ParsePath(step.Path); at.Handler != "" || len(at.Items) > 0 {
			continue
		}
		r.Of++
		switch {
		case step.Status.Ended():
			r.Done++
			share++
		case step.Items > 0:
			share += float64(step.Done) / float64(step.Items)
		}
		if text, _ := stepDetail(step); r.Now == "" && !step.Status.Ended() && step.Status != runs.StepPending {
			r.Now = strings.TrimSuffix(step.Path+" · "+text, " · ")
		}
	}
	if r.Of > 0 {
		r.Share = percent(100 * share / float64(r.Of))
	}
}

// nextStarts are the coming slots of all schedules, the nearest first.
func (s *site) nextStarts(data *homeData, schedules []trigger.ScheduleItem) {
	acted := false
	for _, one := range schedules {
		acted = acted || one.Running
		if one.Next != nil && !one.Paused {
			data.Next = append(data.Next, one)
		}
	}
	order.Sort(data.Next, func(a, b trigger.ScheduleItem) int { return a.Next.Compare(*b.Next) })
	data.Next = data.Next[:min(len(data.Next), nextStarts)]
	if len(data.Next) > 0 && !acted {
		data.NextNote = "No scheduler runs: nothing starts by itself."
	}
}
