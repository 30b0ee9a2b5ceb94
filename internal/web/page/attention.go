package page

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
)

// namedRuns is how many runs that need somebody a page names at most; the list of
// runs has the others.
const namedRuns = 60

// askedRuns is how many runs that ask a person are looked into: what they ask stands
// in their journals. commands is how many entries show their command.
const (
	askedRuns = 12
	commands  = 8
)

// attention is one thing that somebody should look at.
type attention struct {
	Tone string
	Icon string
	URL  string
	Text string // what
	Note string // why
	At   time.Time
	CLI  []any
	Runs []runs.Run // all that it is about, where there are several
	Seen string     // the workflow whose failures a button acknowledges
	rank int
}

// needy are the runs that need somebody, by workflow and by what they need.
type needy struct {
	Entries []attention
	Total   int
	UpTo    string // the newest run that is named: what failed later was not seen
	Rest    string // the path of the list with all of them, where some are not named
}

// needyOf makes the entries of a summary, the newest first. Runs of a workflow that
// need the same are one entry, which names them all.
func (s *site) needyOf(ctx context.Context, summary *engine.RunsSummary, workflow string) (*needy, error) {
	found := &needy{Total: summary.Attention}
	if len(summary.Needy) > 0 {
		found.UpTo = summary.Needy[0].ID
	}
	if summary.Attention > len(summary.Needy) {
		found.Rest = runFilter{Workflow: workflow, Status: needsAttention}.path()
	}
	groups := map[string]int{}
	asked := 0
	for _, run := range summary.Needy {
		if run.Asks > 0 && asked < askedRuns {
			asked++
			known := len(found.Entries)
			if err := s.askingOnes(ctx, found, run); err != nil {
				return nil, err
			}
			if len(found.Entries) > known {
				continue
			}
		}
		key := run.Workflow + "\x00" + needOf(run)
		at, ok := groups[key]
		if !ok {
			at = len(found.Entries)
			groups[key] = at
			found.Entries = append(found.Entries, newNeed(run))
		}
		found.Entries[at].Runs = append(found.Entries[at].Runs, run)
	}
	for i := range found.Entries {
		found.Entries[i].settle()
		if i >= commands {
			found.Entries[i].CLI = nil
		}
	}
	return found, nil
}

// needOf is what a run needs, for those of a kind to stand together.
func needOf(run runs.Run) string {
	switch {
	case run.Asks > 0:
		return "asks"
	case run.Status == runs.RunPaused:
		return "paused " + run.Paused
	}
	return "failed"
}

// newNeed is the entry of the newest run of a kind.
func newNeed(run runs.Run) attention {
	one := attention{URL: runURL(run.ID), At: run.StartedAt, Note: runText(run)}
	switch needOf(run) {
	case "asks":
		one.Tone, one.Icon, one.Text, one.CLI, one.rank = "wait", "person", run.Workflow+" asks for a decision", []any{"runs", "show", run.ID}, 1
	case "failed":
		one.Tone, one.Icon, one.Text, one.CLI, one.Seen = "bad", "bad", run.Workflow+" failed", []any{"runs", "show", run.ID}, run.Workflow
		if run.Status == runs.RunTimedOut {
			one.Icon, one.Text = "late", run.Workflow+" timed out"
		}
	default:
		one.Tone, one.Icon, one.Text, one.CLI, one.rank = "hold", "pause", run.Workflow+" is paused", []any{"runs", "resume", run.ID}, 2
		if run.Error != nil {
			one.Note += ": " + oneLine(errorText(run.Error))
		}
	}
	return one
}

// settle words an entry by how many runs it is about.
func (a *attention) settle() {
	n := len(a.Runs)
	if n < 2 {
		a.Runs = nil
		return
	}
	workflow := a.Runs[0].Workflow
	switch needOf(a.Runs[0]) {
	case "asks":
		a.Text = fmt.Sprintf("%d runs of %s ask for a decision", n, workflow)
	case "failed":
		a.Text = fmt.Sprintf("%s failed %d times", workflow, n)
	default:
		a.Text = fmt.Sprintf("%d runs of %s are paused", n, workflow)
	}
}

// askingOnes are the questions of a run. One that was answered or removed meanwhile
// asks nothing.
func (s *site) askingOnes(ctx context.Context, found *needy, run runs.Run) error {
	data := new(approvalsData)
	if err := s.addWaiting(ctx, data, run); err != nil {
		return err
	}
	for _, one := range data.Asked {
		found.Entries = append(found.Entries, attention{
			Tone: "wait", Icon: "person", URL: one.StepURL, Text: one.Run.Workflow + ": " + one.Step.Path + " asks", Note: oneLine(one.Step.Message),
			At: stepTime(one.Step, one.Run), CLI: []any{"runs", "approve", one.Run.ID, one.Step.Path}, rank: 1,
		})
	}
	return nil
}

// acknowledge notes that somebody has looked at the failures of a workflow, or of
// all of them, that a page has shown. Opening a run is no such word: a page is also
// opened by what previews links, and by a tab that nobody looks at.
func (s *site) acknowledge(r *http.Request) (*outcome, error) {
	request := engine.AcknowledgeRequest{By: by(r)}
	if id := r.PostFormValue("run"); id != "" {
		if !runquery.IsID(id) {
			return nil, notFound("run", id)
		}
		request.Runs = []string{id}
	} else {
		request.Workflow, request.UpTo = r.PostFormValue("workflow"), r.PostFormValue("up_to")
		if !runquery.IsID(request.UpTo) {
			return nil, &refused{http.StatusBadRequest, "nothing was acknowledged", "go back, and use the button of the page"}
		}
	}
	if _, err := s.Engine.Acknowledge(r.Context(), request); err != nil {
		return nil, err
	}
	return back(r, "/"), nil
}
