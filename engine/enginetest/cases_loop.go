package enginetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// body is one call per item whose input is the item.
func body(options ...Option) []plan.Step {
	return []plan.Step{Do("get", "svc.read", map[string]any{"value": "${{ item }}"}, options...)}
}

func loopCases() []*Case {
	return []*Case{
		{
			Name: "rule 12: a loop's outputs are in input order, whatever order the items end in",
			Workflow: Workflow(Each("each", []any{"a", "b", "c"}, body(), Key("item"), Parallel(3),
				Collect(map[string]any{"key": "${{ item }}", "at": "${{ index }}", "got": "${{ steps.get.outputs.value }}"}))),
			Answers: map[string][]Answer{
				"each[a].get": {OK(`{"value":1}`).In(3 * time.Second)}, "each[b].get": {OK(`{"value":2}`).In(2 * time.Second)},
				"each[c].get": {OK(`{"value":3}`).In(time.Second)},
			},
			Want: Want{
				Status: runs.RunSucceeded, Took: 3 * time.Second,
				StepOut: map[string]string{"each": `{"items":[{"key":"a","at":0,"got":1},{"key":"b","at":1,"got":2},{"key":"c","at":2,"got":3}],"errors":[]}`},
				Steps:   map[string]runs.StepStatus{"each": runs.StepSucceeded, "each[b].get": runs.StepSucceeded},
				Check: func(t testing.TB, got Result) {
					if step := got.Steps["each"]; step.Items != 3 || step.Done != 3 {
						t.Errorf("the loop shows %d of %d", step.Done, step.Items)
					}
				},
			},
		},
		{
			Name:     "rule 12: max_parallel bounds what is in flight",
			Workflow: Workflow(Each("each", "${{ 1..6 }}", body(), Parallel(2))),
			Answers:  inEach(6, OK(`{}`).In(time.Second)),
			Want: Want{Status: runs.RunSucceeded, Count: 6, Took: 3 * time.Second, Check: func(t testing.TB, got Result) {
				if at := got.Calls[2].After; at != time.Second {
					t.Errorf("the third call began after %s", at)
				}
			}},
		},
		{
			Name:     "a loop over nothing succeeds with empty lists",
			Workflow: Workflow(Each("each", []any{}, body())),
			Want:     Want{Status: runs.RunSucceeded, StepOut: map[string]string{"each": `{"items":[],"errors":[]}`}},
		},
		{
			Name:     "without collect each item is null; without key the index is the key",
			Workflow: Workflow(Each("each", []any{"x", "y"}, body())),
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"each[0].get", "each[1].get"},
				StepOut: map[string]string{"each": `{"items":[null,null],"errors":[]}`},
			},
		},
		{
			Name: "items read their own steps and those outside the loop; loops nest",
			Workflow: Output(Workflow(
				Let("base", "n", 100),
				Each("outer", []any{1, 2}, []plan.Step{
					Let("own", "ten", "${{ item * 10 }}"),
					withAs("inner", Each("inner", []any{1, 2}, []plan.Step{
						Let("sum", "n", "${{ steps.base.outputs.n + steps.own.outputs.ten + inner }}"),
					}, Collect("${{ steps.sum.outputs.n }}"))),
				}, Parallel(2), Collect("${{ steps.inner.outputs.items }}")),
			), "sums", "${{ steps.outer.outputs.items }}"),
			Want: Want{
				Status: runs.RunSucceeded, Outputs: map[string]string{"sums": "[[111,112],[121,122]]"},
				Steps: map[string]runs.StepStatus{"outer[1].inner[0].sum": runs.StepSucceeded},
			},
		},
		{
			Name:     "a loop of many items that need no call does not grow the stack",
			Workflow: Output(Workflow(Each("each", "${{ 1..3000 }}", []plan.Step{Let("x", "n", "${{ item }}")}, Collect("${{ steps.x.outputs.n }}"))), "n", "${{ len(steps.each.outputs.items) }}"),
			Want:     Want{Status: runs.RunSucceeded, Outputs: map[string]string{"n": "3000"}},
		},
		{
			Name:     "key characters that have a meaning in paths are escaped",
			Workflow: Workflow(Each("each", []any{"a]b#c!%"}, body(), Key("item"))),
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"each[a%5Db%23c%21%25].get"}},
		},
		{
			Name:     "batch hands lists of so many elements to the items, whose keys are the places of the batches",
			Workflow: Workflow(Each("each", "${{ 1..5 }}", body(), Batch(2), Collect(map[string]any{"n": "${{ index }}", "of": "${{ item }}"}))),
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"each[0].get", "each[1].get", "each[2].get"},
				StepOut: map[string]string{"each": `{"items":[{"n":0,"of":[1,2]},{"n":1,"of":[3,4]},{"n":2,"of":[5]}],"errors":[]}`},
				Check: func(t testing.TB, got Result) {
					if step := got.Steps["each"]; step.Items != 3 || step.Done != 3 {
						t.Errorf("the loop shows %d of %d", step.Done, step.Items)
					}
				},
			},
		},
		{
			Name:     "a key of a batch is of its elements; a list that a step stored is cut, not copied",
			Workflow: Workflow(Let("rows", "v", "${{ map(1..5, {{id: #}}) }}"), With(Each("each", "${{ filter(steps.rows.outputs.v, .id != 2) }}", body(), Batch(3), Key("item[0].id"), Collect("${{ map(item, .id) }}")), Needs("rows"))),
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"each[1].get", "each[5].get"},
				StepOut: map[string]string{"each": `{"items":[[1,3,4],[5]],"errors":[]}`},
			},
		},
		{
			Name:     "a batch of an empty list runs nothing",
			Workflow: Workflow(Each("each", []any{}, body(), Batch(2))),
			Want:     Want{Status: runs.RunSucceeded, StepOut: map[string]string{"each": `{"items":[],"errors":[]}`}},
		},
	}
}

