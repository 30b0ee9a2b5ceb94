package check

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
)

func mustPlan(t *testing.T, catalog Catalog, text string) *plan.Workflow {
	t.Helper()
	workflow, problems := checkText(catalog, "w.yaml", text)
	if workflow == nil || len(problems) > 0 {
		t.Fatalf("%v", problems)
	}
	return workflow
}

const planned = `flowrun: v1
timeout: 2h
labels: {team: web}
inputs:
  domain: {type: string}
  n: {type: integer, default: 2}
steps:
  - uses: net.whois
    name: Ask
    with: {domain: a.b, days: 3}
  - id: both
    needs: []
    if: steps.whois.outputs.found
    run_if: any
    let: {x: "n ${{ inputs.n }}", y: "${{ steps.whois.outputs?.found }}"}
  - uses: net.whois
    needs: [both]
    with: {domain: "${{ inputs.domain }}", tags: [a, "${{ inputs.domain }}"]}
    on_error: continue
    timeout: 5s
    within: 1h
    retry: {attempts: 2}
  - foreach: ["a", "b"]
    as: row
    key: ${{ row }}
    on_error: collect
    steps:
      - uses: mail.send
        with: {to: "${{ row }}", password: "${{ secrets.PW }}"}
    collect: ${{ row }}
outputs:
  table: {value: "${{ inputs.domain }}", format: markdown}
finally:
  - uses: core.log
    with: {text: done}
`

func TestPlanOfAnAction(t *testing.T) {
	w := mustPlan(t, fake(), strings.Replace(planned, "steps.whois.outputs.found", "steps.whois.outputs?.found ?? false", 1))
	retry := &plan.Retry{Attempts: 4, Delay: time.Second, Factor: 2, MaxDelay: 30 * time.Second, Jitter: 0.2, On: plan.DefaultRetryKinds()}
	connection := &plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`"net"`)}
	want := plan.Step{
		ID: "whois", Title: "Ask", Kind: plan.StepAction, Pos: plan.Pos{Line: 8, Column: 5}, RunIf: plan.RunIfOK,
		Timeout: 30 * time.Second, Uses: "net.whois", Connection: connection, Retry: retry,
		With: plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{"days":3,"domain":"a.b"}`)},
	}
	if diff := cmp.Diff(want, w.Steps[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	again := *retry
	again.Attempts, again.Explicit = 2, true
	want = plan.Step{
		ID: "_3", Kind: plan.StepAction, Pos: plan.Pos{Line: 16, Column: 5}, RunIf: plan.RunIfOK, Needs: []string{"both"},
		Timeout: 5 * time.Second, Within: time.Hour, Uses: "net.whois", Connection: connection, Retry: &again, OnErrorAll: plan.ReactContinue,
		With: plan.Value{Kind: plan.ValueObject, Object: []plan.Binding{
			{Name: "domain", Value: expr("inputs.domain", 18, 25)},
			{Name: "tags", Value: plan.Value{Kind: plan.ValueList, List: []plan.Value{
				{Kind: plan.ValueLiteral, Literal: json.RawMessage(`"a"`)}, expr("inputs.domain", 18, 59),
			}}},
		}},
	}
	if diff := cmp.Diff(want, w.Steps[2]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func expr(source string, line, column int) plan.Value {
	return plan.Value{Kind: plan.ValueExpr, Expr: &plan.Expr{Source: source, Pos: plan.Pos{Line: line, Column: column}}}
}

func TestPlanOfLetLoopAndHead(t *testing.T) {
	w := mustPlan(t, fake(), strings.Replace(planned, "steps.whois.outputs.found", "steps.whois.outputs?.found ?? false", 1))
	let := w.Steps[1]
	if diff := cmp.Diff([]string{"whois"}, let.Reads); diff != "" || len(let.Needs) > 0 || let.RunIf != plan.RunIfAny || let.If == nil {
		t.Errorf("let: needs %v reads %v run_if %v if %v", let.Needs, let.Reads, let.RunIf, let.If)
	}
	wantText := []plan.TextPart{{Text: "n "}, {Expr: &plan.Expr{Source: "inputs.n", Pos: plan.Pos{Line: 15, Column: 21}}}}
	if diff := cmp.Diff(wantText, let.Let[0].Value.Text); diff != "" {
		t.Errorf("text (-want +got)\n%s", diff)
	}
	loop := w.Steps[3]
	if diff := cmp.Diff([]string{"_3"}, loop.Needs); diff != "" {
		t.Errorf("needs (-want +got)\n%s", diff)
	}
	inner := loop.Loop.Steps[0]
	collect := expr("row", 30, 18)
	loop.Loop.Steps = nil
	want := &plan.Loop{
		Foreach: plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`["a","b"]`)}, As: "row",
		Key: &plan.Expr{Source: "row", Pos: plan.Pos{Line: 25, Column: 14}}, MaxParallel: 16, Collecting: true, Collect: &collect,
	}
	if diff := cmp.Diff(want, loop.Loop); diff != "" {
		t.Errorf("loop (-want +got)\n%s", diff)
	}
	if inner.ID != "send" || inner.Timeout != time.Minute || inner.With.Object[1].Value.Secret != "PW" {
		t.Errorf("inner step %+v", inner)
	}
	if f := w.Finally[0]; f.Timeout != 5*time.Minute || f.Connection != nil || f.Retry != nil || f.ID != "log" {
		t.Errorf("finally %+v", f)
	}
	const inputs = `{"type":"object","properties":{"domain":{"type":"string"},"n":{"type":"integer","default":2}},"required":["domain"],"additionalProperties":false}`
	if diff := cmp.Diff(inputs, string(w.Inputs)); diff != "" {
		t.Errorf("inputs (-want +got)\n%s", diff)
	}
	if w.Name != "w" || w.Timeout != 2*time.Hour || w.Labels["team"] != "web" || w.Source == "" || len(w.Actions) != 3 || w.Outputs[0].Format != "markdown" {
		t.Errorf("head %s %v %v %d actions", w.Name, w.Timeout, w.Labels, len(w.Actions))
	}
}

// The plugin is asked about what is known, with the places of what is not.
func TestWhatThePluginIsAsked(t *testing.T) {
	catalog := fake()
	mustPlan(t, catalog, strings.Replace(planned, "steps.whois.outputs.found", "steps.whois.outputs?.found ?? false", 1))
	var net []question
	for _, q := range catalog.asked {
		if q.action == "net.whois" {
			net = append(net, q)
		}
	}
	want := []question{
		{"net.whois", `{"days":3,"domain":"a.b"}`, nil},
		{"net.whois", `{"tags":["a",null]}`, []string{"/domain", "/tags/1"}},
	}
	if diff := cmp.Diff(want, net, cmp.AllowUnexported(question{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNarrowedOutputIsKept(t *testing.T) {
	w := mustPlan(t, fake(), "flowrun: v1\nsteps:\n  - uses: net.dns\n    with: {domain: a.b, type: MX}\n")
	if !strings.Contains(string(w.Steps[0].OutputSchema), "hosts") {
		t.Errorf("output schema %s", w.Steps[0].OutputSchema)
	}
}
