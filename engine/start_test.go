package engine

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// checkedText is the checked plan of a text.
func checkedText(t *testing.T, e *Engine, source string) *workspace.Checked {
	t.Helper()
	found, problems := e.project.CheckedIn(t.Context(), "x.yaml", "", []byte(source))
	if found == nil {
		t.Fatal(problems)
	}
	return found
}

func cronFire(slot time.Time) *runs.Fire {
	return &runs.Fire{Workflow: "hello", Trigger: "nightly", Kind: plan.TriggerCron, Slot: slot, At: slot.Add(time.Second)}
}

func TestP10AStartTellsAFiredSlotFromANewOne(t *testing.T) {
	var told []runs.Fire
	e := stateProject(t, time.Now, nil)
	e.config.Observer = &runs.Observer{Fire: func(f *runs.Fire) { told = append(told, *f) }}
	checked := checkedText(t, e, helloWorkflow)
	slot := time.Date(2026, 3, 2, 8, 0, 0, 0, time.FixedZone("CET", 3600))
	options := startOptions{Start: trigger.Start{Trigger: "nightly", Kind: plan.TriggerCron, ScheduledAt: slot, Fire: cronFire(slot)}}
	started, existing, err := e.begin(t.Context(), checked, json.RawMessage(`{}`), options)
	if err != nil || existing != "" {
		t.Fatal(existing, err)
	}
	id := started.ID
	again, existing, err := e.begin(t.Context(), checked, json.RawMessage(`{}`), options)
	if err != nil || again != nil || existing != id {
		t.Errorf("the same slot: %+v, %s, %v", again, existing, err)
	}
	row, err := e.store.Run(id)
	if err != nil || row.Trigger != "nightly" || row.Fire == nil || row.Fire.Run != id || !row.Fire.Slot.Equal(slot) || row.Fire.Slot.Location() != time.UTC {
		t.Errorf("row %+v, fire %+v, %v", row, row.Fire, err)
	}
	if len(told) != 1 || told[0].Run != id {
		t.Errorf("the observer was told %+v", told)
	}
	late := cronFire(slot.Add(time.Hour))
	late.Skipped = runs.SkipLate
	if err := e.store.PutFires([]runs.Fire{*late}, "hello", "nightly", nil); err != nil {
		t.Fatal(err)
	}
	options.Fire = cronFire(slot.Add(time.Hour))
	if _, _, err := e.begin(t.Context(), checked, json.RawMessage(`{}`), options); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a skipped slot: %v", err)
	}
	if rows, _, err := e.List(t.Context(), runs.Filter{}); err != nil || len(rows) != 1 {
		t.Errorf("%d runs, %v", len(rows), err)
	}
}

func TestWhoAskedForARunStandsInItsFirstEvent(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	run, problems, err := e.Start(t.Context(), StartRequest{File: "hello.yaml", Source: []byte(helloWorkflow), By: "ann"})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	records, err := e.store.Records(run.ID, 1, 1)
	if err != nil || records[0].Event.Kind != journal.Started || records[0].Event.By != "ann" {
		t.Errorf("first event %+v, %v", records[0].Event, err)
	}
}

// A rerun works on what the old run was started for: the same slot, the same item.
// It is no fire.
func TestARerunSeesTheTriggerOfTheOldRun(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	checked := checkedText(t, e, "flowrun: v1\nname: hello\nsteps:\n  - {id: say, uses: core.log, with: {text: hi}}\noutputs:\n  name: ${{ trigger.name }}\n  kind: ${{ trigger.kind }}\n  slot: ${{ run.scheduled_at }}\n")
	slot := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	item, err := interp.EncodeValue(map[string]any{"id": 7})
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := e.begin(t.Context(), checked, json.RawMessage(`{}`), startOptions{Start: trigger.Start{
		Trigger: "nightly", Kind: plan.TriggerCron, At: slot, ScheduledAt: slot, Item: item, Fire: cronFire(slot),
	}})
	if err != nil {
		t.Fatal(err)
	}
	id := first.ID
	old := ended(t, e, id)
	row, _, err := e.Rerun(t.Context(), id, RerunRequest{By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	result := ended(t, e, row.ID)
	for name, want := range old.Outputs {
		if string(result.Outputs[name]) != string(want) {
			t.Errorf("output %s is %s, was %s", name, result.Outputs[name], want)
		}
	}
	if row.Fire != nil || row.RerunOf != id || row.Trigger != "nightly" || !row.ScheduledAt.Equal(slot) {
		t.Errorf("row %+v", row)
	}
	records, err := e.store.Records(row.ID, 1, 1)
	if start := records[0].Event.Start; err != nil || string(start.TriggerItem) != string(item) || start.TriggerKind != plan.TriggerCron {
		t.Errorf("start %+v, %v", start, err)
	}
	by := runHello(t, e)
	row, _, err = e.Rerun(t.Context(), by, RerunRequest{})
	if err != nil || row.Trigger != "manual" || row.ScheduledAt.Before(row.StartedAt) {
		t.Errorf("the rerun of a run by hand: %+v, %v", row, err)
	}
}