func inEach(n int, answer Answer) map[string][]Answer {
	answers := map[string][]Answer{}
	for i := range n {
		index, _ := json.Marshal(i) // an integer always encodes
		answers["each["+string(index)+"].get"] = []Answer{answer}
	}
	return answers
}

func withAs(name string, step plan.Step) plan.Step {
	step.Loop.As = name
	return step
}

func loopFailureCases() []*Case {
	abc := []any{"a", "b", "c"}
	return []*Case{
		{
			Name:     "rule 12: keys that are not unique fail the step before the first item",
			Workflow: Workflow(Each("each", []any{"a", "b", "a"}, body(), Key("item"))),
			Want: Want{
				Status: runs.RunFailed, Count: none, Error: &WantError{Kind: plan.KindInvalid, Step: "each", Reason: "duplicate_key"},
			},
		},
		{
			Name:     "rule 12: on_error stop starts no new item, those in flight finish",
			Workflow: Workflow(Each("each", abc, body(), Key("item"), Parallel(2)), Do("next", "svc.read", nil)),
			Answers: map[string][]Answer{
				"each[a].get": {Fail(plan.KindNotFound)}, "each[b].get": {OK(`{}`).In(time.Second)},
			},
			Want: Want{
				Status: runs.RunFailed, Count: 2, Took: time.Second, Error: &WantError{Kind: plan.KindNotFound, Step: "each[a].get"},
				Steps: map[string]runs.StepStatus{
					"each": runs.StepFailed, "each[b].get": runs.StepSucceeded, "next": runs.StepBlocked,
				},
			},
		},
		{
			Name: "rule 12: a loop that fails keeps what ended in it, for those who report or compensate",
			Workflow: Workflow(Each("each", abc, body(), Key("item"), Collect("${{ item }}")),
				With(Let("after", "got", "${{ steps.each.outputs }}"), Needs("each"), RunIf(plan.RunIfFailed))),
			Answers: map[string][]Answer{"each[b].get": {Fail(plan.KindNotFound)}},
			Want: Want{
				Status: runs.RunFailed, Count: 2, Error: &WantError{Kind: plan.KindNotFound, Step: "each[b].get"},
				StepOut: map[string]string{
					"each":  `{"items":["a"],"errors":[{"key":"b","index":1,"kind":"not_found","message":"scripted"}]}`,
					"after": `{"got":{"errors":[{"index":1,"key":"b","kind":"not_found","message":"scripted"}],"items":["a"]}}`,
				},
			},
		},
		{
			Name: "rule 12: on_error collect goes on and says what failed",
			Workflow: Workflow(Each("each", abc, body(), Key("item"), Parallel(3), Collecting(),
				Collect("${{ steps.get?.outputs?.value }}")), Do("next", "svc.read", nil)),
			Answers: map[string][]Answer{
				"each[a].get": {OK(`{"value":1}`)}, "each[b].get": {Fail(plan.KindNotFound)}, "each[c].get": {OK(`{"value":3}`)},
			},
			Want: Want{
				Status: runs.RunSucceeded,
				StepOut: map[string]string{
					"each": `{"items":[1,3],"errors":[{"key":"b","index":1,"kind":"not_found","message":"scripted"}]}`,
				},
				Steps: map[string]runs.StepStatus{"each[b].get": runs.StepFailed, "next": runs.StepSucceeded},
				Check: func(t testing.TB, got Result) {
					if got.Steps["each"].ItemErrors != 1 {
						t.Errorf("the loop shows %d errors", got.Steps["each"].ItemErrors)
					}
				},
			},
		},
		{
			Name: "rule 12: a resume of a loop runs only the items that are missing",
			Workflow: Workflow(Each("each", abc, body(), Key("item"), Parallel(3),
				Collect("${{ steps.get.outputs.value }}"))),
			Answers: map[string][]Answer{
				"each[a].get": {OK(`{"value":1}`)}, "each[b].get": {Fail(plan.KindNotFound), OK(`{"value":2}`)},
				"each[c].get": {OK(`{"value":3}`)},
			},
			Acts: []Act{Resume(time.Hour)},
			Want: Want{
				Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"each[a].get", "each[b].get", "each[c].get", "each[b].get"},
				StepOut: map[string]string{"each": `{"items":[1,2,3],"errors":[]}`},
			},
		},
		{
			Name: "rule 12: steps of an item that ended stay on a resume",
			Workflow: Workflow(Each("each", []any{"a"}, []plan.Step{
				Do("one", "svc.post", nil), Do("two", "svc.post", nil),
			}, Key("item"))),
			Answers: map[string][]Answer{"each[a].two": {Fail(plan.KindConflict), OK(`{}`)}},
			Acts:    []Act{Resume(time.Hour)},
			Want:    Want{Status: runs.RunSucceeded, Calls: []string{"each[a].one", "each[a].two", "each[a].two"}},
		},
		{
			Name:     "foreach over something that is no list fails the step",
			Workflow: Workflow(Each("each", "${{ inputs.x }}", body())),
			Inputs:   `{"x":5}`,
			Want:     Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindInvalid, Step: "each", Reason: "expression"}},
		},
	}
}
