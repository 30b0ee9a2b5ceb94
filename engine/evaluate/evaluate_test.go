package evaluate_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/evaluate"
	"github.com/flowrun/flowrun/engine/runs"
)

func at() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }

// ofRun are the values of a run with a step that gave something and one that failed.
func ofRun(t *testing.T) *evaluate.Values {
	t.Helper()
	values := evaluate.New(at())
	result := &runs.Result{
		Run:     runs.Run{ID: "01", Workflow: "weekly", Status: runs.RunFailed, Attempt: 1, Trigger: "manual", ScheduledAt: at(), StartedAt: at()},
		Outputs: map[string]json.RawMessage{"n": json.RawMessage("3")},
		Steps: map[string]runs.Step{
			"look":            {Status: runs.StepSucceeded, Attempts: 1, Outputs: json.RawMessage(`{"rows":[{"a":1},{"a":2.5}],"found":true}`)},
			"each[a].nothing": {Status: runs.StepSucceeded},
			"tell":            {Status: runs.StepFailed, Attempts: 4, Error: &runs.Error{Kind: "timeout", Message: "it took too long", Attempt: 4}},
		},
		Error: &runs.Error{Kind: "timeout", Step: "tell", Message: "it took too long", Attempt: 4},
	}
	if err := values.SetRun(result, json.RawMessage(`{"who":"ann","n":3}`)); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestWhatAnExpressionGives(t *testing.T) {
	for source, want := range map[string][2]string{
		"inputs.n + 1":                        {"integer", "4"},
		"${{ inputs.who }}":                   {"text", `"ann"`},
		"sum(steps.look.outputs.rows, .a)":    {"number", "3.5"},
		"steps.tell.error.kind":               {"text", `"timeout"`},
		"run.scheduled_at + duration(\"1h\")": {"time", `"2026-03-01T10:00:00Z"`},
		"now() == run.scheduled_at":           {"boolean", "true"},
		"steps.tell.outputs?.x ?? \"none\"":   {"text", `"none"`},
		"outputs.n":                           {"integer", "3"},
	} {
		answer, err := ofRun(t).Evaluate(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if answer.Type != want[0] || string(answer.Value) != want[1] {
			t.Errorf("%s is %s %s", source, answer.Type, answer.Value)
		}
	}
}

func TestWhatItReadIsTold(t *testing.T) {
	answer, err := ofRun(t).Evaluate("inputs.n > 2 && inputs.n < len(steps.look.outputs.rows) + 5 ? inputs.who : run.id")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, read := range answer.Reads {
		names = append(names, read.Name+"="+string(read.Value))
	}
	if want := []string{"inputs.n=3", `steps.look.outputs.rows=[{"a":1},{"a":2.5}]`, `inputs.who="ann"`, `run.id="01"`}; !slices.Equal(names, want) {
		t.Errorf("it read %q, want %q", names, want)
	}
}

func TestProblemsHaveTheirPlace(t *testing.T) {
	for source, column := range map[string]int{"inputs.wo": 8, "${{ inputs.wo }}": 12, "1 +": 3, "nobody": 1, "é + inputs.wo": 1, "\"é\" + inputs.wo": 14} {
		_, err := ofRun(t).Evaluate(source)
		var wrong *evaluate.WrongError
		if !errors.As(err, &wrong) || wrong.Problems[0].Column != column {
			t.Errorf("%s: %v", source, err)
			if wrong != nil {
				t.Errorf("column %d, want %d", wrong.Problems[0].Column, column)
			}
		}
	}
	_, err := ofRun(t).Evaluate("1 % (inputs.n - 3)")
	var failed *evaluate.FailedError
	if !errors.As(err, &failed) || failed.Problems[0].Column == 0 {
		t.Errorf("%v", err)
	}
}

func TestInputsHaveTheKindOfThoseOfTheRun(t *testing.T) {
	values := ofRun(t)
	if err := errors.Join(values.SetInput("n", "41", nil), values.SetInput("who", "41", nil), values.SetInput("rows", "", json.RawMessage("[1]"))); err != nil {
		t.Fatal(err)
	}
	answer, err := values.Evaluate(`string(inputs.n + 1) + inputs.who + string(inputs.rows[0])`)
	if err != nil || string(answer.Value) != `"42411"` {
		t.Errorf("%v %v", answer, err)
	}
	if values.SetInput("rows", "", json.RawMessage("[")) == nil {
		t.Error("what is no JSON was taken")
	}
}

func TestWordsAreCompleted(t *testing.T) {
	functions := []string{"sum", "startsWith", "sha256"}
	for text, want := range map[string][]string{
		"inp":                      {"inputs"},
		"1 + inputs.w":             {"inputs.who"},
		"steps.":                   {"steps.look", "steps.tell"},
		"steps.look.outputs?.f":    {"steps.look.outputs?.found"},
		"su":                       {"sum("},
		"s":                        {"sha256(", "startsWith(", "steps", "sum("},
		"nobody.x":                 nil,
		"len(steps.tell.error.mes": {"steps.tell.error.message"},
	} {
		if _, found := ofRun(t).Complete(text, functions); !slices.Equal(found, want) {
			t.Errorf("%s becomes %q, want %q", text, found, want)
		}
	}
}
