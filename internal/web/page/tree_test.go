package page

import (
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestStepsStandInTheirGroups: those of a handler that ran again are one group with
// their places in the drawing, and a colon in a key begins no handler.
func TestStepsStandInTheirGroups(t *testing.T) {
	loop := plan.Step{ID: "each", Kind: plan.StepLoop, Loop: &plan.Loop{Steps: []plan.Step{{ID: "get"}}}}
	w := &plan.Workflow{Steps: []plan.Step{loop}, Finally: []plan.Step{{ID: "log"}, {ID: "tell"}}}
	var steps []runs.Step
	for _, path := range []string{"each", "each[a:b].get", "each[50%25].get", "each[c:d].gone", "finally@2:log", "finally@2:tell"} {
		steps = append(steps, runs.Step{Path: path})
	}
	groups := newTree(steps, w)
	if len(groups) != 2 || len(groups[0].nodes) != 2 || groups[1].name != "finally" || len(groups[1].nodes) != 2 {
		t.Fatalf("the groups are %+v", groups)
	}
	items := groups[0].nodes[0].items
	if len(items) != 2 || items[0].path != "each[a:b]" || items[0].key != "a:b" || items[1].key != "50%" || items[1].nodes[0].graph != "each.get" {
		t.Errorf("the items are %+v", items)
	}
	if last := groups[1].nodes[1]; last.def == nil || last.graph != "finally.tell" {
		t.Errorf("the last step is %+v", last)
	}
}
