package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
)

// runView is a run as an assistant reads it.
type runView struct {
	Run         string                     `json:"run" jsonschema:"its id"`
	Workflow    string                     `json:"workflow"`
	Status      string                     `json:"status" jsonschema:"queued, running, waiting, paused, succeeded, failed, canceled or timed_out"`
	Paused      string                     `json:"paused,omitempty" jsonschema:"why"`
	Started     string                     `json:"started"`
	DurationMS  int64                      `json:"duration_ms"`
	RerunOf     string                     `json:"rerun_of,omitempty"`
	Outputs     map[string]json.RawMessage `json:"outputs"`
	Cut         []cutValue                 `json:"cut,omitempty" jsonschema:"outputs that are too large to be whole here"`
	Error       *runError                  `json:"error,omitempty"`
	Steps       []runStep                  `json:"steps" jsonschema:"those first that failed or wait"`
	MoreSteps   int                        `json:"more_steps,omitempty"`
	Counts      map[string]int             `json:"counts" jsonschema:"how many steps have which status"`
	AskedPerson bool                       `json:"asked_person,omitempty" jsonschema:"a person was asked before it started"`
	Next        string                     `json:"next"`
}

type runError struct {
	Kind       string          `json:"kind"`
	Step       string          `json:"step,omitempty"`
	Action     string          `json:"action,omitempty"`
	Message    string          `json:"message"`
	Hint       string          `json:"hint,omitempty"`
	HTTPStatus int             `json:"http_status,omitempty"`
	Applied    string          `json:"applied,omitempty" jsonschema:"whether the service has done it"`
	Pointer    string          `json:"pointer,omitempty"`
	Details    json.RawMessage `json:"details,omitempty"`
}

type runStep struct {
	Path     string          `json:"path"`
	Status   string          `json:"status"`
	Uses     string          `json:"uses,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	Wait     string          `json:"wait,omitempty" jsonschema:"why it waits"`
	Message  string          `json:"message,omitempty"`
	Form     json.RawMessage `json:"form,omitempty" jsonschema:"JSON Schema of the answer that it waits for"`
	Error    *runError       `json:"error,omitempty"`
	Items    int             `json:"items,omitempty"`
	Failed   int             `json:"failed_items,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
}

func newRunError(e *runs.Error) *runError {
	if e == nil {
		return nil
	}
	return &runError{
		Kind: string(e.Kind), Step: e.Step, Action: e.Action, Message: cutText(e.Message, 4000), Hint: cutText(e.Hint.Text, 2000), HTTPStatus: e.HTTPStatus,
		Applied: string(e.Applied), Pointer: e.Pointer, Details: fittingValue(e.Details, 4<<10),
	}
}

func newRunStep(step *runs.Step) runStep {
	return runStep{
		Path: step.Path, Status: string(step.Status), Uses: step.Uses, Attempts: step.Attempts, Wait: step.Wait, Message: cutText(step.Message, 1000),
		Form: fittingValue(step.Form, maxValue), Error: newRunError(step.Error), Items: step.Items, Failed: step.ItemErrors,
	}
}

func newRunView(result *runs.Result) *runView {
	run := &result.Run
	view := &runView{
		Run: run.ID, Workflow: run.Workflow, Status: string(run.Status), Paused: run.Paused, Started: run.StartedAt.UTC().Format(time.RFC3339), DurationMS: run.DurationMS,
		RerunOf: run.RerunOf, Error: newRunError(cmp.Or(result.Error, run.Error)), Steps: []runStep{}, Counts: map[string]int{},
	}
	view.Outputs, view.Cut = fitting(result.Outputs)
	steps := slices.SortedFunc(maps.Values(result.Steps), func(a, b runs.Step) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), compareTimes(a.StartedAt, b.StartedAt), cmp.Compare(a.Path, b.Path))
	})
	for i := range steps {
		view.Counts[string(steps[i].Status)]++
		if len(view.Steps) == maxSteps {
			view.MoreSteps++
			continue
		}
		view.Steps = append(view.Steps, newRunStep(&steps[i]))
	}
	view.Next = nextOf(run)
	return view
}

// urgency orders steps: what is wrong, what waits, what runs, the rest.
func urgency(step runs.Step) int {
	switch step.Status {
	case runs.StepFailed, runs.StepUnknown:
		return 0
	case runs.StepWaiting, runs.StepRetrying:
		return 1
	case runs.StepRunning:
		return 2
	}
	return 3
}

