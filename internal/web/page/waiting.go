package page

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/runs"
)

// waiting is a step that goes on when a person says something.
type waiting struct {
	Run   runs.Run
	Step  runs.Step
	Kind  string // a runs.Need
	Form  *form  // of approve and signal
	URL   string // of the step's page
	Error string // what was wrong with what was sent
	Hint  string
	Typed string // the comment as it was sent

	Output string // of resolve, as it was sent
	Short  bool   // one of several: shown in one line
	Says   prose  // the step's message
}

// waitingFor returns what a step waits for; nil when it waits for nobody. A decision that
// the run goes by already is of an earlier wait.
func (s *site) waitingFor(run runs.Run, step runs.Step) *waiting {
	made := &waiting{Run: run, Step: step, URL: stepURL(run.ID, step.Path), Says: s.message(run.ID, step)}
	made.Kind = string(step.Needs())
	switch {
	case run.Status.Ended(), step.Decision != nil && step.Decision.Held, made.Kind == "", made.asks() && step.Run != "":
		return nil
	case made.asks():
		made.Form = newFormIn(s.Location, step.Form, map[string]json.RawMessage{})
	}
	return made
}

// asks reports whether it is an answer that the step waits for.
func (w *waiting) asks() bool {
	return w.Kind == string(runs.NeedApprove) || w.Kind == string(runs.NeedSignal)
}

// command is the same on a terminal.
func (w *waiting) Command() []any {
	switch runs.Need(w.Kind) {
	case runs.NeedResolve:
		return []any{"runs", "resolve", w.Run.ID, w.Step.Path, "--happened"}
	case runs.NeedResume, runs.NeedLogin:
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
