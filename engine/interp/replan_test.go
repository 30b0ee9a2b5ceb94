package interp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// failedRun is a run whose last step failed.
func failedRun() (*plan.Workflow, *enginetest.Script) {
	return enginetest.Workflow(
			enginetest.Do("a", "svc.post", map[string]any{"value": 1}),
			enginetest.Each("each", []any{"x", "y"}, []plan.Step{enginetest.Do("one", "svc.post", nil)}, enginetest.Key("item")),
			enginetest.Do("b", "svc.post", nil),
			enginetest.Do("c", "svc.post", nil),
		), &enginetest.Script{Answers: map[string][]enginetest.Answer{
			"b": {enginetest.Fail(plan.KindInvalid)},
		}}
}

func TestRule21AnotherPlanIsRefusedWhereWhatRanDiffers(t *testing.T) {
	each := func(options ...enginetest.Option) plan.Step {
		return enginetest.Each("each", []any{"x", "y"}, []plan.Step{enginetest.Do("one", "svc.post", nil)}, append(options, enginetest.Key("item"))...)
	}
	a := enginetest.Do("a", "svc.post", map[string]any{"value": 1})
	b, c := enginetest.Do("b", "svc.read", nil), enginetest.Do("c", "svc.read", nil, enginetest.Needs("a"))
	for name, test := range map[string]struct {
		steps []plan.Step
		want  string // a part of the refusal; "" = it is taken
	}{
		"the same":                         {[]plan.Step{a, each(), b, c}, ""},
		"later steps are others":           {[]plan.Step{a, each(), b, c, enginetest.Do("d", "svc.read", nil)}, ""},
		"what failed is gone":              {[]plan.Step{a, each()}, ""},
		"a place in the file moved":        {[]plan.Step{moved(a), each(), b}, ""},
		"a timeout is another one":         {[]plan.Step{enginetest.With(a, enginetest.Timeout(time.Hour)), each(), b}, ""},
		"a step that ran is gone":          {[]plan.Step{each(), b}, "step a: it has run already and is not in the file"},
		"its input is another one":         {[]plan.Step{enginetest.Do("a", "svc.post", map[string]any{"value": 2}), each(), b}, "step a: it has run already, and its `with` differs"},
		"its action is another one":        {[]plan.Step{enginetest.Do("a", "svc.put", map[string]any{"value": 1}), each(), b}, "`uses` differs"},
		"it follows another":               {[]plan.Step{enginetest.Let("new", "x", 1), a, each(), b}, "`needs` differs"},
		"it has a condition":               {[]plan.Step{enginetest.With(a, enginetest.If("true")), each(), b}, "`if` differs"},
		"a loop that ended is another one": {[]plan.Step{a, each(enginetest.Collect("${{ item }}")), b}, "step each: it has run already, and its `foreach` differs"},
	} {
		t.Run(name, func(t *testing.T) {
			w, script := failedRun()
			err := ran(t, w, `{}`, script).CheckReplan(enginetest.Workflow(test.steps...))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("CheckReplan: %v, want %q", err, test.want)
			}
		})
	}
}

func moved(step plan.Step) plan.Step {
	step.Pos = plan.Pos{Line: 99, Column: 9}
	return step
}

func TestRule21OnlyAStoppedRunTakesAnotherPlan(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil))
	if err := ran(t, w, `{}`, &enginetest.Script{}).CheckReplan(w); err == nil || !strings.Contains(err.Error(), "has not stopped") {
		t.Errorf("a run that succeeded: %v", err)
	}
	machine, _ := begun(t, w, `{}`, nil)
	if err := machine.CheckReplan(w); err == nil {
		t.Error("a run that goes on: no error")
	}
}

