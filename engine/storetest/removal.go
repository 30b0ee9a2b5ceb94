package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// aRemovedRunIsGone with all that belongs to it; what another run needs stays.
func aRemovedRunIsGone(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	shared := []*journal.Record{Completed(2, string(Large("shared"))), Completed(3, string(Large("shared")))}
	for n := 1; n <= 2; n++ {
		run := Row(n)
		run.Slot = &runs.Slot{Key: "k", Limit: 1, State: runs.SlotQueued}
		if _, err := s.CreateRun(t.Context(), run, PlanBytes(), "request "+run.ID, Started(n)); err != nil {
			t.Fatal(err)
		}
		if err := Append(s, run.ID, shared, nil, line("a", 1)); err != nil {
			t.Fatal(err)
		}
	}
	alone := Row(3)
	alone.PlanHash = ""
	if _, err := s.CreateRun(t.Context(), alone, Large("its own plan"), "", Started(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRun(ID(1)); !errors.Is(err, store.ErrRunOpen) {
		t.Errorf("a run that goes on: %v", err)
	}
	for _, n := range []int{1, 3} {
		run, err := s.Run(ID(n))
		if err != nil {
			t.Fatal(err)
		}
		if err := Append(s, ID(n), nil, Closed(*run)); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRun(ID(n)); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRun(ID(n)); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("a second time: %v", err)
		}
	}
	b.shut(t, s, dir)
	s = b.open(t, dir)
	for name, err := range map[string]error{
		"row":     second(s.Run(ID(1))),
		"records": second(s.Records(ID(1), 0, 0)),
		"log":     second(s.LogPage(ID(1), store.LogQuery{})),
	} {
		if !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("its %s: %v", name, err)
		}
	}
	if _, err := s.Plan(HashOf(Large("its own plan"))); !errors.Is(err, store.ErrPlanNotFound) {
		t.Errorf("a plan that nobody needs: %v", err)
	}
	if run, err := s.Requested("request " + ID(1)); err != nil || run != "" {
		t.Errorf("its request names %q, %v", run, err)
	}
	if held, queued, err := s.SlotRuns("k"); err != nil || len(held) != 0 || len(queued) != 1 {
		t.Errorf("places: held %v, queued %v, %v", held, queued, err)
	}
	if _, err := s.Plan(PlanHash()); err != nil {
		t.Errorf("the other run's plan: %v", err)
	}
	if records, err := s.Records(ID(2), 2, 0); err != nil || !reflect.DeepEqual(shared, records) {
		t.Errorf("the other run's large values: %d records, %v", len(records), err)
	}
	if run, err := s.Requested("request " + ID(2)); err != nil || run != ID(2) {
		t.Errorf("the other run's request names %q, %v", run, err)
	}
	if census, err := s.Census(); err != nil || census.Oldest != ID(2) || Diff(map[runs.Status]int{runs.RunQueued: 1}, census.Runs) != "" {
		t.Errorf("census %+v, %v", census, err)
	}
}

// whoTakesTheRoomIsTold by run and by plugin.
func whoTakesTheRoomIsTold(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	Create(t, s, Row(2), 2)
	// The call of step_3 stands in record 2, its answer is record 3.
	if err := Append(s, ID(1), []*journal.Record{Completed(2, `1`), Completed(3, string(Large("answer")))}, nil, line("step_3", 1), line("", 2)); err != nil {
		t.Fatal(err)
	}
	by, err := s.PluginBytes(ID(1))
	if err != nil || by["netinfo"] < largeValue || by["netinfo"] > 8*largeValue || by[""] == 0 || len(by) != 2 {
		t.Errorf("by plugin: %v, %v", by, err)
	}
	if _, err := s.PluginBytes(ID(1) + "x"); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("of no run: %v", err)
	}
	var seen []string
	err = s.EachRunUse(func(use store.RunUse) error {
		seen = append(seen, use.Run.ID)
		records, logs, err := s.JournalBytes(use.Run.ID)
		if err != nil || use.Records != records || use.Logs != logs {
			t.Errorf("%+v, and the journal has %d and %d, %v", use, records, logs, err)
		}
		return nil
	})
	if d := Diff([]string{ID(2), ID(1)}, seen); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	stop := errors.New("enough")
	if err := s.EachRunUse(func(store.RunUse) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("after its error: %v", err)
	}
}
