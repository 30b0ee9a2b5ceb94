package engine

import (
	"encoding/json"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// What Start and Wait return without a look into the store is what the store has.
func TestTheRowThatIsReturnedIsTheStoredOne(t *testing.T) {
	slot := time.Date(2026, 3, 2, 8, 0, 0, 0, time.FixedZone("CET", 3600))
	for name, c := range map[string]struct {
		source  string
		options startOptions
		over    bool // by its first record
	}{
		"by hand":       {source: "labels: {team: ops}\nsteps:\n  - {id: say, uses: core.log, with: {text: hi}}\noutputs: {a: 1}\n", over: true},
		"that lasts":    {source: "steps:\n  - {id: later, uses: core.sleep, with: {for: 20ms}}\n"},
		"asked for":     {source: "steps:\n  - {id: later, uses: core.sleep, with: {for: 20ms}}\n", options: startOptions{Start: trigger.Start{RequestID: "r1", By: "ann"}}},
		"of a slot":     {source: "steps: [{let: {a: 1}}]\n", options: startOptions{Start: trigger.Start{Trigger: "nightly", Kind: plan.TriggerCron, At: slot, ScheduledAt: slot, Fire: cronFire(slot)}}, over: true},
		"with a place":  {source: "concurrency: {key: k}\nsteps:\n  - {id: later, uses: core.sleep, with: {for: 20ms}}\n"},
		"that fails":    {source: "steps:\n  - {id: no, uses: core.fail, with: {message: broken}}\n", over: true},
		"that ends bad": {source: "steps:\n  - {id: later, uses: core.sleep, with: {for: 20ms}}\n  - {id: no, uses: core.fail, with: {message: broken}}\nfinally:\n  - {id: say, uses: core.log, with: {text: hi}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := stateProject(t, time.Now, nil)
			checked := checkedText(t, e, "flowrun: v1\nname: hello\n"+c.source)
			row, existing, err := e.begin(t.Context(), checked, json.RawMessage(`{}`), c.options)
			if err != nil || existing != "" {
				t.Fatal(existing, err)
			}
			if row.Closed != c.over {
				t.Errorf("Start returned %s", asJSON(t, row))
			}
			waited, err := e.Wait(t.Context(), row.ID)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := e.store.Run(row.ID)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(&waited.Run, stored) {
				t.Errorf("Wait returned\n%s\nstored is\n%s", asJSON(t, waited.Run), asJSON(t, stored))
			}
			got, err := e.Get(t.Context(), row.ID)
			if err != nil || asJSON(t, got) != asJSON(t, waited) {
				t.Errorf("Wait returned\n%s\nGet\n%s, %v", asJSON(t, waited), asJSON(t, got), err)
			}
			// As it was accepted: what the end has changed, apart.
			ended := *stored
			if !row.Closed {
				ended.Status, ended.Closed, ended.FinishedAt, ended.DurationMS, ended.Error = row.Status, false, nil, 0, nil
				ended.Slot, ended.StartedAt = row.Slot, row.StartedAt
			}
			if !reflect.DeepEqual(row, &ended) {
				t.Errorf("Start returned\n%s\nstored is\n%s", asJSON(t, row), asJSON(t, &ended))
			}
		})
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readsOf counts how often the rows and plans of a store are read.
type readsOf struct {
	store.Store
	rows, plans atomic.Int64
}

func (r *readsOf) Run(id string) (*runs.Run, error) {
	r.rows.Add(1)
	return r.Store.Run(id)
}

func (r *readsOf) Plan(hash string) ([]byte, error) {
	r.plans.Add(1)
	return r.Store.Plan(hash)
}

// Who starts a run and waits for it reads neither its row nor its plan.
func TestARunIsStartedAndWaitedForWithoutReading(t *testing.T) {
	var reads *readsOf
	e := withSecrets(t, t.TempDir(), func(c *workspace.Config) {
		c.ProjectFile = ""
		open := c.OpenStore
		c.OpenStore = func(hooks store.Hooks) (store.Store, error) {
			s, err := open(hooks)
			reads = &readsOf{Store: s}
			return reads, err
		}
	})
	source := []byte("flowrun: v1\nname: hello\nsteps:\n  - {id: later, uses: core.sleep, with: {for: 50ms}}\noutputs: {a: 1}\n")
	row, problems, err := e.Start(t.Context(), StartRequest{File: "hello.yaml", Source: source})
	if err != nil || row == nil {
		t.Fatal(err, problems)
	}
	result, err := e.Wait(t.Context(), row.ID)
	if err != nil || result.Run.Status != runs.RunSucceeded || string(result.Outputs["a"]) != "1" {
		t.Fatalf("%+v, %v", result, err)
	}
	if rows, plans := reads.rows.Load(), reads.plans.Load(); rows+plans != 0 {
		t.Errorf("%d rows and %d plans were read", rows, plans)
	}
	if _, err := e.Get(t.Context(), row.ID); err != nil || reads.rows.Load() == 0 {
		t.Errorf("the rows that are read are not counted, %v", err)
	}
}
