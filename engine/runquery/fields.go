package runquery

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// runField is a field of a run's row as a query reads it: under the name that it
// has in JSON, and null where JSON leaves it out.
type runField struct {
	name  string
	typ   *schema.Type
	value func(row *runs.Run) any
}

// runScope is what a query sees.
func runScope() *eval.Scope {
	scope := eval.NewScope()
	for _, field := range runFields() {
		scope = scope.With(field.name, field.typ)
	}
	return scope
}

// runFields returns every field of a run's row.
func runFields() []runField {
	text, moment, integer, boolean := schema.Of(schema.String), schema.Of(schema.Time), schema.Of(schema.Int), schema.Of(schema.Bool)
	maybe := schema.Nullable(text)
	return []runField{
		{"id", text, func(r *runs.Run) any { return r.ID }},
		{"workflow", text, func(r *runs.Run) any { return r.Workflow }},
		{"status", namesOf(runs.Statuses()...), func(r *runs.Run) any { return string(r.Status) }},
		{"paused", schema.Nullable(namesOf(runs.PausedReasons()...)), func(r *runs.Run) any { return textOrNull(r.Paused) }},
		{"attempt", integer, func(r *runs.Run) any { return r.Attempt }},
		{"trigger", text, func(r *runs.Run) any { return r.Trigger }},
		{"labels", schema.MapOf(text), func(r *runs.Run) any { return labelsOf(r) }},
		{"rerun_of", maybe, func(r *runs.Run) any { return textOrNull(r.RerunOf) }},
		{"rerun_from", maybe, func(r *runs.Run) any { return textOrNull(r.RerunFrom) }},
		{"edited_inputs", schema.ListOf(text), func(r *runs.Run) any { return texts(r.Edited) }},
		{"scheduled_at", moment, func(r *runs.Run) any { return schema.FixZone(r.ScheduledAt) }},
		{"started_at", moment, func(r *runs.Run) any { return schema.FixZone(r.StartedAt) }},
		{"finished_at", schema.Nullable(moment), func(r *runs.Run) any { return orNull(r.FinishedAt, timeValue) }},
		{"duration_ms", integer, func(r *runs.Run) any { return int(r.DurationMS) }},
		{"error", schema.Nullable(errorType()), func(r *runs.Run) any { return orNull(r.Error, errorValue) }},
		{"plan_hash", maybe, func(r *runs.Run) any { return textOrNull(r.PlanHash) }},
		{"latest_plan_hash", maybe, func(r *runs.Run) any { return textOrNull(r.LatestPlan) }},
		{"concurrency", schema.Nullable(slotType()), func(r *runs.Run) any { return orNull(r.Slot, slotValue) }},
		{"closed", boolean, func(r *runs.Run) any { return r.Closed }},
		{"parent", schema.Nullable(parentType()), func(r *runs.Run) any { return orNull(r.Parent, parentValue) }},
		{"fire", schema.Nullable(fireType()), func(r *runs.Run) any { return orNull(r.Fire, fireValue) }},
		{"asks", integer, func(r *runs.Run) any { return r.Asks }},
		{"undriven", boolean, func(r *runs.Run) any { return r.Undriven }},
	}
}

func namesOf[T ~string](values ...T) *schema.Type {
	return schema.EnumOf(diag.Words(values...)...)
}

func errorType() *schema.Type {
	text, integer := schema.Of(schema.String), schema.Of(schema.Int)
	return schema.ObjectOf(
		schema.Required("kind", namesOf(plan.ErrorKinds()...)), schema.Optional("action", text), schema.Optional("step", text),
		schema.Required("attempt", integer), schema.Required("message", text), schema.Optional("reason", text),
		schema.Optional("http_status", integer),
		schema.Optional("applied", namesOf(runs.AppliedUnknown, runs.NotApplied, runs.AppliedFully, runs.AppliedPartly)),
		schema.Optional("pointer", text), schema.Required("retry_after_s", schema.Of(schema.Number)),
		schema.Optional("hint", text), schema.Optional("limiter", text), schema.Optional("details", schema.Of(schema.Any)),
	)
}

func errorValue(e *runs.Error) any {
	value := map[string]any{
		"kind": string(e.Kind), "action": textOrNull(e.Action), "step": textOrNull(e.Step), "attempt": e.Attempt, "message": e.Message,
		"reason": textOrNull(e.Reason), "http_status": nil, "applied": textOrNull(string(e.Applied)), "pointer": textOrNull(e.Pointer),
		"retry_after_s": e.RetryAfterS, "hint": textOrNull(e.Hint.Text), "limiter": textOrNull(e.Limiter), "details": anyJSON(e.Details),
	}
	if e.HTTPStatus != 0 {
		value["http_status"] = e.HTTPStatus
	}
	return value
}

// anyJSON is what an error's details hold; those that can't be read are none.
func anyJSON(data json.RawMessage) any {
	if len(data) == 0 {
		return nil
	}
	value, err := schema.Of(schema.Any).Decode(data)
	if err != nil {
		return nil
	}
	return value
}

func slotType() *schema.Type {
	return schema.ObjectOf(
		schema.Required("key", schema.Of(schema.String)), schema.Required("limit", schema.Of(schema.Int)),
		schema.Optional("state", namesOf(runs.SlotQueued, runs.SlotHeld)),
	)
}

func slotValue(s *runs.Slot) any {
	return map[string]any{"key": s.Key, "limit": s.Limit, "state": textOrNull(string(s.State))}
}

func parentType() *schema.Type {
	text := schema.Of(schema.String)
	return schema.ObjectOf(schema.Required("run", text), schema.Required("step", text), schema.Required("path", text))
}

func parentValue(p *runs.ParentStep) any {
	return map[string]any{"run": p.Run, "step": p.Step, "path": p.Path}
}

func fireType() *schema.Type {
	text, moment := schema.Of(schema.String), schema.Of(schema.Time)
	return schema.ObjectOf(
		schema.Required("workflow", text), schema.Required("trigger", text),
		schema.Required("kind", namesOf(
			plan.TriggerManual, plan.TriggerCron, plan.TriggerEvery, plan.TriggerWebhook, plan.TriggerPoll, plan.TriggerAfter,
		)),
		schema.Required("slot", moment), schema.Required("at", moment), schema.Required("backfill", schema.Of(schema.Bool)),
		schema.Optional("note", text), schema.Optional("by", text), schema.Optional("from", text),
		schema.Required("depth", schema.Of(schema.Int)),
	)
}

func fireValue(f *runs.Fire) any {
	return map[string]any{
		"workflow": f.Workflow, "trigger": f.Trigger, "kind": string(f.Kind), "slot": schema.FixZone(f.Slot), "at": schema.FixZone(f.At),
		"backfill": f.Backfill, "note": textOrNull(f.Note), "by": textOrNull(f.By), "from": textOrNull(f.From), "depth": f.Depth,
	}
}

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// orNull is the value of what a row may lack.
func orNull[T any](part *T, value func(*T) any) any {
	if part == nil {
		return nil
	}
	return value(part)
}

func timeValue(t *time.Time) any { return schema.FixZone(*t) }

func labelsOf(row *runs.Run) map[string]any {
	labels := make(map[string]any, len(row.Labels))
	for name, value := range row.Labels {
		labels[name] = value
	}
	return labels
}

func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}
