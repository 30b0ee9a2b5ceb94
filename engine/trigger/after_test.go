package trigger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

const afterFirst = `flowrun: v1
name: first
inputs: {n: {type: integer, default: 3}, fail: {type: boolean, default: false}}
triggers:
  back: {after: {workflow: second}, inputs: {n: "${{ trigger.outputs.n }}"}}
steps:
  - {uses: core.assert, with: {that: "${{ not inputs.fail }}"}}
outputs: {n: "${{ inputs.n }}", at: "${{ run.started_at }}", ratio: "${{ inputs.n / 2 }}"}
`

const afterSecond = `flowrun: v1
name: second
inputs: {n: {type: integer}, at: {type: string, format: date-time, nullable: true}, status: {type: string, default: ""}}
triggers:
  then:
    after: {workflow: first}
    inputs: {n: "${{ trigger.outputs.n + 1 }}", at: "${{ trigger.outputs.at }}"}
  failed:
    after: {workflow: first, status: [failed, canceled]}
    inputs: {n: -1, at: null, status: "${{ trigger.name }}"}
steps:
  - {uses: core.log, with: {text: x}}
outputs:
  n: ${{ inputs.n }}
  same: ${{ inputs.at != nil and trigger.outputs != nil and inputs.at == trigger.outputs?.at }}
  half: ${{ trigger.outputs?.ratio ?? 0 }}
`

