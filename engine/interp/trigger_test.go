package interp_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// triggerOutputs runs a workflow that reads its trigger, and returns its outputs.
func triggerOutputs(t *testing.T, start journal.Start, expressions map[string]string) map[string]string {
	t.Helper()
	w := enginetest.Workflow()
	for name, source := range expressions {
		w = enginetest.Output(w, name, "${{ "+source+" }}")
	}
	start.RunID, start.Inputs, start.Interpreter = enginetest.RunID, json.RawMessage(`{}`), interp.Version
	m := newMachine(t, w)
	apply(t, m, journal.Event{Kind: journal.Started, Start: &start})
	if failure := m.Error(); failure != nil {
		t.Fatal(failure)
	}
	got := map[string]string{}
	for name, value := range m.Outputs() {
		got[name] = string(value)
	}
	return got
}

func encodeValue(t *testing.T, value any) json.RawMessage {
	t.Helper()
	encoded, err := interp.EncodeValue(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestARunSeesItsTrigger(t *testing.T) {
	slot := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	due := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	item := map[string]any{"id": 9007199254740993, "due": due, "share": 1.0, "tags": []any{"a", nil}}
	reads := map[string]string{
		"name": "trigger.name", "kind": "trigger.kind", "at": "trigger.at", "run": "run.trigger", "slot": "run.scheduled_at",
		"item": "trigger.item?.id", "outputs": "trigger.outputs?.n",
	}
	for name, test := range map[string]struct {
		start journal.Start
		want  map[string]string
	}{
		"by hand": {
			journal.Start{Trigger: "manual", ScheduledAt: slot},
			map[string]string{"name": `"manual"`, "kind": `"manual"`, "at": `"2026-03-02T08:00:00Z"`, "run": `"manual"`, "slot": `"2026-03-02T08:00:00Z"`, "item": "null", "outputs": "null"},
		},
		"a schedule": {
			journal.Start{Trigger: "nightly", TriggerKind: plan.TriggerCron, TriggerAt: slot, ScheduledAt: slot},
			map[string]string{"name": `"nightly"`, "kind": `"cron"`, "at": `"2026-03-02T08:00:00Z"`, "run": `"nightly"`, "slot": `"2026-03-02T08:00:00Z"`, "item": "null", "outputs": "null"},
		},
		"a poll": {
			journal.Start{Trigger: "new", TriggerKind: plan.TriggerPoll, TriggerAt: slot, ScheduledAt: due, TriggerItem: encodeValue(t, item)},
			map[string]string{"name": `"new"`, "kind": `"poll"`, "at": `"2026-03-02T08:00:00Z"`, "run": `"new"`, "slot": `"2026-03-04T00:00:00Z"`, "item": "9007199254740993", "outputs": "null"},
		},
		"another workflow": {
			journal.Start{Trigger: "behind", TriggerKind: plan.TriggerAfter, ScheduledAt: slot, TriggerOutputs: encodeValue(t, map[string]any{"n": 7})},
			map[string]string{"name": `"behind"`, "kind": `"after"`, "at": `"2026-03-02T08:00:00Z"`, "run": `"behind"`, "slot": `"2026-03-02T08:00:00Z"`, "item": "null", "outputs": "7"},
		},
	} {
		if diff := cmp.Diff(test.want, triggerOutputs(t, test.start, reads)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What a poll has brought keeps its types: a time can be counted with, a float
// stays one.
func TestWhatATriggerBringsKeepsItsTypes(t *testing.T) {
	item := map[string]any{"due": time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), "share": 1.0, "$odd": map[string]any{"$t": "text"}}
	start := journal.Start{Trigger: "new", TriggerKind: plan.TriggerPoll, TriggerItem: encodeValue(t, item)}
	got := triggerOutputs(t, start, map[string]string{
		"next": "addTime(trigger.item.due, '1d')", "share": "trigger.item.share / 4", "odd": `trigger.item["$odd"]["$t"]`,
	})
	want := map[string]string{"next": `"2026-03-05T00:00:00Z"`, "share": "0.25", "odd": `"text"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAValueIsReadBackAsItWas(t *testing.T) {
	for _, value := range []any{nil, true, 7, 1.5, "text", []any{1, nil, "a"}, map[string]any{"a": map[string]any{"$d": 1}}, time.Minute} {
		back, err := interp.DecodeValue(encodeValue(t, value))
		if diff := cmp.Diff(value, back); err != nil || diff != "" {
			t.Errorf("%v: %v, %v", value, back, err)
		}
	}
	if _, err := interp.EncodeValue(struct{}{}); err == nil {
		t.Error("a value that no expression gives is written")
	}
	for _, text := range []string{"", "{", `{"$t":1}`, `{"$x":1}`, "1.5"} {
		if value, err := interp.DecodeValue(json.RawMessage(text)); err == nil {
			t.Errorf("%q is read as %v", text, value)
		}
	}
}

func TestATriggerThatCanNotBeReadStartsNothing(t *testing.T) {
	m := newMachine(t, enginetest.Workflow())
	start := &journal.Start{RunID: enginetest.RunID, Interpreter: interp.Version, TriggerItem: json.RawMessage(`{"$t":1}`)}
	if _, err := m.Apply(journal.Event{Kind: journal.Started, At: enginetest.Begin(), Start: start}); err == nil {
		t.Error("the run began")
	}
}
