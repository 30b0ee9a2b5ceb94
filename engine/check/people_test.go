package check

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
)

// addCore adds the built-in actions whose inputs are schemas, and core.notify.
func (f *fakeCatalog) addCore() {
	f.add("core.approve", plan.EffectRead, `{"type":"object","required":["message"],"additionalProperties":false,"properties":{
		"message":{"type":"string"},"form":{"type":"object","additionalProperties":{}}}}`, `{"type":"object","properties":{},"additionalProperties":false}`)
	f.add("core.wait", plan.EffectRead, `{"type":"object","required":["signal"],"additionalProperties":false,"properties":{
		"signal":{"type":"string","minLength":1},"schema":{"type":"object","additionalProperties":{}},"match":{"type":"object","additionalProperties":{}}}}`,
		`{"type":"object","properties":{"payload":{}},"required":["payload"],"additionalProperties":false}`)
	f.add("core.notify", plan.EffectKeyed, `{"type":"object","required":["to","text"],"additionalProperties":false,"properties":{
		"to":{"type":"string"},"text":{"type":"string"}}}`, `{"type":"object","properties":{},"additionalProperties":false}`)
	f.add("core.read", plan.EffectRead, `{"type":"object","required":["blob","as"],"additionalProperties":false,"properties":{
		"blob":{"type":"object","x-flowrun-blob":true},"as":{"type":"string","enum":["text","lines","json","json_lines","csv"]},
		"answer":{"anyOf":[{"type":"object"},{"type":"string","format":"project-file"}]},"encoding":{"type":"string","enum":["utf-8","utf-16","latin-1","windows-1252"],"default":"utf-8"},
		"max_bytes":{"type":"integer","minimum":1,"maximum":4194304,"default":1048576},"columns":{"type":"array","items":{"type":"string"},"minItems":1},
		"delimiter":{"type":"string","minLength":1,"maxLength":1,"default":","}}}`,
		`{"type":"object","properties":{"text":{"type":"string"},"json":{},"items":{"type":"array"}},"additionalProperties":false}`)
	f.actions["core.read"].Paging = &plan.Paging{ItemsField: "items", Identity: plan.IdentityNone}
	f.add("core.fail", plan.EffectRead, `{"type":"object","required":["message"],"additionalProperties":false,"properties":{
		"message":{"type":"string"},"kind":{"type":"string","enum":["internal","denied","invalid"],"default":"internal"}}}`,
		`{"type":"object","properties":{},"additionalProperties":false}`)
}

// NotifyTargets has one target where there is a project file.
func (f *fakeCatalog) NotifyTargets() []string {
	if f.connections == nil {
		return nil
	}
	return []string{"ops"}
}

// Workflow knows ./lib/double.yaml, and faults for some others.
func (f *fakeCatalog) Workflow(_ context.Context, path string) (string, *plan.Workflow, *WorkflowFault) {
	switch path {
	case "./lib/double.yaml":
		return "lib/double.yaml", &plan.Workflow{
			Name:         "double",
			Inputs:       json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"note":{"type":"string","default":""}},"required":["n"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"twice":{"type":"integer"},"at":{"type":"string","format":"date-time"}},"required":["twice","at"],"additionalProperties":false}`),
		}, nil
	case "./lib/circle.yaml":
		return "", nil, &WorkflowFault{Code: CodeWorkflowCycle, Message: "workflows call each other in a circle"}
	case "./lib/deep.yaml":
		return "", nil, &WorkflowFault{Code: CodeWorkflowDepth, Message: "too deep"}
	case "./lib/broken.yaml":
		return "", nil, &WorkflowFault{Code: CodeWorkflowBroken, Message: "`./lib/broken.yaml` has 1 error"}
	}
	return "", nil, &WorkflowFault{Code: CodeWorkflowFile, Message: "there is no file `" + path + "`"}
}

func TestAFormIsTheTypeOfTheOutputs(t *testing.T) {
	workflow, problems := checkText(fake(), "x.yaml", `flowrun: v1
steps:
  - id: ask
    uses: core.approve
    with:
      message: go?
      form: {label: {type: string, default: stale}, count: {type: integer}}
  - id: signal
    uses: core.wait
    with: {signal: paid, match: {id: "${{ steps.ask.outputs.count }}"}, schema: {type: object, required: [id], properties: {id: {type: integer}}}}
  - id: child
    uses: ./lib/double.yaml
    with: {n: "${{ steps.signal.outputs.payload.id }}"}
    timeout: 1h
    on_error: {timeout: continue}
outputs:
  label: ${{ steps.ask.outputs.label }}
  year: ${{ steps.child.outputs?.at?.Year() }}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := []string{
		`{"type":"object","properties":{"label":{"type":"string","default":"stale"},"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`,
		`{"type":"object","properties":{"payload":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}},"required":["payload"],"additionalProperties":false}`,
		``,
	}
	for i, step := range workflow.Steps {
		if diff := cmp.Diff(want[i], string(step.OutputSchema)); diff != "" {
			t.Errorf("step %s: schema of the outputs (-want +got)\n%s", step.ID, diff)
		}
	}
	if got := string(workflow.Steps[0].With.Literal); got != `{"message":"go?"}` {
		t.Errorf("with of the approval: %s", got)
	}
	if child := workflow.Steps[2]; child.Workflow != "lib/double.yaml" || workflow.Workflows["lib/double.yaml"] == nil || child.Timeout.Hours() != 1 {
		t.Errorf("the sub-workflow's step: %+v", child)
	}
	if got, want := string(workflow.OutputSchema), `{"type":"object","properties":{"label":{"type":"string"`; len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("schema of the workflow's outputs: %s", got)
	}
}

func TestOnUnknownIsReadAndPauseToo(t *testing.T) {
	workflow, problems := checkText(fake(), "x.yaml", `flowrun: v1
steps:
  - {id: a, uses: task.add, with: {title: x}, on_unknown: fail, on_error: {not_found: pause, conflict: continue}}
  - {id: b, uses: net.whois, with: {domain: a.b}, on_error: pause}
`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if a := workflow.Steps[0]; a.OnUnknown != "fail" || a.OnError[plan.KindNotFound] != plan.ReactPause {
		t.Errorf("step a: %+v", a)
	}
	if workflow.Steps[1].OnErrorAll != plan.ReactPause {
		t.Errorf("step b: %+v", workflow.Steps[1])
	}
}
