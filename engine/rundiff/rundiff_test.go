package rundiff_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/rundiff"
	"github.com/flowrun/flowrun/engine/runs"
)

func side(steps ...runs.Step) *rundiff.Side {
	return &rundiff.Side{Run: runs.Run{Status: runs.RunSucceeded}, Workflow: &plan.Workflow{Name: "w"}, Steps: steps}
}

func done(path string) runs.Step { return runs.Step{Path: path, Status: runs.StepSucceeded} }

// TestValuesDifferByWhatTheySay: the order of members and blanks say nothing, digits do.
func TestValuesDifferByWhatTheySay(t *testing.T) {
	a, b := side(), side()
	a.Inputs = json.RawMessage(`{"same":{"a":1,"b":2},"exact":9007199254740993,"gone":1}`)
	b.Inputs = json.RawMessage(`{"same":{"b":2, "a":1},"exact":9007199254740992,"new":null}`)
	var names []string
	for _, value := range rundiff.Of(a, b).Inputs {
		names = append(names, fmt.Sprintf("%s %s %s", value.Name, value.A, value.B))
	}
	want := []string{"exact 9007199254740993 9007199254740992", "gone 1 ", "new  null"}
	if !slices.Equal(names, want) {
		t.Errorf("the inputs that differ are %q, want %q", names, want)
	}
}

// TestStepsStandInTheOrderOfBothFiles: a step that one run has stands where it stood there.
func TestStepsStandInTheOrderOfBothFiles(t *testing.T) {
	d := rundiff.Of(side(done("a"), done("gone"), done("b")), side(done("first"), done("a"), done("new"), done("b")))
	var paths []string
	for _, pair := range d.Steps {
		paths = append(paths, pair.Path)
	}
	if want := []string{"first", "a", "new", "gone", "b"}; !slices.Equal(paths, want) {
		t.Errorf("the steps are %q, want %q", paths, want)
	}
	if d.StepsDiffer != 3 {
		t.Errorf("%d steps differ, want the 3 that one run has alone", d.StepsDiffer)
	}
}

// TestStepsThatDifferAreListedFirst: where there are more than a comparison holds, those that
// ended alike are left out.
func TestStepsThatDifferAreListedFirst(t *testing.T) {
	var a, b []runs.Step
	for i := range rundiff.MaxSteps + 5 {
		a, b = append(a, done(fmt.Sprintf("each[%d].do", i))), append(b, done(fmt.Sprintf("each[%d].do", i)))
	}
	b[len(b)-1].Status = runs.StepFailed
	d := rundiff.Of(side(a...), side(b...))
	if len(d.Steps) != rundiff.MaxSteps || d.StepsLeft != 5 || !d.Steps[len(d.Steps)-1].Differs {
		t.Errorf("%d steps, %d left out, the last one differs: %v", len(d.Steps), d.StepsLeft, d.Steps[len(d.Steps)-1].Differs)
	}
}

// TestStepsDifferInWhatCameOfThem: not in their times, nor in the attempt that failed.
func TestStepsDifferInWhatCameOfThem(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := at.Add(time.Second)
	failed := func(attempt int, message string) runs.Step {
		return runs.Step{Path: "s", Status: runs.StepFailed, Error: &runs.Error{Kind: "timeout", Attempt: attempt, Message: message}}
	}
	output := func(text string, bytes int64) runs.Step {
		return runs.Step{Path: "s", Status: runs.StepSucceeded, Outputs: json.RawMessage(text), OutputsBytes: bytes}
	}
	timed := done("s")
	timed.StartedAt, timed.FinishedAt = &at, &later
	for _, c := range []struct {
		a, b    runs.Step
		differs bool
		outputs string
	}{
		{done("s"), timed, false, rundiff.OutputsSame},
		{failed(1, "late"), failed(3, "late"), false, rundiff.OutputsSame},
		{failed(1, "late"), failed(1, "very late"), true, rundiff.OutputsSame},
		{output(`{"n":1}`, 0), output(`{"n":2}`, 0), true, rundiff.OutputsDiffer},
		{output("", 5000), output("", 6000), false, ""},
		{output(`{"n":1}`, 0), output("", 6000), true, rundiff.OutputsDiffer},
	} {
		pair := rundiff.Of(side(c.a), side(c.b)).Steps[0]
		if pair.Differs != c.differs || pair.Outputs != c.outputs {
			t.Errorf("%+v and %+v: differs %v, outputs %q", c.a, c.b, pair.Differs, pair.Outputs)
		}
	}
	if took := rundiff.Of(side(timed), side(timed)).Steps[0].A.DurationMS; took == nil || *took != 1000 {
		t.Errorf("the step took %v ms, want 1000", took)
	}
}

// TestAPlanIsTheSameWhereverItsLinesStand: a comment more moves all steps and changes none.
func TestAPlanIsTheSameWhereverItsLinesStand(t *testing.T) {
	workflow := func(source, text string, line int) *plan.Workflow {
		return &plan.Workflow{Name: "w", File: source, Source: source, Steps: []plan.Step{
			{ID: "kept", Kind: plan.StepLet, Pos: plan.Pos{Line: line, Column: 1}},
			{ID: "say", Kind: plan.StepAction, Uses: text, Pos: plan.Pos{Line: line + 1, Column: 1}},
		}}
	}
	a, b := side(), side()
	a.Workflow, b.Workflow = workflow("one", "core.log", 1), workflow("other", "core.log", 7)
	if d := rundiff.Of(a, b); !d.Plan.Same || d.Plan.Sources == nil || len(d.Plan.Steps) != 0 || !d.Same() {
		t.Errorf("the same steps on other lines: %+v", d.Plan)
	}
	b.Workflow = workflow("other", "core.fail", 7)
	d := rundiff.Of(a, b)
	if want := []rundiff.PlanStep{{Path: "say", Change: rundiff.Changed}}; d.Plan.Same || !slices.Equal(d.Plan.Steps, want) {
		t.Errorf("another action: %+v, want %+v", d.Plan, want)
	}
}

// TestItemsOfALoopThatWasTakenOverAreNoDifference: a rerun has the loop's result alone.
func TestItemsOfALoopThatWasTakenOverAreNoDifference(t *testing.T) {
	taken := done("each")
	taken.TakenFrom = "another"
	whole, rerun := side(done("each"), done("each[a].say")), side(taken)
	for _, d := range []*rundiff.Diff{rundiff.Of(whole, rerun), rundiff.Of(rerun, whole)} {
		if d.StepsDiffer != 0 {
			t.Errorf("%d steps differ: %+v", d.StepsDiffer, d.Steps)
		}
	}
	if d := rundiff.Of(whole, side(done("each"))); d.StepsDiffer != 1 {
		t.Errorf("%d steps differ where the item did not run, want 1", d.StepsDiffer)
	}
}
