package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// OutboxOf reads the whole outbox.
func OutboxOf(t testing.TB, s store.Store) (entries []runs.OutboxEntry) {
	t.Helper()
	for {
		after := uint64(0)
		if len(entries) > 0 {
			after = entries[len(entries)-1].Seq
		}
		page, err := s.Outbox(after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return entries
		}
		entries = append(entries, page...)
	}
}

func paused(run runs.Run) *runs.Run {
	run.Status, run.Paused = runs.RunPaused, runs.PausedError
	return &run
}

// Closed is the row of a run that has failed and is closed.
func Closed(run runs.Run) *runs.Run {
	at := Begin().Add(time.Hour)
	run.Status, run.Paused, run.Closed, run.FinishedAt = runs.RunFailed, "", true, &at
	return &run
}

func again(run runs.Run) *runs.Run {
	run.Attempt++
	return &run
}

func whatBecomesOfARunGoesToTheOutbox(t *testing.T, b Backend) {
	waiting := *Row(1)
	waiting.Status = runs.RunWaiting
	ended := *Closed(*Row(1)) // its handlers have not
	ended.Closed = false
	for name, test := range map[string]struct {
		rows []*runs.Run
		want []runs.OutboxKind
	}{
		"a run that goes on":              {[]*runs.Run{Row(1), &waiting}, nil},
		"closed":                          {[]*runs.Run{Row(1), Closed(*Row(1))}, []runs.OutboxKind{runs.OutboxClosed}},
		"closed with its first record":    {[]*runs.Run{Closed(*Row(1))}, []runs.OutboxKind{runs.OutboxClosed}},
		"ended, and its handlers run":     {[]*runs.Run{Row(1), &ended, Closed(*Row(1))}, []runs.OutboxKind{runs.OutboxClosed}},
		"paused, then closed":             {[]*runs.Run{Row(1), paused(*Row(1)), Row(1), Closed(*Row(1))}, []runs.OutboxKind{runs.OutboxPaused, runs.OutboxClosed}},
		"the same row twice":              {[]*runs.Run{Row(1), paused(*Row(1)), paused(*Row(1)), Closed(*Row(1)), Closed(*Row(1))}, []runs.OutboxKind{runs.OutboxPaused, runs.OutboxClosed}},
		"resumed and closed again":        {[]*runs.Run{Row(1), Closed(*Row(1)), again(*Row(1)), Closed(*again(*Row(1)))}, []runs.OutboxKind{runs.OutboxClosed, runs.OutboxClosed}},
		"resumed and paused in one write": {[]*runs.Run{Row(1), paused(*Row(1)), paused(*again(*Row(1)))}, []runs.OutboxKind{runs.OutboxPaused, runs.OutboxPaused}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, parent := range []*runs.ParentStep{nil, {Run: ID(9), Step: "s", Path: "s"}} {
				s := b.fresh(t)
				for i, row := range test.rows {
					row := *row
					row.Parent = parent
					if i == 0 {
						Create(t, s, &row, 1)
					} else if err := Append(s, row.ID, nil, &row); err != nil {
						t.Fatal(err)
					}
				}
				var got []runs.OutboxKind
				for i, entry := range OutboxOf(t, s) {
					if entry.Seq != uint64(i+1) || entry.Run.ID != ID(1) || entry.At.IsZero() {
						t.Errorf("entry %+v", entry)
					}
					got = append(got, entry.Kind)
				}
				want := test.want
				if parent != nil {
					want = nil // its parent's matter
				}
				if !slices.Equal(got, want) {
					t.Errorf("parent %v: outbox %v, want %v", parent != nil, got, want)
				}
			}
		})
	}
}

func theOutboxIsTakenOutInOrder(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := 1; n <= 5; n++ {
		Create(t, s, Closed(*Row(n)), n)
	}
	if err := s.DropOutbox(3); err != nil {
		t.Fatal(err)
	}
	entries := OutboxOf(t, s)
	if len(entries) != 2 || entries[0].Seq != 4 || entries[1].Run.ID != ID(5) {
		t.Errorf("left: %+v", entries)
	}
	if err := s.DropOutbox(99); err != nil {
		t.Fatal(err)
	}
	Create(t, s, Closed(*Row(6)), 6)
	if entries := OutboxOf(t, s); len(entries) != 1 || entries[0].Seq != 6 {
		t.Errorf("a number is given twice: %+v", entries)
	}
}

func theOutboxIsBounded(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	const many = 10_020
	answered := make(chan error, 1)
	for n := 2; n <= many+1; n++ {
		run := paused(*Row(1))
		run.Attempt = n
		var done func(error)
		if n == many+1 {
			done = func(err error) { answered <- err }
		}
		s.Append(run.ID, nil, run, nil, done)
	}
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	entries := OutboxOf(t, s)
	if len(entries) != 10_000 || entries[0].Seq != 21 || entries[9_999].Seq != many {
		t.Errorf("%d entries, %d to %d", len(entries), entries[0].Seq, entries[len(entries)-1].Seq)
	}
	if err := s.DropOutbox(many - 1); err != nil {
		t.Fatal(err)
	}
	if entries := OutboxOf(t, s); len(entries) != 1 {
		t.Errorf("%d are left", len(entries))
	}
}

func aRemovedRunIsForgottenByTheOutbox(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := 1; n <= 3; n++ {
		Create(t, s, Closed(*Row(n)), n)
	}
	if err := s.DeleteRun(ID(2)); err != nil {
		t.Fatal(err)
	}
	entries := OutboxOf(t, s)
	if len(entries) != 2 || entries[0].Run.ID != ID(1) || entries[1].Run.ID != ID(3) {
		t.Errorf("left: %+v", entries)
	}
}

// That the engine pauses a trigger is told once; what a person does is known.
func aTriggerThatTheEnginePausesGoesToTheOutbox(t *testing.T, b Backend) {
	woken := 0
	var settings Settings
	settings.OnOutbox = func() { woken++ }
	dir := t.TempDir()
	s := b.Open(t, dir, settings)
	pause := func(by string) func(*runs.TriggerState) {
		return func(state *runs.TriggerState) {
			state.Paused, state.PausedBy, state.PausedAt, state.Reason = true, by, Begin(), "3 failures in a row"
		}
	}
	resume := func(state *runs.TriggerState) { *state = runs.TriggerState{} }
	edits := []func(*runs.TriggerState){pause("ann"), pause(""), resume, pause(""), pause(""), resume, pause("ann"), resume}
	for _, edit := range edits {
		if _, err := s.EditTriggerState("weekly", "nightly", edit); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutFires([]runs.Fire{Skipped("other", 1, runs.SkipPaused)}, "weekly", "other", pause("")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range OutboxOf(t, s) {
		if entry.Kind != runs.OutboxTriggerPaused || entry.Trigger == nil || !entry.At.Equal(Begin()) || entry.Run.ID != "" {
			t.Errorf("entry %+v", entry)
			continue
		}
		got = append(got, entry.Trigger.Trigger+": "+entry.Trigger.Reason)
	}
	if want := []string{"nightly: 3 failures in a row", "other: 3 failures in a row"}; !slices.Equal(got, want) {
		t.Errorf("outbox %v, want %v", got, want)
	}
	if b.shut(t, s, dir); woken != 2 {
		t.Errorf("those who wait were woken %d times", woken)
	}
}