// The places of other steps' failures, parked steps and items survive.
func TestRule21AParkedStepKeepsWaiting(t *testing.T) {
	first := enginetest.Workflow(
		enginetest.Do("send", "svc.send", nil, enginetest.Needs()),
		enginetest.Do("broken", "svc.post", nil, enginetest.Needs()),
	)
	then := enginetest.Output(enginetest.Workflow(
		enginetest.Do("send", "svc.send", nil, enginetest.Needs()),
		enginetest.Do("broken", "svc.read", nil, enginetest.Needs()),
		enginetest.Do("more", "svc.read", nil, enginetest.Needs("send")),
	), "v", "${{ steps.send.outputs.value }}")
	script := &enginetest.Script{
		Answers: map[string][]enginetest.Answer{"send": {enginetest.Fail(plan.KindTimeout)}, "broken": {enginetest.Fail(plan.KindInvalid)}, "broken#plan2": {enginetest.OK(`{}`)}},
		Acts:    append(enginetest.Replan(time.Hour, then), enginetest.Resolve(2*time.Hour, "send", "happened", `{"value":9}`)),
	}
	got := (&enginetest.Reference{}).Run(t, first, json.RawMessage(`{}`), script)
	if got.Status != runs.RunSucceeded || string(got.Outputs["v"]) != "9" {
		t.Errorf("the run is %s (%v) with %s", got.Status, got.Error, got.Outputs)
	}
}

// A person resolves a step of an item that waits for its place after a resume.
func TestAnItemInLineTakesItsResolutionWhenItGoesOn(t *testing.T) {
	for outcome, want := range map[string]runs.Status{"happened": runs.RunSucceeded, "skip": runs.RunSucceeded, "did_not": runs.RunSucceeded} {
		t.Run(outcome, func(t *testing.T) {
			w := enginetest.Workflow(enginetest.Each("each", []any{"a", "b"}, []plan.Step{
				enginetest.Do("send", "svc.send", nil), enginetest.Do("after", "svc.read", nil, enginetest.RunIf(plan.RunIfAny)),
			}, enginetest.Key("item"), enginetest.Collecting()))
			lost, auth := enginetest.Fail(plan.KindTimeout), enginetest.Fail(plan.KindAuthRequired)
			script := &enginetest.Script{
				Answers: map[string][]enginetest.Answer{
					"each[a].send": {auth, enginetest.OK(`{}`).In(time.Minute)}, "each[b].send": {lost, enginetest.OK(`{}`)},
				},
				Acts: []enginetest.Act{enginetest.Resume(time.Second), enginetest.Resolve(20*time.Second, "each[b].send", outcome, "")},
			}
			w.Steps[0].Loop.MaxParallel = 2 // both are parked
			got := (&enginetest.Reference{Seen: func(m *interp.Machine) { w.Steps[0].Loop.MaxParallel = 1 }}).Run(t, w, json.RawMessage(`{}`), script)
			if got.Status != want || got.Steps["each[b].after"].Status != runs.StepSucceeded {
				t.Errorf("the run is %s (%v), steps %v", got.Status, got.Error, got.Steps)
			}
		})
	}
}

// P3: a resolution that was recorded while nobody drove the run takes effect once,
// in an item of a loop too.
func TestP3AHeldResolutionSendsTheCallOfAnItemOnce(t *testing.T) {
	w := enginetest.Workflow(enginetest.Each("each", []any{"a", "b"}, []plan.Step{enginetest.Do("send", "svc.send", nil)},
		enginetest.Key("item"), enginetest.Collecting(), enginetest.Parallel(2)))
	held := enginetest.Resolve(time.Second, "each[b].send", "did_not", "")
	held.Event.Resolution.Held = true
	script := &enginetest.Script{
		Answers: map[string][]enginetest.Answer{"each[b].send": {enginetest.Fail(plan.KindTimeout), enginetest.OK(`{}`)}},
		Acts:    []enginetest.Act{held, enginetest.Resume(time.Minute)},
	}
	got := (&enginetest.Reference{}).Run(t, w, json.RawMessage(`{}`), script)
	if got.Status != runs.RunSucceeded || len(got.Calls) != 3 {
		t.Errorf("the run is %s (%v) after %d calls, want 3", got.Status, got.Error, len(got.Calls))
	}
	sent := 0
	for _, record := range got.Records {
		for _, command := range record.Commands {
			if command.Kind == journal.CommandCall && command.Path == "each[b].send" {
				sent++
			}
		}
	}
	if sent != 2 {
		t.Errorf("each[b].send was commanded %d times, want 2", sent)
	}
}
