package simulation

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

func did(path, output string) act {
	return act{event: journal.Event{Kind: journal.Completed, Path: path, Completed: &runs.Completed{Output: json.RawMessage(output)}}}
}

func page(path, output, next string) act {
	a := did(path, output)
	a.event.Completed.NextCursor = next
	return a
}

func refused(path string, kind plan.ErrorKind, applied runs.Applied) act {
	return act{event: failed(path, &runs.Error{Kind: kind, Message: "golden", Applied: applied})}
}

func due(path string, after time.Duration) act {
	return act{after: after, event: journal.Event{Kind: journal.TimerFired, Path: path}}
}

func said(path, name, payload string) act {
	return act{event: journal.Event{Kind: journal.Signaled, Path: path, By: "eve", Signal: &journal.Signal{Name: name, Payload: json.RawMessage(payload)}}}
}

func full(path string) act {
	return act{event: journal.Event{Kind: journal.Limited, Path: path, Failed: &runs.Error{Kind: plan.KindInvalid, Reason: quota.ReasonLimit, Message: "golden"}}}
}

func person(kind journal.EventKind) act {
	ev := journal.Event{Kind: kind, By: "eve"}
	if kind == journal.CancelRun {
		ev.Cancel = &journal.Cancel{}
	}
	return act{event: ev}
}

func resolved(path, outcome, output string) act {
	return act{event: journal.Event{Kind: journal.Resolved, Path: path, By: "eve", Resolution: &journal.Resolution{Outcome: outcome, Output: json.RawMessage(output)}}}
}

func childDid(path, run, outputs string) act {
	return act{event: journal.Event{Kind: journal.ChildEnded, Path: path, Child: &journal.Child{RunID: run, Attempt: 1, Outputs: json.RawMessage(outputs)}}}
}

func childFailed(path, run, paused string) act {
	return act{event: journal.Event{Kind: journal.ChildEnded, Path: path, Child: &journal.Child{
		RunID: run, Attempt: 1, Paused: paused, Failed: &runs.Error{Kind: plan.KindNotFound, Message: "golden"},
	}}}
}

// goldens are the features that the histories of engine/interp do not show yet,
// each once.
func goldens() []golden {
	return append(goldenCalls(), goldenOrder()...)
}

