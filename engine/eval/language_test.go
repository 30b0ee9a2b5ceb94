package eval

import (
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
)

// TestTheExampleOfTheLanguageChecks has the expressions of the annotated
// example in the language's contract, with the types that they must have.
func TestTheExampleOfTheLanguageChecks(t *testing.T) {
	step := func(outputs string) *schema.Type {
		return schema.ObjectOf(
			schema.Required("status", schema.EnumOf("succeeded", "failed", "skipped")),
			schema.Required("outputs", schema.MustFromJSON(outputs)),
			schema.Required("error", schema.Nullable(schema.ObjectOf(schema.Required("kind", schema.Of(schema.String)), schema.Required("message", schema.Of(schema.String))))),
			schema.Required("attempts", schema.Of(schema.Int)))
	}
	object := func(properties, required string) string {
		return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
	}
	scope := NewScope().
		With("inputs", schema.MustFromJSON(object(`"workspace_id":{"type":"integer"},"site":{"type":"string"},"dry_run":{"type":"boolean"}`, `"workspace_id","site","dry_run"`))).
		With("run", schema.ObjectOf(schema.Required("id", schema.Of(schema.String)), schema.Required("workflow", schema.Of(schema.String)),
			schema.Required("status", schema.EnumOf("running", "succeeded", "failed")), schema.Required("scheduled_at", schema.Of(schema.Time)))).
		With("request", schema.ObjectOf(schema.Required("headers", schema.MapOf(schema.Of(schema.String))), schema.Required("body", schema.MustFromJSON(object(`"site":{"type":"string"}`, `"site"`))))).
		With("error", schema.ObjectOf(schema.Required("step", schema.Of(schema.String)), schema.Required("message", schema.Of(schema.String)))).
		With("row", schema.MustFromJSON(object(`"referrer_hostname":{"type":"string"}`, `"referrer_hostname"`))).
		With("result", schema.MustFromJSON(object(`"total":{"type":"integer"}`, `"total"`))).
		With("steps", schema.ObjectOf(
			schema.Required("range", step(object(`"since":{"type":"string","format":"date-time"}`, `"since"`))),
			schema.Required("completed", step(object(`"items":{"type":"array","items":{}}`, `"items"`))),
			schema.Required("traffic", step(object(`"rows":{"type":"array","items":`+object(`"referrer_hostname":{"type":"string"}`, `"referrer_hostname"`)+`}`, `"rows"`))),
			schema.Required("whois", schema.Nullable(step(object(`"registrar":{"type":["string","null"]}`, ``)))),
			schema.Required("domains", step(object(`"items":{"type":"array","items":`+object(`"host":{"type":"string"},"registrar":{"type":"string"}`, `"host","registrar"`)+`}`, `"items"`))),
			schema.Required("approve", schema.Nullable(step(object(`"label":{"type":"string"}`, ``))))))
	for source, want := range map[string]string{
		`request.headers["x-event-id"] ?? ""`: "text",
		`request.body.site`:                   "text",
		`run.scheduled_at - duration("168h")`: "time",
		`steps.range.outputs.since`:           "time",
		`formatTime(steps.range.outputs.since, "2006-01-02 15:04:05", "Europe/Berlin")`: "text",
		`filter(steps.traffic.outputs.rows, .referrer_hostname != "")`:                  "list of objects",
		`row.referrer_hostname`:                                                                 "text",
		`steps.whois?.outputs?.registrar ?? "unknown"`:                                          "text",
		`result.total < 500`:                                                                    "boolean",
		`len(steps.completed.outputs.items) > 500 and not inputs.dry_run`:                       "boolean",
		`steps.approve?.outputs?.label != nil`:                                                  "boolean",
		`steps.approve?.outputs?.label ?? 'stale'`:                                              "text",
		`len(steps.completed.outputs.items)`:                                                    "integer",
		`mdTable(steps.domains.outputs.items)`:                                                  "text",
		`steps.whois?.error?.kind ?? ""`:                                                        "text",
		`cross(["a", "b"], [1, 2])`:                                                             "list of lists of text or an integer",
		`map(steps.traffic.outputs.rows, {{"n": .referrer_hostname}})`:                          "list of objects",
		`steps.approve?.outputs?.label == "x" and len(steps.approve.outputs.label) > 0 ? 1 : 2`: "integer",
		`error.message + " in " + error.step + " of " + run.workflow + ": " + string(now())`:    "text",
	} {
		x, issues := Parse(source)
		if len(issues) > 0 {
			t.Errorf("%s: %s", source, describe(issues))
			continue
		}
		got, issues := x.Check(scope)
		if len(issues) > 0 || got.String() != want {
			t.Errorf("%s: %s, want %s; %s", source, got, want, describe(issues))
		}
	}
}
