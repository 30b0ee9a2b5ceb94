package enginetest

import (
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func orderCases() []*Case {
	read := func(id string, options ...Option) plan.Step { return Do(id, "svc.read", nil, options...) }
	return []*Case{
		{
			Name:     "rule 1: without needs a step follows the one above",
			Workflow: Workflow(read("a"), read("b"), read("c")),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(time.Second)}, "b": {OK(`{}`).In(time.Second)}},
			Want: Want{
				Status: runs.RunSucceeded, NoError: true, Calls: []string{"a", "b", "c"}, Took: 2 * time.Second,
				Steps: map[string]runs.StepStatus{"a": runs.StepSucceeded, "c": runs.StepSucceeded},
			},
		},
		{
			Name:     "rule 1: steps with empty needs start at once, in file order",
			Workflow: Workflow(read("a"), read("b", Needs()), read("c", Needs()), read("d", Needs("a", "c"))),
			Answers: map[string][]Answer{
				"a": {OK(`{}`).In(3 * time.Second)}, "b": {OK(`{}`).In(time.Second)}, "c": {OK(`{}`).In(2 * time.Second)},
			},
			Want: Want{Status: runs.RunSucceeded, Calls: []string{"a", "b", "c", "d"}, Took: 3 * time.Second},
		},
		{
			Name: "rule 1: a step follows what it reads",
			Workflow: Workflow(
				read("a"),
				Do("b", "svc.read", map[string]any{"value": "${{ steps.a.outputs.value }}"}, Needs()),
			),
			Answers: map[string][]Answer{"a": {OK(`{"value":7}`).In(time.Second)}},
			Want: Want{Status: runs.RunSucceeded, Calls: []string{"a", "b"}, Check: func(t testing.TB, got Result) {
				compareJSON(t, "input of b", `{"value":7}`, got.Calls[1].Command.Input)
			}},
		},
		{
			Name:     "rule 8: a step whose if is false is skipped, what follows it goes on",
			Workflow: Workflow(Let("a", "x", 1), read("b", If("steps.a.outputs.x > 1")), read("c")),
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"c"},
				Steps: map[string]runs.StepStatus{"b": runs.StepSkipped, "c": runs.StepSucceeded},
			},
		},
		{
			Name: "rule 8: a failure blocks what follows it, in cascade, and no other branch",
			Workflow: Workflow(
				read("a"), read("b"), read("c"), read("d", Needs()), read("e", Needs("d")),
			),
			Answers: map[string][]Answer{"a": {Fail(plan.KindNotFound)}, "d": {OK(`{}`).In(time.Second)}},
			Want: Want{
				Status: runs.RunFailed, Error: &WantError{Kind: plan.KindNotFound, Step: "a"}, Calls: []string{"a", "d", "e"},
				Steps: map[string]runs.StepStatus{
					"a": runs.StepFailed, "b": runs.StepBlocked, "c": runs.StepBlocked, "e": runs.StepSucceeded,
				},
			},
		},
		{
			Name: "rule 8: run_if failed runs after a failure or a blocked step",
			Workflow: Workflow(
				read("a"), read("b"), read("c", Needs("b"), RunIf(plan.RunIfFailed)), read("d", Needs("a"), RunIf(plan.RunIfFailed)),
			),
			Answers: map[string][]Answer{"a": {Fail(plan.KindNotFound)}},
			Want: Want{Status: runs.RunFailed, Steps: map[string]runs.StepStatus{
				"b": runs.StepBlocked, "c": runs.StepSucceeded, "d": runs.StepSucceeded,
			}},
		},
		{
			Name:     "rule 8: run_if failed is skipped when nothing failed, and blocks nobody",
			Workflow: Workflow(read("a"), read("b", RunIf(plan.RunIfFailed)), read("c")),
			Want: Want{Status: runs.RunSucceeded, Steps: map[string]runs.StepStatus{
				"b": runs.StepSkipped, "c": runs.StepSucceeded,
			}},
		},
		{
			Name:     "rule 8: run_if any runs after all have ended",
			Workflow: Workflow(read("a"), read("b", Needs()), read("c", Needs("a", "b"), RunIf(plan.RunIfAny))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindNotFound)}, "b": {OK(`{}`).In(time.Minute / 2)}},
			Want: Want{
				Status: runs.RunFailed, Took: time.Minute / 2,
				Steps: map[string]runs.StepStatus{"c": runs.StepSucceeded},
			},
		},
		{
			Name: "a run of let steps alone needs no call",
			Workflow: Output(Workflow(Let("a", "x", 1, "y", "${{ x + 1 }}"), Let("b", "z", "${{ steps.a.outputs.y * 10 }}")),
				"z", "${{ steps.b.outputs.z }}"),
			Want: Want{Status: runs.RunSucceeded, Count: 0, Outputs: map[string]string{"z": "20"}, StepOut: map[string]string{
				"a": `{"x":1,"y":2}`,
			}},
		},
	}
}