func goldenCalls() []golden {
	const send = "steps:\n  - id: a\n    uses: svc.send\n"
	return []golden{
		{"on_unknown retry sends once more", send + "    on_unknown: retry\n    retry: {attempts: 3, delay: 1s, jitter: 0}\n", []act{
			refused("a", plan.KindTimeout, runs.AppliedUnknown), due("a!retry2", time.Second), did("a", `{"value":1}`),
		}},
		{"on_unknown fail ends the step", send + "    on_unknown: fail\n    on_error: {unknown_outcome: continue}\noutputs: {kind: '${{ steps.a?.error?.kind ?? \"\" }}'}\n", []act{
			refused("a", plan.KindCrashed, ""),
		}},
		{"a resolution says happened", send + "outputs: {v: '${{ steps.a.outputs.value }}'}\n", []act{
			refused("a", plan.KindTimeout, ""), resolved("a", "happened", `{"value":5}`),
		}},
		{"a resolution says skip", send + "outputs: {v: '${{ steps.a?.outputs?.value ?? 0 }}'}\n", []act{
			refused("a", plan.KindTimeout, ""), resolved("a", "skip", ""),
		}},
		{"a once call is sent again where it was certainly not applied", send, []act{
			refused("a", plan.KindUnavailable, runs.NotApplied), due("a!retry2", 2*time.Second), did("a", `{"value":1}`),
		}},
		{"a keyed call keeps its path over attempts", "steps:\n  - id: a\n    uses: svc.post\n    with: {n: 4}\n", []act{
			refused("a", plan.KindUnavailable, ""), due("a!retry2", 2*time.Second),
			refused("a", plan.KindCrashed, ""), due("a!retry3", 4*time.Second), did("a", `{"value":1}`),
		}},
		{"a pending answer is asked again with its checkpoint", "steps:\n  - id: a\n    uses: svc.put\n", []act{
			{event: journal.Event{Kind: journal.Pending, Path: "a", Pending: &runs.Pending{RetryAfter: 5 * time.Second, Checkpoint: []byte("job7"), Message: "queued"}}},
			due("a!poll1", 5*time.Second), did("a", `{"value":1}`),
		}},
		{"within ends a step", "steps:\n  - id: a\n    uses: svc.read\n    timeout: 10s\n    within: 20s\n    on_error: {timeout: continue}\n", []act{
			refused("a", plan.KindTimeout, ""), due("a!within", 20*time.Second),
		}},
		{"pages end at max_items", "steps:\n  - id: a\n    uses: svc.list\n    paginate: {max_pages: 9, max_items: 3}\noutputs: {n: '${{ len(steps.a.outputs.items) }}', cut: '${{ steps.a.outputs.truncated }}'}\n", []act{
			page("a", `{"rows":[1,2]}`, "x"), page("a#page2", `{"rows":[3,4]}`, "y"),
		}},
		{"a repeated cursor is an error", "steps:\n  - id: a\n    uses: svc.list\n    paginate: {max_pages: 9}\n", []act{
			page("a", `{"rows":[1]}`, "x"), page("a#page2", `{"rows":[2]}`, "x"),
		}},
		{"a cursor moves with the success", "steps:\n  - id: a\n    uses: svc.feed\n    paginate: {max_pages: 9}\n    incremental: {cursor: f}\n", []act{
			{event: journal.Event{Kind: journal.Completed, Path: "a", Completed: &runs.Completed{
				Output: json.RawMessage(`{"rows":[1]}`), Watermark: []byte("w9"), Cursor: &runs.CursorRead{Key: `["golden","f","x"]`, Version: 3},
			}}},
		}},
		{"pause waits for a resume", "steps:\n  - id: a\n    uses: svc.read\n    on_error: pause\n", []act{
			refused("a", plan.KindNotFound, ""), person(journal.Resumed), did("a", `{"value":1}`),
		}},
		{"auth_required pauses", "steps:\n  - id: a\n    uses: svc.read\n", []act{refused("a", plan.KindAuthRequired, "")}},
		{"a canceled effect without an answer is unknown", "steps:\n  - id: a\n    uses: svc.post\nfinally:\n  - uses: core.log\n    with: {text: 'it is ${{ run.status }}'}\n", []act{
			person(journal.CancelRun), due("!grace", 10*time.Second),
		}},
		{"a sub-workflow gives its outputs", "steps:\n  - id: a\n    uses: ./child.yaml\n    with: {n: 2}\noutputs: {v: '${{ steps.a.outputs.out }}'}\n", []act{
			childDid("a", "01x", `{"out":4}`),
		}},
		{"a sub-workflow fails its step", "steps:\n  - id: a\n    uses: ./child.yaml\n    timeout: 1m\n", []act{childFailed("a", "01x", "")}},
		{"a paused sub-workflow is gone on with", "steps:\n  - id: a\n    uses: ./child.yaml\n", []act{
			childFailed("a", "01x", runs.PausedError), person(journal.Resumed), childDid("a", "01x", `{"out":4}`),
		}},
	}
}

