package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// TestATriggerHasOneKind: any two of them, in whichever order, are refused at the
// second; each of them alone is taken.
func TestATriggerHasOneKind(t *testing.T) {
	kinds := map[string]string{
		"cron": `"0 0 * * *"`, "every": "1h", "webhook": `{auth: {token: "${{ secrets.HOOK }}"}}`,
		"poll": `{uses: task.list, every: 1m, items: "${{ result.items }}", key: "${{ item.id }}"}`, "after": "{workflow: report}",
	}
	if len(kinds) != len(triggerKinds()) {
		t.Fatalf("the kinds are %v", triggerKinds())
	}
	const head, rest = "flowrun: v1\nname: w\ntriggers:\n  t:\n", "steps:\n  - {uses: core.log, with: {text: x}}\n"
	for first, value := range kinds {
		one := head + fmt.Sprintf("    %s: %s\n", first, value)
		if workflow, problems := checkText(fake(), "w.yaml", one+rest); workflow == nil || len(workflow.Triggers) != 1 || workflow.Triggers[0].Kind != plan.TriggerKind(first) {
			t.Errorf("%s alone: %v", first, problems)
		}
		for second, value := range kinds {
			if first == second {
				continue
			}
			workflow, problems := checkText(fake(), "w.yaml", one+fmt.Sprintf("    %s: %s\n", second, value)+rest)
			if workflow != nil || !strings.Contains(places(problems), CodeTriggerKind+" 6:5") {
				t.Errorf("%s, then %s: %v", first, second, problems)
			}
		}
	}
	if !slices.Contains(triggerKinds(), string(plan.TriggerAfter)) {
		t.Error("after is no kind")
	}
}
