package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
)

func (s *site) runViews() []view {
	return []view{
		{pattern: "/{$}", build: s.home},
		{pattern: "/runs", build: s.runs},
		{pattern: "/runs/{id}", build: s.ofView(s.run)},
		{pattern: "/runs/{id}/logs", build: s.ofView(s.runLogs)},
		{pattern: "/runs/{id}/data", build: s.ofView(s.runValues)},
		{pattern: "/runs/{id}/events", build: s.ofView(s.runEvents)},
		{pattern: "/runs/{id}/source", build: s.ofView(s.runSource)},
		{pattern: "/runs/{id}/rerun", scope: guard.Operator, build: s.ofView(s.rerunForm)},
		{pattern: "/runs/{id}/steps/{step}", build: s.ofView(s.step)},
	}
}

func (s *site) files() []file {
	return []file{
		{"/runs/{id}/inputs", ofRun(s.readInputs)},
		{"/runs/{id}/inputs/{name}", ofRun(s.readInputs)},
		{"/runs/{id}/outputs/{name}", s.ofResult(outputFile)},
		{"/runs/{id}/steps/{step}/input", ofRun(s.readStepInput)},
		{"/runs/{id}/steps/{step}/message", s.ofResult(messageFile)},
		{"/runs/{id}/steps/{step}/outputs", s.ofResult(stepOutputsFile)},
	}
}

func (s *site) runActions() []action {
	acts := []action{
		{"/runs/acknowledge", guard.Operator, s.acknowledge},
		{"/runs/{id}/cancel", guard.Operator, ofRun(s.cancel)},
		{"/runs/{id}/resume", guard.Operator, ofRun(s.resume)},
		{"/runs/{id}/rerun", guard.Operator, ofRun(s.rerun)},
	}
	for _, act := range []engine.Act{engine.ActApprove, engine.ActReject, engine.ActSignal, engine.ActResolve} {
		acts = append(acts, action{"/runs/{id}/steps/{step}/" + string(act), guard.Operator, ofRun(s.decide(act))})
	}
	return acts
}

// runID is the id in the path. One that no run can have goes nowhere.
func runID(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if !runquery.IsID(id) {
		return "", notFound("run", id)
	}
	return id, nil
}

// ofRun is what serves the run of the path.
func ofRun[T any](serve func(r *http.Request, id string) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (answer T, err error) {
		id, err := runID(r)
		if err != nil {
			return answer, err
		}
		return serve(r, id)
	}
}

// ofView is a page of the run of the path, as it is now.
func (s *site) ofView(build func(*http.Request, *engine.RunView) (*screen, error)) func(*http.Request) (*screen, error) {
	return ofRun(func(r *http.Request, id string) (*screen, error) {
		runView, err := s.Engine.View(r.Context(), id)
		if err != nil {
			return nil, err
		}
		return build(r, runView)
	})
}

// by is how events name who sent a form.
func by(r *http.Request) string { return callerOf(r).By() }

// back is where a form leads to: the page that it was on.
func back(r *http.Request, or string) *outcome {
	if path := r.PostFormValue("back"); isOwnPath(path) {
		return &outcome{to: path}
	}
	return &outcome{to: or}
}

func (s *site) cancel(r *http.Request, id string) (*outcome, error) {
	if err := s.Engine.Cancel(r.Context(), id, by(r)); err != nil {
		return nil, err
	}
	return back(r, runURL(id)), nil
}

func (s *site) resume(r *http.Request, id string) (*outcome, error) {
	_, err := s.Engine.Resume(r.Context(), id, engine.ResumeRequest{
		Latest: r.PostFormValue("latest") != "", DiscardWrites: r.PostFormValue("discard") != "", By: by(r),
	})
	if err != nil {
		return nil, err
	}
	return back(r, runURL(id)), nil
}

// rerunData is the form of a rerun.
type rerunData struct {
	runHead
	Form  *form
	From  string
	Steps []string
	Wrong string // with the request as a whole
	Help  string
}

func (s *site) rerunForm(r *http.Request, runView *engine.RunView) (*screen, error) {
	return s.rerunScreen(runView, r.URL.Query().Get("from"), s.formOf(runView)), nil
}

func (s *site) formOf(runView *engine.RunView) *form {
	values := map[string]json.RawMessage{}
	_ = json.Unmarshal(runView.Definition.Inputs, &values) // what can't be read is not filled in
	return newFormIn(s.Location, runView.Definition.Workflow.Inputs, values)
}

func (s *site) rerunScreen(runView *engine.RunView, from string, inputs *form) *screen {
	data := rerunData{runHead: s.head(runView, "/rerun"), Form: inputs, From: from}
	data.Waiting = nil
	for i := range runView.Definition.Workflow.Steps {
		data.Steps = append(data.Steps, runView.Definition.Workflow.Steps[i].ID)
	}
	return &screen{Title: "Rerun " + runView.Result.Run.Workflow, Nav: "/runs", Template: "rerun", Data: data}
}