func goldenOrder() []golden {
	return []golden{
		{"a step is skipped by its if", "steps:\n  - id: a\n    if: 1 > 2\n    uses: svc.read\n  - id: b\n    let: {v: '${{ steps.a?.outputs?.value ?? 7 }}'}\noutputs: {v: '${{ steps.b.outputs.v }}'}\n", nil},
		{"run_if any follows what failed", "steps:\n  - id: a\n    uses: core.fail\n    with: {message: no, kind: conflict}\n  - id: b\n    uses: svc.read\n  - id: c\n    needs: [b]\n    run_if: any\n    let: {s: '${{ steps.b?.status ?? \"\" }}'}\n", nil},
		{"an assertion fails and is passed over", "steps:\n  - id: a\n    uses: core.assert\n    with: {that: false, message: no}\n    on_error: {invalid: continue}\n  - uses: core.log\n    with: {text: 'on ${{ steps.a?.error?.reason ?? \"\" }}', level: warn}\n", nil},
		{"a sleep until a time", "steps:\n  - id: a\n    uses: core.sleep\n    with: {until: 2026-03-02T10:00:00Z}\n  - id: b\n    uses: core.sleep\n    with: {for: 90s}\n    timeout: 30s\n    on_error: {timeout: continue}\n", []act{
			due("a!sleep", 30*time.Minute), due("b!sleep", 30*time.Second),
		}},
		{"an early signal is taken by its step", "steps:\n  - id: a\n    uses: svc.read\n  - id: b\n    uses: core.wait\n    with: {signal: go, schema: {type: object, required: [v], properties: {v: {type: integer}}}, match: {v: 2}}\noutputs: {v: '${{ steps.b.outputs.payload.v }}'}\n", []act{
			said("", "go", `{"v":1}`), said("", "go", `{"v":2}`), did("a", `{"value":1}`),
		}},
		{"a wait times out", "steps:\n  - id: a\n    uses: core.wait\n    with: {signal: go}\n    timeout: 1m\n    on_error: {timeout: continue}\n", []act{due("a!timeout", time.Minute)}},
		{"state is written with the success", "state: {total: {type: integer, default: 0}}\nsteps:\n  - id: a\n    uses: svc.read\n  - set_state: {total: '${{ state.total + steps.a.outputs.value }}'}\n", []act{did("a", `{"value":1}`)}},
		{"a moved state fails the run, and a resume discards", "state: {total: {type: integer, default: 0}}\nsteps:\n  - id: a\n    uses: svc.read\n  - set_state: {total: '${{ state.total + 1 }}'}\n  - id: b\n    uses: svc.read\n", []act{
			did("a", `{"value":1}`),
			{event: journal.Event{Kind: journal.Moved, Failed: &runs.Error{Kind: plan.KindConflict, Reason: "moved", Message: "golden"}}},
			did("b", `{"value":1}`),
			{event: journal.Event{Kind: journal.Resumed, By: "eve", Discard: true}},
		}},
		{"a loop stops at its first failure", "steps:\n  - id: l\n    foreach: [4, 5, 6]\n    max_parallel: 2\n    steps:\n      - id: a\n        uses: svc.read\n        with: {n: '${{ item }}'}\n", []act{
			refused("l[1].a", plan.KindNotFound, ""), did("l[0].a", `{"value":1}`),
		}},
		{"keys are escaped in paths", "steps:\n  - id: l\n    foreach: '${{ cross([\"a/b\", \"[c]#\"], [1]) }}'\n    as: p\n    key: '${{ p[0] }}'\n    max_parallel: 4\n    collect: '${{ steps.a.outputs.value + index }}'\n    steps:\n      - id: a\n        uses: svc.read\noutputs: {all: '${{ steps.l.outputs.items }}'}\n", []act{
			did("l[%5Bc%5D%23].a", `{"value":5}`), did("l[a/b].a", `{"value":6}`),
		}},
		{"a repeated key fails the loop", "steps:\n  - id: l\n    foreach: [1, 1]\n    key: ${{ string(item) }}\n    steps:\n      - uses: svc.read\n", nil},
		{"an expression fails its step", "steps:\n  - id: a\n    let: {i: 3, v: '${{ [1][i] }}'}\n", nil},
		{"on_success runs before finally", "steps:\n  - id: a\n    let: {v: 1}\non_success:\n  - id: s\n    uses: svc.post\nfinally:\n  - uses: core.log\n    with: {text: '${{ run.status }} ${{ steps.a?.outputs?.v ?? 0 }}'}\n", []act{
			refused("on_success:s", plan.KindNotFound, ""),
		}},
		{"handlers run again after a resume", "steps:\n  - id: a\n    uses: svc.read\non_failure:\n  - id: s\n    uses: svc.post\nfinally:\n  - uses: core.log\n    with: {text: bye}\n", []act{
			refused("a", plan.KindNotFound, ""), did("on_failure:s", `{"value":1}`), person(journal.Resumed),
			refused("a", plan.KindForbidden, ""), did("on_failure@2:s", `{"value":1}`),
		}},
		{"a full journal fails the step that would go on", "steps:\n  - id: a\n    uses: svc.read\n  - id: b\n    needs: []\n    uses: svc.send\nfinally:\n  - uses: core.log\n    with: {text: '${{ run.status }} ${{ error?.reason ?? \"\" }}'}\n", []act{
			refused("a", plan.KindUnavailable, ""), full("a!retry2"), due("!grace", 10*time.Second),
		}},
		{"a full journal cuts its handlers", "steps:\n  - id: a\n    uses: svc.read\non_failure:\n  - id: s\n    uses: svc.post\nfinally:\n  - uses: core.log\n    with: {text: bye}\n", []act{
			refused("a", plan.KindNotFound, ""), full(""),
		}},
		{"text and times in values", "steps:\n  - id: a\n    uses: core.log\n    with: {text: 'at ${{ run.scheduled_at }} and ${{ formatTime(run.scheduled_at, \"15:04\", \"Europe/Berlin\") }}'}\noutputs:\n  t: {value: '${{ mdTable([{\"a\": 1}, {\"a\": 2}]) }}', format: markdown}\n", nil},
	}
}