func valueCases() []*Case {
	return []*Case{
		{
			Name: "rule 3: inputs, run and trigger are roots; now() is the time of the event",
			Workflow: Output(Output(Output(Workflow(
				Do("a", "svc.read", nil),
				Let("b", "at", "${{ now() }}", "id", "${{ run.id }}", "attempt", "${{ run.attempt }}", "kind", "${{ trigger.kind }}"),
			), "text", "at ${{ steps.b.outputs.at }} for ${{ inputs.name }}"), "slot", "${{ run.scheduled_at }}"), "all", "${{ steps.b.outputs }}"),
			Inputs:  `{"name":"x"}`,
			Answers: map[string][]Answer{"a": {OK(`{}`).In(90 * time.Second / 2)}},
			Want: Want{Status: runs.RunSucceeded, Outputs: map[string]string{
				"text": `"at 2026-03-02T09:30:45Z for x"`,
				"slot": `"2026-03-02T09:30:00Z"`,
				"all":  `{"at":"2026-03-02T09:30:45Z","id":"` + RunID + `","attempt":1,"kind":"manual"}`,
			}},
		},
		{
			Name:     "rule 3: a result that contains ${{ is text",
			Workflow: Output(Workflow(Do("a", "svc.read", nil)), "x", "${{ steps.a.outputs.value }}"),
			Answers:  map[string][]Answer{"a": {OK(`{"value":"${{ inputs.secret }}"}`)}},
			Want:     Want{Status: runs.RunSucceeded, Outputs: map[string]string{"x": `"${{ inputs.secret }}"`}},
		},
		{
			Name:     "rule 6: integers above 2^53 stay exact",
			Workflow: Output(Workflow(Do("a", "svc.read", nil)), "n", "${{ steps.a.outputs.n + 1 }}"),
			Answers:  map[string][]Answer{"a": {OK(`{"n":9007199254740993}`)}},
			Want: Want{Status: runs.RunSucceeded, Check: func(t testing.TB, got Result) {
				if string(got.Outputs["n"]) != "9007199254740994" {
					t.Errorf("n is %s", got.Outputs["n"])
				}
			}},
		},
		{
			Name:     "rule 6: an answer that breaks its schema is tried again, then fails the step",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(2, time.Second))),
			Answers:  map[string][]Answer{"a": {OK(`{"n":"many"}`)}},
			Want: Want{
				Status: runs.RunFailed, Count: 2, Took: time.Second,
				Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: "schema"},
			},
		},
		{
			Name:     "issue 15, 2: an answer that breaks the schema which the inputs narrowed fails its step, with its place",
			Workflow: Workflow(Do("a", "svc.read", nil, Form(smallNumber), Retry(2, time.Second))),
			Answers:  map[string][]Answer{"a": {OK(`{"n":7}`)}},
			Want: Want{
				Status: runs.RunFailed, Count: 2, Took: time.Second,
				Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: "schema"},
				Check: func(t testing.TB, got Result) {
					if string(got.Error.Details) != `{"output_pointer":"/n"}` {
						t.Errorf("details = %s", got.Error.Details)
					}
				},
			},
		},
		{
			Name:     "issue 15, 5: an answer above the limit of a message is not asked for again",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(4, time.Second))),
			Answers:  map[string][]Answer{"a": {{Answer: runs.Answer{Failed: &runs.Error{Kind: plan.KindUnexpectedResponse, Reason: runs.ReasonTooLarge, Applied: runs.AppliedUnknown}}}}},
			Want: Want{
				Status: runs.RunFailed, Count: 1,
				Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: runs.ReasonTooLarge},
			},
		},
		{
			Name:     "issue 15, 2: an effect whose answer breaks only the narrowed schema has happened",
			Workflow: Workflow(Do("a", "svc.ship", nil, Form(strings.ReplaceAll(smallNumber, `"n"`, `"value"`)), Retry(3, time.Second))),
			Answers:  map[string][]Answer{"a": {OK(`{"value":7}`)}},
			Want: Want{
				Status: runs.RunFailed, Count: 1,
				Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: "schema"},
				Check: func(t testing.TB, got Result) {
					if got.Error.Applied != runs.AppliedFully {
						t.Errorf("applied = %s", got.Error.Applied)
					}
				},
			},
		},
		{
			Name:     "rule 9: an expression that fails is a failure of its step, with its place",
			Workflow: Workflow(Let("a", "x", "${{ inputs.list[3] }}"), Do("b", "svc.read", nil, Needs())),
			Inputs:   `{"list":[1]}`,
			Want: Want{
				Status: runs.RunFailed, Error: &WantError{Kind: plan.KindInvalid, Step: "a", Reason: "expression"},
				Steps: map[string]runs.StepStatus{"b": runs.StepSucceeded},
				Check: func(t testing.TB, got Result) {
					if want := "scripted.yaml:1:5: "; len(got.Error.Message) < len(want) || got.Error.Message[:len(want)] != want {
						t.Errorf("the message has no place: %s", got.Error.Message)
					}
				},
			},
		},
		{
			Name:     "a resolved input that does not fit fails before any call, with its pointer",
			Workflow: Workflow(Do("a", "svc.read", map[string]any{"n": "${{ inputs.n }}"})),
			Inputs:   `{"n":"text"}`,
			Want: Want{
				Status: runs.RunFailed, Count: none, Error: &WantError{Kind: plan.KindInvalid, Step: "a", Reason: "expression"},
				Check: func(t testing.TB, got Result) {
					if got.Error.Pointer != "/n" {
						t.Errorf("pointer %q", got.Error.Pointer)
					}
				},
			},
		},
		{
			Name:     "an output that can't be evaluated fails the run",
			Workflow: Output(Workflow(Do("a", "svc.read", nil)), "x", "${{ steps.a.outputs.value.deep.er }}"),
			Answers:  map[string][]Answer{"a": {OK(`{"value":7}`)}},
			Want: Want{
				Status: runs.RunFailed, Error: &WantError{Kind: plan.KindInvalid, Reason: "expression"},
				Steps: map[string]runs.StepStatus{"a": runs.StepSucceeded},
			},
		},
		{
			Name: runs.CoreLog + " writes a line and completes at once; core.assert and core.fail fail",
			Workflow: Workflow(
				Do("log", runs.CoreLog, map[string]any{"text": "hello ${{ inputs.name }}", "level": "warn"}),
				Do("assert", runs.CoreAssert, map[string]any{"that": "${{ inputs.name == 'x' }}", "message": "wrong name"}),
				Do("fail", runs.CoreFail, map[string]any{"message": "no", "kind": "conflict"}),
			),
			Inputs: `{"name":"x"}`,
			Want: Want{
				Status: runs.RunFailed, Logs: []string{"hello x"}, Error: &WantError{Kind: plan.KindConflict, Step: "fail"},
				Steps: map[string]runs.StepStatus{"log": runs.StepSucceeded, "assert": runs.StepSucceeded},
			},
		},
		{
			Name:     runs.CoreAssert + " that does not hold is invalid with reason assertion",
			Workflow: Workflow(Do("a", runs.CoreAssert, map[string]any{"that": false})),
			Want:     Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindInvalid, Step: "a", Reason: "assertion"}},
		},
		{
			Name:     runs.CoreSleep + " waits in virtual time",
			Workflow: Workflow(Do("a", runs.CoreSleep, map[string]any{"for": "6h"})),
			Want:     Want{Status: runs.RunSucceeded, Took: 6 * time.Hour},
		},
	}
}

