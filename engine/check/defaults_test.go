package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/duration"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// TestDefaultsAreThoseOfTheTable plans a workflow that says nothing, and holds what it has against the defaults of the table.
func TestDefaultsAreThoseOfTheTable(t *testing.T) {
	workflow, problems := checkText(fake(), "w.yaml", `flowrun: v1
concurrency: {key: one}
triggers: {t: {cron: "@daily"}, a: {after: {workflow: report}}}
steps:
  - {uses: task.list, paginate: {}, retry: {}}
  - {foreach: [1], steps: [{let: {x: "${{ item }}"}}]}
`)
	if workflow == nil {
		t.Fatal(problems)
	}
	call, loop, schedule := workflow.Steps[0], workflow.Steps[1].Loop, workflow.Triggers[0].Schedule
	var kinds []string
	for _, kind := range call.Retry.On {
		kinds = append(kinds, string(kind))
	}
	got := map[string]any{
		"workflow.timeout": workflow.Timeout, "concurrency.limit": workflow.Concurrency.Limit, "concurrency.queue_max": workflow.Concurrency.QueueMax,
		"concurrency.on_full": workflow.Concurrency.OnFull, "step.run_if": call.RunIf, "step.as": loop.As, "step.max_parallel": loop.MaxParallel,
		"retry.attempts": call.Retry.Attempts, "retry.delay": call.Retry.Delay, "retry.factor": call.Retry.Factor, "retry.max_delay": call.Retry.MaxDelay,
		"retry.jitter": call.Retry.Jitter, "retry.on": "[" + strings.Join(kinds, ", ") + "]",
		"paginate.max_pages": call.Paginate.MaxPages, "paginate.max_items": call.Paginate.MaxItems,
		"trigger.timezone": schedule.Timezone, "dst.skipped_time": schedule.Skipped, "dst.repeated_time": schedule.Repeated,
		"catchup.window": schedule.Catchup.Window, "catchup.keep": schedule.Catchup.Keep, "after.status": workflow.Triggers[1].After.Status[0],
		// What a plan leaves out says the same.
		"step.on_error": plan.ReactFail, "step.on_unknown": "ask", "schema.additionalProperties": true, "schema.nullable": false,
	}
	if call.OnErrorAll != "" || call.OnUnknown != "" || loop.Collecting {
		t.Error("a step that says nothing has a reaction")
	}
	for _, m := range spec.V1().Maps {
		for _, key := range m.Keys {
			name := m.Name + "." + key.Name
			if key.Default == "" || name == "step.on_error" && key.Default == "stop" {
				continue
			}
			var want any = key.Default
			if key.Type == spec.Duration {
				d, err := duration.Parse(key.Default)
				if err != nil {
					t.Error(err)
				}
				want = d
			}
			if found, known := got[name]; !known || fmt.Sprint(found) != fmt.Sprint(want) {
				t.Errorf("%s is %v where nothing is written; the table says %v", name, found, want)
			}
		}
	}
}