func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// nextOf says what can be done with a run.
func nextOf(run *runs.Run) string {
	switch {
	case run.Asks > 0:
		return "a step waits for a person: tell the person which, and what it asks"
	case run.Undriven:
		return "no process drives it: a person goes on with it by `flowrun runs resume " + run.ID + "`, or starts flowrun serve"
	case run.Status == runs.RunPaused:
		return "it stands still until a person acts: tell the person why; `flowrun runs show " + run.ID + "` says what helps"
	case run.Status == runs.RunSucceeded:
		return "it is done"
	case run.Status.Ended():
		return "read the error, run_logs and the step; mend the workflow or say what is missing; the prompt mend_run leads through it"
	}
	return "it goes on: ask again with run_show"
}

type showInput struct {
	Run      string `json:"run,omitempty" jsonschema:"the id of the run; the newest where it is not given"`
	Workflow string `json:"workflow,omitempty" jsonschema:"without run: the newest run of this workflow"`
	Step     string `json:"step,omitempty" jsonschema:"the path of one step: with its output, as far as it fits"`
}

func showRun(ctx context.Context, c call, in showInput) (*runView, error) {
	if in.Run != "" && in.Workflow != "" {
		return nil, errors.New("give either run or workflow")
	}
	result, err := c.result(ctx, in.Run, in.Workflow)
	if err != nil {
		return nil, err
	}
	view := newRunView(result)
	if in.Step == "" {
		return view, nil
	}
	step, ok := result.Steps[in.Step]
	if !ok {
		return nil, fmt.Errorf("run %s has no step %q: run_show without `step` lists them", result.Run.ID, oneLine(in.Step, 200))
	}
	shown := newRunStep(&step)
	shown.Output = fittingValue(step.Outputs, maxValues)
	view.Steps, view.MoreSteps = []runStep{shown}, 0
	return view, nil
}

// result asks for a run by its id, else for the newest one, of a workflow where it is
// named.
func (c call) result(ctx context.Context, id, workflow string) (result *runs.Result, err error) {
	err = c.Lend(ctx, NeedStore, func(ctx context.Context, client *web.Client) error {
		if id == "" {
			page, err := client.Runs(ctx, runs.Filter{Workflow: workflow, Limit: 1})
			switch {
			case err != nil:
				return err
			case len(page.Items) == 0 && workflow != "":
				return fmt.Errorf("there is no run of %q: workflows lists the workflows", oneLine(workflow, 100))
			case len(page.Items) == 0:
				return errors.New("nothing has run here yet")
			}
			id = page.Items[0].ID
		}
		result, err = client.Result(ctx, id)
		return err
	})
	return result, err
}

type logsInput struct {
	Run    string `json:"run" jsonschema:"the id of the run"`
	Step   string `json:"step,omitempty" jsonschema:"only of this step, by its path"`
	Level  string `json:"level,omitempty" jsonschema:"of this level and above"`
	Text   string `json:"text,omitempty" jsonschema:"only lines that hold this"`
	Lines  int    `json:"lines,omitempty" jsonschema:"how many, at most 500; 100 where it is not given"`
	Cursor string `json:"cursor,omitempty" jsonschema:"of the answer before: the lines before those"`
}

type logsOutput struct {
	Lines  []logLine `json:"lines" jsonschema:"the oldest first"`
	Cursor string    `json:"cursor,omitempty" jsonschema:"leads to the lines before these; none = there are none"`
	Cut    bool      `json:"cut,omitempty" jsonschema:"long lines are not whole"`
}

type logLine struct {
	At      string          `json:"at"`
	Level   string          `json:"level"`
	Step    string          `json:"step,omitempty"`
	Message string          `json:"message"`
	Fields  json.RawMessage `json:"fields,omitempty"`
}

// maxLogs bounds the lines of an answer in bytes.
const maxLogs = 128 << 10

func runLogs(ctx context.Context, c call, in logsInput) (*logsOutput, error) {
	if in.Lines < 0 || in.Lines > 500 {
		return nil, errors.New("lines is from 1 to 500")
	}
	var page *web.Page[runs.Log]
	err := c.Lend(ctx, NeedStore, func(ctx context.Context, client *web.Client) (err error) {
		page, err = client.LogPage(ctx, in.Run, web.LogsAsked{Step: in.Step, Level: in.Level, Text: in.Text, Tail: cmp.Or(in.Lines, 100)}, 0, in.Cursor)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &logsOutput{Lines: []logLine{}}
	if page.NextCursor != nil {
		out.Cursor = *page.NextCursor
	}
	each := maxLogs / max(len(page.Items), 1)
	for _, line := range page.Items {
		shown := logLine{
			At: line.At.UTC().Format(time.RFC3339Nano), Level: line.Level, Step: line.Step, Message: cutText(line.Message, each/2), Fields: fittingValue(line.Fields, each/2),
		}
		out.Cut = out.Cut || len(shown.Message) != len(line.Message) || len(shown.Fields) != len(line.Fields)
		out.Lines = append(out.Lines, shown)
	}
	return out, nil
}
