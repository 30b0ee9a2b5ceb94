package boltstore_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// The runs of the fixture.
const (
	fixtureOpen = iota + 1
	fixturePaused
	fixtureClosed
	fixtureLarge // its plan, and an output, lie in blobs
	fixtureHeld  // has the place under `concurrency`
	fixtureQueued
	fixtureRuns
)

// fillFixture writes what testdata/schema1.db.gz holds: at least one row of every
// bucket.
func fillFixture(t *testing.T, s *boltstore.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := 1; n < fixtureRuns; n++ {
		run, content := fixtureRun(n), storetest.PlanBytes()
		if n == fixtureLarge {
			content = largePlan()
		}
		run.PlanHash = storetest.HashOf(content)
		_, err := s.CreateRun(t.Context(), run, content, "request "+run.ID, storetest.Started(n))
		must(err)
		output := `{"ok":true}`
		if n == fixtureLarge {
			output = largeOutput()
		}
		log := runs.Log{At: storetest.Begin(), Level: "info", Step: "step_2", Message: "looked it up"}
		must(storetest.Append(s, run.ID, []*journal.Record{storetest.Completed(2, output), storetest.Completed(3, `{"n":3}`)}, nil, log))
		if n == fixturePaused || n == fixtureClosed {
			must(storetest.Append(s, run.ID, nil, fixtureEnd(n, run)))
		}
	}
	for _, key := range []string{"alpha", "beta", "gamma"} {
		_, err := s.KV().Put("tokens", key, []byte("value of "+key), nil)
		must(err)
	}
	_, err := s.KV().Put("limits", "netinfo", bytes.Repeat([]byte("x"), 300), nil)
	must(err)
	must(s.KV().Delete("tokens", "beta", nil))
	for i, value := range []string{"1", "2"} {
		at := storetest.Begin().Add(time.Duration(i) * time.Minute)
		_, err := s.Change(store.Change{Workflow: "weekly", Name: "total", Value: []byte(value), At: at, By: "ann"})
		must(err)
		_, err = s.Change(store.Change{Workflow: "weekly", Name: "page", Key: runs.CursorPrefix("weekly", "page") + "k", Value: []byte("c" + value), At: at, By: "ann"})
		must(err)
	}
}

// fillTriggers adds what schema 3 keeps of triggers. What a run's end leaves in the
// outbox is there already.
func fillTriggers(t *testing.T, s *boltstore.Store) {
	t.Helper()
	storetest.Start(t, s, fixtureRuns, storetest.Fire("nightly", 1))
	hook := storetest.Fire("hook", 1)
	hook.Kind, hook.By = plan.TriggerWebhook, "ann"
	storetest.Start(t, s, fixtureRuns+1, hook)
	late := []runs.Fire{storetest.Skipped("nightly", 2, runs.SkipLate), storetest.Skipped("nightly", 3, runs.SkipOverlap)}
	err := s.PutFires(late, "weekly", "nightly", func(state *runs.TriggerState) { state.Done, state.Failures = storetest.Slot(3), 2 })
	if err != nil {
		t.Fatal(err)
	}
}

func fixtureRun(n int) *runs.Run {
	run := storetest.Row(n)
	if n%2 == 0 {
		run.Labels = map[string]string{"team": "web", "tier": "2"}
	}
	if n == fixtureHeld || n == fixtureQueued {
		run.Slot = &runs.Slot{Key: "weekly", Limit: 1, State: runs.SlotQueued}
	}
	return run
}

func fixtureEnd(n int, run *runs.Run) *runs.Run {
	ended := *run
	ended.Status, ended.Paused = runs.RunPaused, runs.PausedError
	if n == fixtureClosed {
		at := storetest.Begin().Add(time.Hour)
		ended.Status, ended.Paused, ended.FinishedAt, ended.Closed = runs.RunSucceeded, "", &at, true
	}
	return &ended
}

func largePlan() []byte {
	return []byte(`{"format":1,"name":"large","text":"` + strings.Repeat("plan ", 20_000) + `"}`)
}

func largeOutput() string {
	encoded, _ := json.Marshal(map[string]string{"text": strings.Repeat("output ", 12_000)})
	return string(encoded)
}