func failureCases() []*Case {
	return []*Case{
		{
			Name: "rule 9: on_error continue lets what follows go on, and the error can be read",
			Workflow: Output(Workflow(
				Do("a", "svc.read", nil, OnError(plan.KindNotFound, plan.ReactContinue)), Do("b", "svc.read", nil),
			), "kind", "${{ steps.a.error?.kind }}"),
			Answers: map[string][]Answer{"a": {Fail(plan.KindNotFound)}},
			Want: Want{
				Status: runs.RunSucceeded, NoError: true, Outputs: map[string]string{"kind": `"not_found"`},
				Steps: map[string]runs.StepStatus{"a": runs.StepFailed, "b": runs.StepSucceeded},
			},
		},
		{
			Name:     "rule 9: on_error names kinds; another kind fails",
			Workflow: Workflow(Do("a", "svc.read", nil, OnError(plan.KindNotFound, plan.ReactContinue))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindForbidden)}},
			Want:     Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindForbidden, Step: "a"}},
		},
		{
			Name:     "the run's error is the first failure in time",
			Workflow: Workflow(Do("a", "svc.read", nil), Do("b", "svc.read", nil, Needs())),
			Answers: map[string][]Answer{
				"a": {Fail(plan.KindForbidden).In(2 * time.Second)}, "b": {Fail(plan.KindNotFound).In(time.Second)},
			},
			Want: Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindNotFound, Step: "b"}},
		},
	}
}

// smallNumber is what the inputs of a step narrow an answer to.
const smallNumber = `{"type":"object","properties":{"n":{"type":"integer","maximum":3}}}`
