package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
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

// TestATriggerReadsNothingOfARun: before a run there are no steps, inputs or state
// of it. In each place of a trigger only what is there by then can be read.
func TestATriggerReadsNothingOfARun(t *testing.T) {
	const poll = "    poll:\n      uses: net.whois\n      with: {domain: %s}\n      every: 1m\n      items: %s\n      key: %s\n    inputs: {site: %s}\n"
	webhook := func(secret, dedupe, input string) string {
		return fmt.Sprintf("    webhook:\n      auth: {token: %s}\n      dedupe: %s\n    inputs: {site: %s}\n", secret, dedupe, input)
	}
	places := map[string]struct {
		trigger func(string) string
		allowed []string
	}{
		"inputs of a cron":    {func(x string) string { return "    cron: \"0 0 * * *\"\n    inputs: {site: " + x + "}\n" }, nil},
		"inputs of an every":  {func(x string) string { return "    every: 1h\n    inputs: {site: " + x + "}\n" }, nil},
		"inputs of an after":  {func(x string) string { return "    after: {workflow: report}\n    inputs: {site: " + x + "}\n" }, []string{"trigger"}},
		"the secret of a web": {func(x string) string { return webhook(x, "a", "a") }, nil},
		"a dedupe":            {func(x string) string { return webhook(`"${{ secrets.HOOK }}"`, x, "a") }, []string{"request"}},
		"inputs of a webhook": {func(x string) string { return webhook(`"${{ secrets.HOOK }}"`, "a", x) }, []string{"request"}},
		"what a poll asks":    {func(x string) string { return fmt.Sprintf(poll, x, `"${{ [1] }}"`, `"${{ item }}"`, "a") }, nil},
		"items of a poll":     {func(x string) string { return fmt.Sprintf(poll, "a.b", x, `"${{ item }}"`, "a") }, []string{"result"}},
		"the key of a poll":   {func(x string) string { return fmt.Sprintf(poll, "a.b", `"${{ [1] }}"`, x, "a") }, []string{"item"}},
		"inputs of a poll":    {func(x string) string { return fmt.Sprintf(poll, "a.b", `"${{ [1] }}"`, `"${{ item }}"`, x) }, []string{"item"}},
	}
	refused := 0
	for place, test := range places {
		for _, root := range rootNames() {
			if root == "secrets" {
				continue
			}
			text := "flowrun: v1\ninputs: {site: {type: string}}\nstate: {total: {type: integer, default: 0}}\ntriggers:\n  t:\n" +
				test.trigger(`"${{ `+root+`.a.b.c }}"`) + "steps:\n  - {id: a, uses: core.log, with: {text: x}}\n"
			workflow, problems := checkText(fake(), "w.yaml", text)
			told := slices.ContainsFunc(problems, func(p diag.Problem) bool {
				return p.Code == CodeTriggerRoot && strings.Contains(p.Message, "`"+root+"`")
			})
			if told == slices.Contains(test.allowed, root) || told && workflow != nil {
				t.Errorf("%s reads %s: %v", place, root, problems)
			}
			if told {
				refused++
			}
		}
	}
	if refused < 90 {
		t.Errorf("%d reads are refused", refused)
	}
}
