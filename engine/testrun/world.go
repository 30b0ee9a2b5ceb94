package testrun

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// world is what expectations see: values as `run -o json` prints them.
func (d *driver) world() map[string]any {
	status, paused := d.Machine.Status()
	var outputs any
	if messages := d.Machine.Outputs(); messages != nil {
		values := map[string]any{}
		for name, raw := range messages {
			values[name] = decodeJSON(raw)
		}
		outputs = values
	}
	var failure any
	if err := d.Machine.Error(); err != nil {
		failure = errorValue(err)
	}
	state := map[string]any{}
	for name, raw := range d.test.state {
		state[name] = decodeJSON(raw)
	}
	if d.finish != nil {
		for name, raw := range d.finish.State {
			state[name] = decodeJSON(raw)
		}
	}
	cursors := map[string]any{}
	if d.finish != nil {
		for name, watermark := range d.finish.Cursors {
			cursors[name] = string(watermark)
		}
	}
	at := schema.FormatTime(d.test.at.UTC())
	return map[string]any{
		"run": map[string]any{
			"id": runID, "workflow": d.steps.workflow, "status": string(status), "paused": paused, "scheduled_at": at, "started_at": at,
			"finished_at": schema.FormatTime(d.Now), "duration_s": d.Now.Sub(d.test.at).Seconds(), "attempt": d.Machine.Attempt(),
			"trigger": d.test.trigger,
		},
		"inputs": decodeJSON(d.test.inputs), "outputs": outputs, "error": failure, "state": state, "cursors": cursors,
		"steps": d.stepValues(), "calls": d.callValues(), "logs": d.logValues(), "deliveries": d.deliveryValues(),
	}
}

func errorValue(e *runs.Error) map[string]any {
	return map[string]any{
		"kind": string(e.Kind), "action": e.Action, "step": e.Step, "attempt": e.Attempt, "message": e.Message, "reason": e.Reason,
		"http_status": e.HTTPStatus, "applied": string(e.Applied), "pointer": e.Pointer, "hint": e.Hint.Text, "details": decodeJSON(e.Details),
	}
}

func (d *driver) stepValues() map[string]any {
	callCounts := map[string]int{}
	for i := range d.calls {
		callCounts[d.calls[i].command.Step]++
	}
	values := map[string]any{}
	for _, info := range d.steps.list {
		if !info.loop {
			values[info.path] = stepValue(runs.Step{Status: runs.StepPending}, 0) // a handler that did not begin
		}
	}
	for _, x := range d.test.want.that {
		for _, read := range x.parsed.Reads() {
			if len(read.Path) > 1 && read.Path[0] == "steps" { // of an item that did not begin
				values[read.Path[1]] = stepValue(runs.Step{Status: runs.StepPending}, 0)
			}
		}
	}
	for _, view := range d.Machine.Steps() {
		values[view.Path] = stepValue(view, callCounts[view.Path])
	}
	return values
}

func stepValue(view runs.Step, calls int) map[string]any {
	var failure any
	if view.Error != nil {
		failure = errorValue(view.Error)
	}
	return map[string]any{
		"status": string(view.Status), "outputs": decodeJSON(view.Outputs), "error": failure, "attempts": view.Attempts, "calls": calls,
	}
}

func (d *driver) callValues() []any {
	values := make([]any, len(d.calls))
	for i, c := range d.calls {
		values[i] = map[string]any{
			"step": c.command.Step, "action": c.command.Action, "connection": c.command.Connection, "input": inputOf(c.command.Input),
			"attempt": c.command.Attempt, "cursor": c.command.PageCursor, "at": schema.FormatTime(c.at),
			"after_s": c.at.Sub(d.test.at).Seconds(), "answer": c.answer,
		}
	}
	return values
}

func (d *driver) logValues() []any {
	values := make([]any, len(d.logs))
	for i, line := range d.logs {
		values[i] = map[string]any{"level": line.Level, "step": line.Step, "message": line.Message, "at": schema.FormatTime(line.At)}
	}
	return values
}

// show writes a value on one line, as JSON.
func show(value any) string {
	raw, err := schema.Encode(value)
	if err != nil {
		raw = json.RawMessage(`"?"`)
	}
	return clip(string(raw))
}
