package page

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// approvalRuns is how many waiting runs the page looks into.
const approvalRuns = 100

// approvalsData is what the page of approvals shows.
type approvalsData struct {
	Asked   []*approval // with a form each
	Signals []waitingStep
	Stuck   []waitingStep // of paused runs: what they need
	More    bool          // there are more waiting runs than were looked into
	Done    *decided
}

// waitingStep is a step that waits for somebody.
type waitingStep struct {
	Run     runs.Run
	Step    runs.Step
	RunURL  string
	StepURL string
}

// approval is a step that asks, with the form of its answer.
type approval struct {
	waitingStep
	ID      string // of its element
	Says    prose
	Form    *form
	Comment string
	Error   string
}

// decided tells what was decided just now.
type decided struct{ Act, Run, RunURL, Step string }

func (s *site) approvals(r *http.Request) (*screen, error) {
	data, err := s.approvalsData(r.Context())
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	if act := query.Get("done"); act == string(engine.ActApprove) || act == string(engine.ActReject) {
		data.Done = &decided{Act: act, Run: query.Get("run"), RunURL: runURL(query.Get("run")), Step: query.Get("step")}
	}
	return approvalsScreen(data), nil
}

func approvalsScreen(data *approvalsData) *screen {
	return &screen{Title: "Approvals", Nav: "/approvals", Template: "approvals", Data: data, Live: live{Runs: true}}
}

func (s *site) approvalsData(ctx context.Context) (*approvalsData, error) {
	data := new(approvalsData)
	for _, status := range []runs.Status{runs.RunWaiting, runs.RunPaused} {
		runs, next, err := s.Engine.List(ctx, runs.Filter{Status: status, Limit: approvalRuns})
		if err != nil {
			return nil, err
		}
		data.More = data.More || next != ""
		for _, run := range runs {
			if err := s.addWaiting(ctx, data, run); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// addWaiting finds what a run waits for. A run that was removed meanwhile waits
// for nothing.
func (s *site) addWaiting(ctx context.Context, data *approvalsData, run runs.Run) error {
	steps, err := s.Engine.Steps(ctx, run.ID)
	if errors.Is(err, fault.ErrRunNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, step := range steps {
		one := waitingStep{Run: run, Step: step, RunURL: runURL(run.ID), StepURL: stepURL(run.ID, step.Path)}
		switch {
		case step.Status == runs.StepWaiting && step.Waits().Kind == runs.WaitApproval && step.Decision == nil:
			data.Asked = append(data.Asked, &approval{
				waitingStep: one, ID: "a" + strconv.Itoa(len(data.Asked)), Form: s.approvalForm(step, len(data.Asked)), Says: s.message(run.ID, step),
			})
		case step.Status == runs.StepWaiting && step.Waits().Kind == runs.WaitSignal && step.Decision == nil:
			data.Signals = append(data.Signals, one)
		case step.Waits().Parked():
			data.Stuck = append(data.Stuck, one)
		}
	}
	return nil
}

// approvalForm is the form of one step among several on a page.
func (s *site) approvalForm(step runs.Step, number int) *form {
	f := newFormIn(s.Location, step.Form, nil)
	for _, one := range f.Fields {
		one.ID = "a" + strconv.Itoa(number) + "-" + one.ID
	}
	return f
}

// Why says what a stuck step needs.
func (w waitingStep) Why() string {
	switch w.Step.Waits().Kind {
	case runs.WaitResolve:
		return "say whether it took effect"
	case runs.WaitLogin:
		return "log in, then resume the run"
	}
	return "look at it, then resume the run"
}

// decideApproval gives a step what was decided. What is wrong with the form is
// shown beside its field.
func (s *site) decideApproval(r *http.Request) (*outcome, error) {
	run, path, act := r.PostFormValue("run"), r.PostFormValue("step"), engine.Act(r.PostFormValue("act"))
	if act != engine.ActApprove && act != engine.ActReject {
		return nil, &refused{http.StatusBadRequest, "nothing was decided", "approve or reject"}
	}
	data, err := s.approvalsData(r.Context())
	if err != nil {
		return nil, err
	}
	asked := data.find(run, path)
	if asked == nil {
		return nil, &fault.ConflictError{Message: "step " + path + " of run " + shortID(run) + " does not wait for an approval any more", Hint: diag.Say("somebody may have answered it, or its time is over")}
	}
	asked.Comment = r.PostFormValue("comment")
	request := engine.DecideRequest{Comment: asked.Comment, By: by(r)}
	if act == engine.ActApprove {
		inputs, ok := asked.Form.read(r.PostForm)
		if !ok {
			return &outcome{screen: approvalsScreen(data)}, nil
		}
		request.Form = inputs
		if whole, given := inputs[""]; given {
			request.Form, request.Payload = nil, whole.JSON
		}
	}
	_, err = s.Engine.Decide(r.Context(), run, path, act, request)
	switch {
	case err == nil:
		return &outcome{to: wire.WithQuery("/approvals", wire.Query("done", string(act), "run", run, "step", path))}, nil
	case asked.Form.fail(err):
	case isRefusal(err):
		asked.Error = err.Error()
	default:
		return nil, err
	}
	return &outcome{screen: approvalsScreen(data)}, nil
}

func (d *approvalsData) find(run, path string) *approval {
	for _, one := range d.Asked {
		if one.Run.ID == run && one.Step.Path == path {
			return one
		}
	}
	return nil
}
