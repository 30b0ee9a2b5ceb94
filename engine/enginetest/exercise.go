package enginetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Case is one behaviour that every driver must show.
type Case struct {
	Name     string // a sentence
	Workflow *plan.Workflow
	Inputs   string // JSON; "" = {}
	Answers  map[string][]Answer
	Outcomes map[string][]Outcome
	Acts     []Act
	Want     Want
}

// Script returns what the services answer and what people do, for one run.
func (c *Case) Script() *Script {
	return &Script{Answers: c.Answers, Outcomes: c.Outcomes, Acts: c.Acts}
}

// Want is what a run must come to. What is not set is not compared.
type Want struct {
	Status  runs.Status
	Paused  string
	Attempt int
	Error   *WantError
	NoError bool
	Outputs map[string]string // JSON
	Steps   map[string]runs.StepStatus
	StepOut map[string]string // JSON, by step path
	StepErr map[string]plan.ErrorKind
	Calls   []string // operation paths, in order
	Count   int      // of calls; none = not one
	Logs    []string // messages
	Took    time.Duration
	Check   func(t testing.TB, got Result)
}

// none as Want.Count says that no call was made.
const none = -1

// WantError is the part of a run's error that is compared.
type WantError struct {
	Kind   plan.ErrorKind
	Step   string
	Reason string
}

// Exercise runs every case on the driver. fresh returns a driver for one case.
func Exercise(t *testing.T, fresh func(t testing.TB) Driver) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, fresh(t)) })
	}
}

// Run runs the case on a driver and compares.
func (c *Case) Run(t testing.TB, driver Driver) {
	t.Helper()
	inputs := c.Inputs
	if inputs == "" {
		inputs = "{}"
	}
	c.Want.compare(t, driver.Run(t, c.Workflow, json.RawMessage(inputs), c.Script()))
}

// Cases returns all cases.
func Cases() []*Case {
	var cases []*Case
	for _, group := range []func() []*Case{
		orderCases, valueCases, failureCases, retryCases, effectCases, unknownCases, pageCases, repeatedCases, loopCases, loopFailureCases,
		timeCases, handlerCases, cancelCases, pauseCases, resumeCases, crashCases,
		crashLoopCases, reconcileCases, replanCases,
		approvalCases, signalCases,
	} {
		cases = append(cases, group()...)
	}
	return cases
}

func (w *Want) compare(t testing.TB, got Result) {
	t.Helper()
	if got.Status != w.Status || got.Paused != w.Paused {
		t.Errorf("the run is %s %q, want %s %q (error %v)", got.Status, got.Paused, w.Status, w.Paused, got.Error)
	}
	if w.Attempt != 0 && got.Attempt != w.Attempt {
		t.Errorf("the run's attempt is %d, want %d", got.Attempt, w.Attempt)
	}
	w.compareError(t, got)
	w.compareSteps(t, got)
	for name, want := range w.Outputs {
		compareJSON(t, "output "+name, want, got.Outputs[name])
	}
	compareTexts(t, "calls", w.Calls, got.Calls, func(call Call) string { return call.Path })
	if w.Count != 0 && len(got.Calls) != max(w.Count, 0) {
		t.Errorf("%d calls were made, want %d", len(got.Calls), w.Count)
	}
	compareTexts(t, "logs", w.Logs, got.Logs, func(line runs.Log) string { return line.Message })
	if w.Took != 0 && got.Took != w.Took {
		t.Errorf("the run took %s of virtual time, want %s", got.Took, w.Took)
	}
	if w.Check != nil {
		w.Check(t, got)
	}
}

// compareTexts compares one text of each thing in a list, where there is something to
// compare with.
func compareTexts[T any](t testing.TB, what string, want []string, list []T, text func(T) string) {
	t.Helper()
	var got []string
	for _, thing := range list {
		got = append(got, text(thing))
	}
	if diff := cmp.Diff(want, got); want != nil && diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *Want) compareError(t testing.TB, got Result) {
	t.Helper()
	switch {
	case w.NoError && got.Error != nil:
		t.Errorf("the run has an error: %v", got.Error)
	case w.Error == nil:
	case got.Error == nil:
		t.Errorf("the run has no error, want %+v", *w.Error)
	default:
		have := WantError{Kind: got.Error.Kind, Step: got.Error.Step, Reason: got.Error.Reason}
		if have != *w.Error {
			t.Errorf("the run's error is %+v (%s), want %+v", have, got.Error.Message, *w.Error)
		}
	}
}

func (w *Want) compareSteps(t testing.TB, got Result) {
	t.Helper()
	for path, want := range w.Steps {
		step, ok := got.Steps[path]
		switch {
		case !ok:
			t.Errorf("there is no step %s, want it %s", path, want)
		case step.Status != want:
			t.Errorf("step %s is %s, want %s (error %v)", path, step.Status, want, step.Error)
		}
	}
	for path, want := range w.StepOut {
		compareJSON(t, "outputs of "+path, want, got.Steps[path].Outputs)
	}
	for path, want := range w.StepErr {
		if failure := got.Steps[path].Error; failure == nil || failure.Kind != want {
			t.Errorf("the error of step %s is %v, want kind %s", path, failure, want)
		}
	}
}

// compareJSON compares values, not how they are written.
func compareJSON(t testing.TB, what, want string, got json.RawMessage) {
	t.Helper()
	var wanted, have any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatalf("%s: the wanted JSON can't be read: %v", what, err)
	}
	if len(got) == 0 {
		t.Errorf("%s: there is none, want %s", what, want)
		return
	}
	if err := json.Unmarshal(got, &have); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if diff := cmp.Diff(wanted, have); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
