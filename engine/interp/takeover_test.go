package interp_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// drawValue draws a value of the language.
func drawValue(t *rapid.T, depth int) any {
	kinds := 9
	if depth == 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int().Draw(t, "int")
	case 3:
		return rapid.Float64Range(-math.MaxFloat32, math.MaxFloat32).Filter(func(f float64) bool { return f != 0 }).Draw(t, "float")
	case 4:
		return rapid.StringN(0, 6, -1).Draw(t, "text")
	case 5:
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanos")).UTC()
	case 6:
		return time.Duration(rapid.Int64().Draw(t, "duration"))
	case 7:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		key := rapid.SampledFrom([]string{"a", "b", "$t", "$d", "$f", "$m", "$n", "$secret", ""}).Draw(t, "key")
		object[key] = drawValue(t, depth-1)
	}
	return object
}

func TestTypedValuesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := drawValue(rt, 3)
		encoded, err := interp.EncodeTyped(value)
		if err != nil {
			rt.Fatalf("encode %v: %v", value, err)
		}
		back, err := interp.DecodeTyped(encoded)
		if err != nil {
			rt.Fatalf("decode %s: %v", encoded, err)
		}
		if diff := cmp.Diff(value, back); diff != "" {
			rt.Fatalf("through %s (-before +after):\n%s", encoded, diff)
		}
	})
}

// ran runs a workflow and returns its Machine at the end.
func ran(t testing.TB, w *plan.Workflow, inputs string, script *enginetest.Script) *interp.Machine {
	t.Helper()
	var machine *interp.Machine
	(&enginetest.Reference{Seen: func(m *interp.Machine) { machine = m }}).Run(t, w, json.RawMessage(inputs), script)
	return machine
}

// begun starts a rerun that takes over results, and returns its first calls.
func begun(t testing.TB, w *plan.Workflow, inputs string, taken map[string]*journal.Taken) (*interp.Machine, []string) {
	t.Helper()
	machine, err := interp.New(w)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := machine.Apply(stored(t, &journal.Record{Event: journal.Event{Kind: journal.Started, At: enginetest.Begin(), Start: &journal.Start{
		RunID: "01jzscr1pted0000000000000b", RerunOf: enginetest.RunID, Inputs: json.RawMessage(inputs), Interpreter: interp.Version, Taken: taken,
	}}}).Event)
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, command := range commands {
		if command.Kind == journal.CommandCall {
			calls = append(calls, command.Path)
		}
	}
	return machine, calls
}

func TestARerunFromAStepTakesOverWhatCameBefore(t *testing.T) {
	w := enginetest.Workflow(
		enginetest.Let("when", "at", "${{ now() }}", "half", 0.5, "whole", "${{ 4 / 2 }}"),
		enginetest.Do("read", "svc.read", nil),
		enginetest.Do("beside", "svc.read", nil, enginetest.Needs("when")),
		enginetest.Do("broken", "svc.read", nil, enginetest.Needs("when")),
		enginetest.Do("from", "svc.post", map[string]any{"value": "${{ formatTime(steps.when.outputs.at, '2006') }}"}, enginetest.Needs("read")),
		enginetest.Do("after", "svc.post", nil),
	)
	script := &enginetest.Script{Answers: map[string][]enginetest.Answer{
		"read": {enginetest.OK(`{"n":7}`)}, "broken": {enginetest.Fail(plan.KindNotFound)},
	}}
	taken, err := ran(t, w, `{}`, script).TakeOver("from")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"when", "read", "beside"} {
		if taken.Results[id] == nil {
			t.Errorf("%s is not taken over", id)
		}
	}
	if n := len(taken.Results); n != 3 {
		t.Errorf("%d results are taken over, want 3", n)
	}
	machine, calls := begun(t, w, `{}`, taken.Results)
	slices.Sort(calls)
	if diff := cmp.Diff([]string{"broken", "from"}, calls); diff != "" {
		t.Errorf("calls of the rerun (-want +got):\n%s", diff)
	}
	for _, step := range machine.Steps() {
		if (step.TakenFrom == enginetest.RunID) != (taken.Results[step.Path] != nil) {
			t.Errorf("step %s is shown as taken from %q", step.Path, step.TakenFrom)
		}
	}
}

func TestARerunFromAStepThatDidNotRunIsRefused(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil), enginetest.Do("b", "svc.read", nil))
	machine := ran(t, w, `{}`, &enginetest.Script{Answers: map[string][]enginetest.Answer{"a": {enginetest.Fail(plan.KindNotFound)}}})
	if _, err := machine.TakeOver("b"); err == nil || !strings.Contains(err.Error(), "blocked") {
		t.Errorf("TakeOver of a blocked step: %v", err)
	}
	if _, err := machine.TakeOver("c"); err == nil {
		t.Error("TakeOver of an unknown step: no error")
	}
}

// A rerun from any step that ran comes to the same outputs when the services
// answer the same, whatever the plan is.
func TestARerunFromAnyStepComesToTheSameEnd(t *testing.T) {
	reran, taken := 0, 0
	defer func() {
		if reran == 0 || taken == 0 {
			t.Errorf("%d reruns took %d results over: the test shows nothing", reran, taken)
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawPlan(rt)
		for path, answers := range drawn.answers { // a service that has its own memory would answer otherwise
			drawn.answers[path] = answers[len(answers)-1:]
		}
		machine := ran(t, drawn.workflow, `{}`, drawn.script(rt))
		from := fmt.Sprintf("s%d", rapid.IntRange(0, len(drawn.workflow.Steps)-1).Draw(rt, "from"))
		over, err := machine.TakeOver(from)
		if err != nil {
			return // it did not run
		}
		reran, taken = reran+1, taken+len(over.Results)
		rerun := &enginetest.Reference{Start: func(start *journal.Start) { start.Taken, start.RerunOf = over.Results, "old" }}
		got := rerun.Run(t, drawn.workflow, json.RawMessage(`{}`), drawn.script(rt))
		status, _ := machine.Status()
		if got.Status != status || fmt.Sprintf("%s", got.Outputs) != fmt.Sprintf("%s", machine.Outputs()) {
			rt.Fatalf("from %s: %s %s, the run itself was %s %s", from, got.Status, got.Outputs, status, machine.Outputs())
		}
		for _, call := range got.Calls {
			if step, _, _ := strings.Cut(call.Path, "["); over.Results[strings.SplitN(step, "#", 2)[0]] != nil {
				rt.Fatalf("the rerun called %s, whose result was taken over", call.Path)
			}
		}
	})
}

func TestEditedInputs(t *testing.T) {
	edited, err := interp.EditedInputs(json.RawMessage(`{"a":1,"b":{"x":[1, 2]},"gone":true}`), json.RawMessage(`{"a":2,"b":{ "x":[1,2]},"new":null}`))
	if diff := cmp.Diff([]string{"a", "gone", "new"}, edited); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