func afterEngine(t *testing.T) (*engine.Engine, *testClock) {
	t.Helper()
	dir := t.TempDir()
	clock := &testClock{at: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
	writePlain(t, dir, "flowrun.yaml", "workflows: [flows]\n")
	writePlain(t, dir, "flows/first.yaml", afterFirst)
	writePlain(t, dir, "flows/second.yaml", afterSecond)
	return triggered(t, dir, clock, nil), clock
}

// endOf is what the store tells of the end of a run.
func endOf(t *testing.T, e *engine.Engine, id string) runs.OutboxEntry {
	t.Helper()
	entries, err := e.Store().Outbox(0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Run.ID == id && entries[i].Kind == runs.OutboxClosed {
			return entries[i]
		}
	}
	t.Fatalf("the end of run %s is not told", id)
	return runs.OutboxEntry{}
}

func runNamed(t *testing.T, e *engine.Engine, name string, inputs map[string]workspace.Input) *runs.Result {
	t.Helper()
	run, problems, err := e.StartNamed(t.Context(), name, engine.NamedStart{Inputs: inputs})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	result, err := e.Wait(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func runsOf(t *testing.T, e *engine.Engine, workflow string) []runs.Run {
	t.Helper()
	runs, _, err := e.Store().Runs(runs.Filter{Workflow: workflow, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestARunFollowsAnother(t *testing.T) {
	e, _ := afterEngine(t)
	first := runNamed(t, e, "first", nil)
	entry := endOf(t, e, first.Run.ID)
	for range 3 { // it may be told more than once
		if err := e.FireAfter(t.Context(), entry, ""); err != nil {
			t.Fatal(err)
		}
	}
	runs := runsOf(t, e, "second")
	if len(runs) != 1 {
		t.Fatalf("%d runs follow", len(runs))
	}
	result, err := e.Wait(t.Context(), runs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(result.Outputs["n"]) + " " + string(result.Outputs["same"]) + " " + string(result.Outputs["half"]); got != "4 true 1.5" {
		t.Errorf("outputs: %s", got)
	}
	fire := runs[0].Fire
	if fire == nil || fire.From != first.Run.ID || fire.Depth != 1 || fire.Kind != plan.TriggerAfter || !fire.Slot.Equal(entry.At) || runs[0].Trigger != "then" {
		t.Errorf("fire: %+v", fire)
	}
	// Another attempt of the same run is another end.
	other := entry
	other.Run.Attempt++
	if err := e.FireAfter(t.Context(), other, ""); err != nil || len(runsOf(t, e, "second")) != 2 {
		t.Errorf("after a resume: %d runs, %v", len(runsOf(t, e, "second")), err)
	}
}

func TestAFailedRunIsFollowedByWhoAsksForIt(t *testing.T) {
	e, _ := afterEngine(t)
	first := runNamed(t, e, "first", map[string]workspace.Input{"fail": {Text: "true"}})
	if first.Run.Status != runs.RunFailed {
		t.Fatalf("%+v", first.Run)
	}
	if err := e.FireAfter(t.Context(), endOf(t, e, first.Run.ID), ""); err != nil {
		t.Fatal(err)
	}
	runs := runsOf(t, e, "second")
	if len(runs) != 1 || runs[0].Trigger != "failed" {
		t.Fatalf("%+v", runs)
	}
	if result, err := e.Wait(t.Context(), runs[0].ID); err != nil || string(result.Outputs["n"]) != "-1" || string(result.Outputs["half"]) != "0" {
		t.Errorf("%+v %v", result, err)
	}
}

func TestAnEndThatComesTooLateIsARow(t *testing.T) {
	e, _ := afterEngine(t)
	first := runNamed(t, e, "first", nil)
	entry := endOf(t, e, first.Run.ID)
	for range 2 {
		if err := e.FireAfter(t.Context(), entry, runs.SkipLate); err != nil {
			t.Fatal(err)
		}
	}
	fires := firesOf(t, e, "second", "then")
	if len(fires) != 1 || fires[0].Skipped != runs.SkipLate || fires[0].Run != "" || !strings.Contains(fires[0].Note, first.Run.ID) || len(runsOf(t, e, "second")) != 0 {
		t.Errorf("%+v", fires)
	}
}

func TestWorkflowsThatFollowEachOtherEnd(t *testing.T) {
	e, _ := afterEngine(t)
	id := runNamed(t, e, "first", nil).Run.ID
	rounds := 0
	for ; rounds < 3*trigger.MaxAfterDepth; rounds++ {
		if _, err := e.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		row, err := e.Store().Run(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.FireAfter(t.Context(), endOf(t, e, id), ""); err != nil {
			t.Fatal(err)
		}
		next := map[string]string{"first": "second", "second": "first"}[row.Workflow]
		newest := runsOf(t, e, next)[0]
		if newest.Fire == nil || newest.Fire.From != id {
			break
		}
		id = newest.ID
	}
	if rounds != trigger.MaxAfterDepth {
		t.Errorf("%d runs follow each other", rounds)
	}
	skipped := 0
	for _, trigger := range []string{"first/back", "second/then"} {
		workflow, name, _ := runs.SplitTriggerID(trigger)
		for _, fire := range firesOf(t, e, workflow, name) {
			if fire.Skipped == runs.SkipInvalid && strings.Contains(fire.Note, "circle") {
				skipped++
			}
		}
	}
	if skipped != 1 {
		t.Errorf("%d rows say why it ends", skipped)
	}
}

func TestInputsThatCanNotBeMadeAreARow(t *testing.T) {
	e, _ := afterEngine(t)
	writeFile(t, e.Project().Root(), "flows/second.yaml", strings.Replace(afterSecond, "n: {type: integer}", "n: {type: integer, maximum: 3}", 1))
	first := runNamed(t, e, "first", nil)
	if err := e.FireAfter(t.Context(), endOf(t, e, first.Run.ID), ""); err != nil {
		t.Fatal(err)
	}
	fires := firesOf(t, e, "second", "then")
	if len(fires) != 1 || fires[0].Skipped != runs.SkipInvalid || !strings.Contains(fires[0].Note, "maximum 3") {
		t.Errorf("%+v", fires)
	}
}

func TestTriggersThatCanNotFireSayWhy(t *testing.T) {
	e, clock := afterEngine(t)
	rev, err := e.Revisions().Named(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	var refused *trigger.NotFiredError
	err = e.StartTriggered(t.Context(), rev, "then", clock.now(), nil)
	if !errors.As(err, &refused) || refused.Skipped != runs.SkipInvalid || refused.Note == "" {
		t.Errorf("without the run that it follows: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	roots := map[string]any{"trigger": map[string]any{"name": "failed", "kind": "after", "at": clock.now(), "outputs": nil}}
	err = e.StartTriggered(ended, rev, "failed", clock.now(), roots)
	if err == nil || errors.As(err, &refused) {
		t.Errorf("a start that is given up leaves the fire undecided: %v", err)
	}
}
