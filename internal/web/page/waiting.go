package page

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/runs"
)

// waiting is a step that goes on when a person says something.
type waiting struct {
	Run   runs.Run
	Step  runs.Step
	Kind  string // approve, signal, resolve, login, resume
	Form  *form  // of approve and signal
	URL   string // of the step's page
	Error string // what was wrong with what was sent
	Hint  string
	Typed string // the comment as it was sent

	Output string // of resolve, as it was sent
	Short  bool   // one of several: shown in one line
	Says   prose  // the step's message
}

// waitingFor returns what a step waits for; nil when it waits for nobody.
func (s *site) waitingFor(run runs.Run, step runs.Step) *waiting {
	made := &waiting{Run: run, Step: step, URL: stepURL(run.ID, step.Path), Says: s.message(run.ID, step)}
	switch {
	case run.Status.Ended(), step.Decision != nil:
		return nil
	case step.Wait == "resolve":
		made.Kind = "resolve"
	case step.Prompt != nil && step.Status == runs.StepWaiting, step.Wait == "login":
		made.Kind = "login"
	case step.Wait == "resume":
		made.Kind = "resume"
	case step.Status != runs.StepWaiting || step.Run != "":
		return nil
	case step.Wait == "approval":
		made.Kind = "approve"
	case step.Wait == "signal":
		made.Kind = "signal"
	default:
		return nil
	}
	if made.Kind == "approve" || made.Kind == "signal" {
		made.Form = newFormIn(s.Location, step.Form, map[string]json.RawMessage{})
	}
	return made
}

// command is the same on a terminal.
func (w *waiting) Command() []any {
	switch w.Kind {
	case "resolve":
		return []any{"runs", "resolve", w.Run.ID, w.Step.Path, "--happened"}
	case "resume", "login":
		return []any{"runs", "resume", w.Run.ID}
	}
	args := []any{"runs", w.Kind, w.Run.ID, w.Step.Path}
	if w.Form == nil {
		return args
	}
	for _, f := range w.Form.Fields {
		if f.Name != "" {
			args = append(args, "--form", f.Name+"=…")
		}
	}
	return args
}
