package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// workflowsData is what the list of workflows shows.
type workflowsData struct {
	Page     listPage[workflowRow]
	Broken   int // files with an error
	Disabled int
	Reload   *engine.ReloadResult
}

// workflowRow is one workflow in the list.
type workflowRow struct {
	engine.WorkflowInfo
	URL      string // "" where no revision ever was good
	Errors   int
	Warnings int
}

func (s *site) workflows(r *http.Request) (*screen, error) {
	data, err := s.workflowsData(r)
	if err != nil {
		return nil, err
	}
	return &screen{Title: "Workflows", Nav: "/workflows", Template: "workflows", Data: data, Live: live{Runs: true, Every: liveEvery}}, nil
}

func (s *site) workflowsData(r *http.Request) (*workflowsData, error) {
	all, err := s.Engine.WorkflowList(r.Context())
	if err != nil {
		return nil, err
	}
	data := new(workflowsData)
	rows := make([]workflowRow, len(all))
	for i, info := range all {
		rows[i] = workflowRow{WorkflowInfo: info, URL: workflowURL(info.Name)}
		for _, problem := range info.Problems {
			if problem.Severity == diag.Error {
				rows[i].Errors++
			} else {
				rows[i].Warnings++
			}
		}
		if rows[i].Errors > 0 {
			data.Broken++
		}
		if info.Disabled != nil {
			data.Disabled++
		}
	}
	// What is broken comes first: it does not run as its author thinks.
	order.Sort(rows, func(a, b workflowRow) int { return cmp.Compare(min(b.Errors, 1), min(a.Errors, 1)) })
	data.Page = pageOf(r, rows, func(row *workflowRow, word string) bool {
		return contains(word, row.Name, row.File, row.Description, strings.Join(labelList(row.Labels), " ")) || word == "disabled" && row.Disabled != nil
	})
	return data, nil
}

// reload reads the workflow files again and says what it found.
func (s *site) reload(r *http.Request) (*outcome, error) {
	result, err := s.Engine.Reload(r.Context())
	if err != nil {
		return nil, err
	}
	made, err := s.workflows(r)
	if err != nil {
		return nil, err
	}
	if data, ok := made.Data.(*workflowsData); ok {
		data.Reload = result
	}
	return done(made), nil
}

// workflowData is what the page of one workflow shows.
type workflowData struct {
	*engine.WorkflowDetail
	URL      string
	Runnable bool
	Broken   bool // the file as it is now has errors
	Form     *form
	Triggers []triggerRow
	Runs     []runs.Run
	RunsURL  string
	Stored   engine.RunCounts
	Failed   []runs.Run // that are stored, whether they need somebody or not
	Needy    *needy
	Graph    template.HTML
	Lines    []sourceLine
	CLI      []any
}

// FailedCount is how many of the stored runs failed.
func (d *workflowData) FailedCount() int { return d.Stored[runs.RunFailed] }

// triggerRow is one trigger with what comes next.
type triggerRow struct {
	trigger.Info
	URL      string // of its schedule; "" for what does not fire by the clock
	Schedule *trigger.ScheduleItem
	Next     *trigger.NextFires
}

// workflowRuns is how many of its runs a workflow's page shows.
const workflowRuns = 8

