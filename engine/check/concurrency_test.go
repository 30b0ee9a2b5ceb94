package check

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
)

// TestRule16AWorkflowThatKeepsSomethingGoesOnOneAtATime: state and watermarks are
// read at the start of a run and written at its end, so that two runs beside each
// other would lose one's words. What the workflow says itself stands.
func TestRule16AWorkflowThatKeepsSomethingGoesOnOneAtATime(t *testing.T) {
	const (
		state  = "state: {total: {type: integer, default: 0}}\n"
		said   = "concurrency: {key: mine, limit: 3, on_full: skip}\n"
		log    = "  - {uses: core.log, with: {text: x}}\n"
		cursor = "  - {id: new, uses: task.list, paginate: {max_pages: 10}, incremental: {cursor: tasks}}\n"
		count  = "  - set_state: {total: \"${{ state.total + 1 }}\"}\n"
	)
	implied := &plan.Concurrency{Key: literal(json.RawMessage(`"workflow:w"`)), Limit: 1, OnFull: plan.OnFullQueue, QueueMax: 100, Implied: true}
	own := &plan.Concurrency{Key: literal(json.RawMessage(`"mine"`)), Limit: 3, OnFull: plan.OnFullSkip, QueueMax: 100}
	for name, test := range map[string]struct {
		head, steps string
		want        *plan.Concurrency
	}{
		"nothing is kept":                  {"", log, nil},
		"state is declared":                {state, log, implied},
		"state is set":                     {state, count, implied},
		"a watermark is kept":              {"", cursor, implied},
		"state and a watermark are kept":   {state, cursor + count, implied},
		"state, and it says so itself":     {said + state, count, own},
		"a watermark, and it says so":      {said, cursor, own},
		"nothing is kept, but it says so":  {said, log, own},
		"a step in a loop reads the state": {state, "  - foreach: [1]\n    as: i\n    steps:\n      - let: {n: \"${{ state.total + i }}\"}\n", implied},
	} {
		workflow := mustPlan(t, fake(), "flowrun: v1\nname: w\n"+test.head+"steps:\n"+test.steps)
		if diff := cmp.Diff(test.want, workflow.Concurrency); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