func (s *site) rerun(r *http.Request, id string) (*outcome, error) {
	request := engine.RerunRequest{From: r.PostFormValue("from"), By: by(r), RequestID: requestID(r)}
	var shown func(error) *outcome
	if r.PostFormValue("edited") != "" {
		runView, err := s.Engine.View(r.Context(), id)
		if err != nil {
			return nil, err
		}
		inputs := s.formOf(runView)
		shown = func(err error) *outcome {
			made := s.rerunScreen(runView, request.From, inputs)
			if err != nil && !inputs.fail(err) {
				data := made.Data.(rerunData)
				problem := s.problem(r, err).Data.(problemData)
				data.Wrong, data.Help = problem.Message, problem.Hint
				made.Data = data
			}
			return &outcome{screen: made}
		}
		given, ok := inputs.read(r.PostForm)
		if !ok {
			return shown(nil), nil
		}
		request.Inputs = given
	}
	started, problems, err := s.Engine.Rerun(r.Context(), id, request)
	switch {
	case err != nil && shown != nil:
		return shown(err), nil
	case err != nil:
		return nil, err
	case started == nil:
		return nil, problems
	}
	return &outcome{to: runURL(started.ID)}, nil
}

// decide serves the forms of a waiting step. What does not fit is shown again
// with what was typed.
func (s *site) decide(act engine.Act) func(*http.Request, string) (*outcome, error) {
	return func(r *http.Request, id string) (*outcome, error) {
		step := r.PathValue("step")
		request := engine.DecideRequest{Comment: strings.TrimSpace(r.PostFormValue("comment")), By: by(r)}
		var typed *form
		switch act {
		case engine.ActApprove, engine.ActSignal:
			runView, err := s.Engine.View(r.Context(), id)
			if err != nil {
				return nil, err
			}
			given, read, ok := s.answer(r, runView, step)
			if typed = read; !ok {
				return s.stepAgain(r, runView, step, &waiting{Form: typed, Typed: request.Comment}), nil
			}
			request.Form = given
			if whole, only := given[""]; only { // the schema is no object
				request.Form, request.Payload = nil, whole.JSON
			}
		case engine.ActResolve:
			request.Outcome = r.PostFormValue("outcome")
			if output := strings.TrimSpace(r.PostFormValue("output")); output != "" && request.Outcome == "happened" {
				request.Payload = json.RawMessage(output)
			}
		}
		_, err := s.decided(r, id, step, act, request)
		if err == nil {
			return back(r, stepURL(id, step)), nil
		}
		found, lookErr := s.Engine.View(r.Context(), id)
		if _, mendable := errors.AsType[*fault.InputError](err); lookErr != nil || !mendable {
			return nil, err
		}
		again := &waiting{Form: typed, Typed: request.Comment, Output: r.PostFormValue("output")}
		if typed == nil || !typed.fail(err) {
			problem := s.problem(r, err).Data.(problemData)
			again.Error, again.Hint = problem.Message, problem.Hint
		}
		return s.stepAgain(r, found, step, again), nil
	}
}

// decided tells the engine. The outputs of a resolve must be JSON.
func (s *site) decided(r *http.Request, id, step string, act engine.Act, request engine.DecideRequest) (*engine.DecideResult, error) {
	if len(request.Payload) > 0 && !json.Valid(request.Payload) {
		return nil, &fault.InputError{Message: "the outputs are not JSON", Hint: diag.Say(`write them like {"id": 7}`)}
	}
	return s.Engine.Decide(r.Context(), id, step, act, request)
}

// answer reads the form of a step that waits for an approval or a signal.
func (s *site) answer(r *http.Request, runView *engine.RunView, step string) (map[string]workspace.Input, *form, bool) {
	for _, one := range runView.Steps {
		if one.Path == step && len(one.Form) > 0 {
			made := newFormIn(s.Location, one.Form, map[string]json.RawMessage{})
			given, ok := made.read(r.PostForm)
			return given, made, ok
		}
	}
	return nil, nil, true // the engine says why it can't be answered
}

// stepAgain shows the page of a step with a form that was refused.
func (s *site) stepAgain(r *http.Request, runView *engine.RunView, step string, typed *waiting) *outcome {
	made, err := s.stepScreen(r, runView, step)
	if err != nil {
		return &outcome{screen: s.problem(r, err)}
	}
	data := made.Data.(stepData)
	if data.Waits == nil {
		return &outcome{screen: s.problem(r, &fault.ConflictError{
			Message: fmt.Sprintf("step %s waits for nothing any more", step), Hint: diag.Say("look at the run: " + runURL(runView.Result.Run.ID)),
		})}
	}
	if typed.Form != nil {
		data.Waits.Form = typed.Form
	}
	data.Waits.Error, data.Waits.Hint, data.Waits.Typed, data.Waits.Output = typed.Error, typed.Hint, typed.Typed, typed.Output
	made.Data, made.Live = data, live{}
	return &outcome{screen: made}
}

// Action is where the form of an act is sent.
func (w *waiting) Action(act string) string {
	return runURL(w.Run.ID) + "/steps/" + url.PathEscape(w.Step.Path) + "/" + act
}
