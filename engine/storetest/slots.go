package storetest

import (
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

func placesAreGivenInOneTransaction(t *testing.T, b Backend) {
	s := b.fresh(t)
	place := func() *runs.Slot { return &runs.Slot{Key: "k", Limit: 2, State: runs.SlotQueued} }
	var rows []*runs.Run
	for range 4 {
		rows = append(rows, accept(t, s, runRow("w", place(), nil)))
	}
	for i, want := range []runs.Status{runs.RunRunning, runs.RunRunning, runs.RunQueued, runs.RunQueued} {
		if rows[i].Status != want || (rows[i].StateOf() == runs.SlotHeld) != (want == runs.RunRunning) {
			t.Errorf("run %d is %s %q", i, rows[i].Status, rows[i].StateOf())
		}
	}
	if next, err := s.AdmitNext("k"); err != nil || next != nil {
		t.Fatalf("a third place was given to %v: %v", next, err)
	}
	rows[0].Status, rows[0].Slot.State = runs.RunPaused, runs.SlotFree
	if err := appendRecord(s, &journal.Record{Seq: 2, Event: journal.Event{Kind: journal.TimerFired}}, rows[0]); err != nil {
		t.Fatal(err)
	}
	next, err := s.AdmitNext("k")
	if err != nil || next == nil || next.ID != rows[2].ID || next.Status != runs.RunRunning {
		t.Fatalf("the place went to %v: %v", next, err)
	}
	resumed, err := s.TakeSlot(rows[0].ID, runs.GoOn{Resume: true, By: "ann", Discard: true})
	if err != nil || resumed.Status != runs.RunQueued || !resumed.Slot.Resume || !resumed.Slot.Discard || resumed.Slot.By != "ann" {
		t.Fatalf("the resumed run is %+v: %v", resumed, err)
	}
	held, queued, err := s.SlotRuns("k")
	if err != nil || len(held) != 2 || len(queued) != 2 || queued[0] != rows[0].ID {
		t.Errorf("held %v, queued %v: %v", held, queued, err)
	}
	open, err := s.OpenRuns()
	if err != nil || len(open) != 4 {
		t.Errorf("%d open runs: %v", len(open), err)
	}
}

// nobodyPassesThoseThatWait: a place is free for a moment before it is
// given on. Who comes in that moment, new or resumed, waits behind those that wait.
func nobodyPassesThoseThatWait(t *testing.T, b Backend) {
	s := b.fresh(t)
	place := func() *runs.Slot { return &runs.Slot{Key: "k", Limit: 1, State: runs.SlotQueued} }
	first, second := accept(t, s, runRow("w", place(), nil)), accept(t, s, runRow("w", place(), nil))
	first.Status, first.Slot.State = runs.RunPaused, runs.SlotFree
	if err := appendRecord(s, &journal.Record{Seq: 2, Event: journal.Event{Kind: journal.TimerFired}}, first); err != nil {
		t.Fatal(err)
	}
	if third := accept(t, s, runRow("w", place(), nil)); third.Status != runs.RunQueued || third.StateOf() != runs.SlotQueued {
		t.Errorf("a new run is %s: it passed the one that waits", third.Status)
	}
	if resumed, err := s.TakeSlot(first.ID, runs.GoOn{Resume: true}); err != nil || resumed.Status != runs.RunQueued {
		t.Errorf("a resumed run is %+v: it passed the one that waits (%v)", resumed, err)
	}
	if other := accept(t, s, runRow("w", &runs.Slot{Key: "other", Limit: 1, State: runs.SlotQueued}, nil)); other.Status != runs.RunRunning {
		t.Errorf("the control, a run of another key, is %s", other.Status)
	}
	// first is older than second: runs wait in the order of their acceptance.
	if next, err := s.AdmitNext("k"); err != nil || next == nil || next.ID != first.ID {
		t.Errorf("the place went to %+v: %v", next, err)
	}
	if held, queued, err := s.SlotRuns("k"); err != nil || len(held) != 1 || len(queued) != 2 || queued[0] != second.ID {
		t.Errorf("held %v, queued %v: %v", held, queued, err)
	}
}