func (s *site) workflow(r *http.Request) (*screen, error) {
	detail, err := s.Engine.Workflow(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return s.workflowScreen(r, detail, newFormIn(s.Location, detail.Inputs, nil))
}

func (s *site) workflowScreen(r *http.Request, detail *engine.WorkflowDetail, inputs *form) (*screen, error) {
	data := &workflowData{
		WorkflowDetail: detail, URL: workflowURL(detail.Name), Runnable: detail.Hash != "", Broken: detail.Problems.HasErrors(), Form: inputs,
		RunsURL: runFilter{Workflow: detail.Name}.path(), Lines: fileLines(detail), CLI: runCommand(detail, inputs),
	}
	rows, _, err := s.Engine.List(r.Context(), runs.Filter{Workflow: detail.Name, Limit: workflowRuns})
	if err != nil {
		return nil, err
	}
	data.Runs = rows
	summary, err := s.Engine.Summary(r.Context(), engine.SummaryRequest{Workflow: detail.Name, Limit: namedRuns})
	if err != nil {
		return nil, err
	}
	data.Stored = summary.Runs
	if summary.Runs[runs.RunFailed] > 0 {
		if data.Failed, _, err = s.Engine.List(r.Context(), runs.Filter{Workflow: detail.Name, Status: runs.RunFailed, Limit: namedRuns}); err != nil {
			return nil, err
		}
	}
	if data.Needy, err = s.needyOf(r.Context(), summary, detail.Name); err != nil {
		return nil, err
	}
	if detail.Workflow != nil {
		data.Graph = template.HTML(graph.Draw(detail.Workflow, graph.Options{Bare: true})) //nolint:gosec // it escapes its texts
	}
	if data.Triggers, err = s.triggerRows(r, detail); err != nil {
		return nil, err
	}
	return &screen{Title: detail.Name, Nav: "/workflows", Template: "workflow", Data: data, Live: live{Runs: true}}, nil
}

// triggerRows adds the state and the next slots to what fires by the clock.
func (s *site) triggerRows(r *http.Request, detail *engine.WorkflowDetail) ([]triggerRow, error) {
	var schedules []trigger.ScheduleItem
	rows := make([]triggerRow, 0, len(detail.Triggers))
	for _, info := range detail.Triggers {
		row := triggerRow{Info: info}
		if info.Kind == plan.TriggerCron || info.Kind == plan.TriggerEvery || info.Kind == plan.TriggerPoll {
			if schedules == nil {
				var err error
				if schedules, err = s.Engine.Schedules(r.Context()); err != nil {
					return nil, err
				}
			}
			at := slices.IndexFunc(schedules, func(item trigger.ScheduleItem) bool { return item.ID == info.ID })
			if at >= 0 {
				if err := s.addNext(r, &row, &schedules[at]); err != nil {
					return nil, err
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s *site) addNext(r *http.Request, row *triggerRow, item *trigger.ScheduleItem) error {
	row.Schedule, row.URL = item, scheduleURL(item.Workflow, item.Trigger)
	next, err := s.Engine.NextFires(r.Context(), item.ID, time.Time{}, nextShown)
	row.Next = next
	return err
}

// fileLines cuts the source into lines. Problems are shown in it only where it
// is the file that they were found in.
func fileLines(detail *engine.WorkflowDetail) []sourceLine {
	lines := sourceLines(strings.TrimSuffix(detail.Source, "\n"), 1, nil)
	for _, problem := range detail.Problems {
		if !detail.Stale && problem.File == detail.File && problem.Line > 0 && problem.Line <= len(lines) {
			line := &lines[problem.Line-1]
			line.Problems = append(line.Problems, problem)
		}
	}
	return lines
}

// runCommand is the command that starts a run with what the form holds.
func runCommand(detail *engine.WorkflowDetail, inputs *form) []any {
	args := []any{"run", detail.File}
	for _, one := range inputs.Fields {
		switch {
		case one.Required && one.Value == "" && one.Control != controlSelect:
			args = append(args, "-i", one.Name+"=…")
		case one.Required:
			args = append(args, "-i", one.Name+"="+one.current())
		}
	}
	return append(args, "--detach")
}

// current is what a control holds, as a command takes it.
func (f *field) current() string {
	for _, choice := range f.Options {
		if choice.Selected && choice.Value != "" {
			return plainText([]byte(choice.Value))
		}
	}
	if f.Value == "" {
		return "…"
	}
	return f.Value
}

// disableWorkflow keeps every trigger of a workflow from starting runs.
func (s *site) disableWorkflow(r *http.Request) (*outcome, error) {
	reason, err := reasonOf(r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	return &outcome{to: workflowURL(name)}, s.Engine.DisableWorkflow(r.Context(), name, trigger.PauseRequest{Reason: reason, By: by(r)})
}

// enableWorkflow lets the triggers of a disabled workflow start runs again.
func (s *site) enableWorkflow(r *http.Request) (*outcome, error) {
	name := r.PathValue("name")
	return &outcome{to: workflowURL(name)}, s.Engine.EnableWorkflow(r.Context(), name)
}

// startRun starts a run with what the form holds. What is wrong is shown beside
// its field.
func (s *site) startRun(r *http.Request) (*outcome, error) {
	detail, err := s.Engine.Workflow(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	inputs := newFormIn(s.Location, detail.Inputs, nil)
	given, ok := inputs.read(r.PostForm)
	if ok {
		run, problems, err := s.Engine.StartNamed(r.Context(), detail.Name, engine.NamedStart{Inputs: given, RequestID: requestID(r), By: by(r)})
		switch {
		case err == nil && run != nil:
			return &outcome{to: runURL(run.ID)}, nil
		case err == nil && problems.HasErrors():
			inputs.Error = problems.Error()
		case err == nil:
			return nil, fmt.Errorf("start %s: no run and no problem came back", detail.Name)
		case !inputs.fail(err):
			if !isRefusal(err) {
				return nil, err
			}
			inputs.Error = err.Error()
		}
	}
	made, err := s.workflowScreen(r, detail, inputs)
	return &outcome{screen: made}, err
}
