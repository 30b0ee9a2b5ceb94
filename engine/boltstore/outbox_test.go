package boltstore_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

func outboxOf(t testing.TB, s *boltstore.Store) (entries []plan.OutboxEntry) {
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

func paused(run plan.Run) *plan.Run {
	run.Status, run.Paused = plan.RunPaused, plan.PausedError
	return &run
}

func closed(run plan.Run) *plan.Run {
	at := startOfTime.Add(time.Hour)
	run.Status, run.Paused, run.Closed, run.FinishedAt = plan.RunFailed, "", true, &at
	return &run
}

func again(run plan.Run) *plan.Run {
	run.Attempt++
	return &run
}

func TestWhatBecomesOfARunGoesToTheOutbox(t *testing.T) {
	waiting := *row(1)
	waiting.Status = plan.RunWaiting
	ended := *closed(*row(1)) // its handlers have not
	ended.Closed = false
	for name, test := range map[string]struct {
		rows []*plan.Run
		want []plan.OutboxKind
	}{
		"a run that goes on":              {[]*plan.Run{row(1), &waiting}, nil},
		"closed":                          {[]*plan.Run{row(1), closed(*row(1))}, []plan.OutboxKind{plan.OutboxClosed}},
		"closed with its first record":    {[]*plan.Run{closed(*row(1))}, []plan.OutboxKind{plan.OutboxClosed}},
		"ended, and its handlers run":     {[]*plan.Run{row(1), &ended, closed(*row(1))}, []plan.OutboxKind{plan.OutboxClosed}},
		"paused, then closed":             {[]*plan.Run{row(1), paused(*row(1)), row(1), closed(*row(1))}, []plan.OutboxKind{plan.OutboxPaused, plan.OutboxClosed}},
		"the same row twice":              {[]*plan.Run{row(1), paused(*row(1)), paused(*row(1)), closed(*row(1)), closed(*row(1))}, []plan.OutboxKind{plan.OutboxPaused, plan.OutboxClosed}},
		"resumed and closed again":        {[]*plan.Run{row(1), closed(*row(1)), again(*row(1)), closed(*again(*row(1)))}, []plan.OutboxKind{plan.OutboxClosed, plan.OutboxClosed}},
		"resumed and paused in one write": {[]*plan.Run{row(1), paused(*row(1)), paused(*again(*row(1)))}, []plan.OutboxKind{plan.OutboxPaused, plan.OutboxPaused}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, parent := range []*plan.ParentStep{nil, {Run: id(9), Step: "s", Path: "s"}} {
				s := newStore(t)
				for i, row := range test.rows {
					row := *row
					row.Parent = parent
					if i == 0 {
						create(t, s, &row, 1)
					} else if err := appendWait(s, row.ID, nil, &row); err != nil {
						t.Fatal(err)
					}
				}
				var got []plan.OutboxKind
				for i, entry := range outboxOf(t, s) {
					if entry.Seq != uint64(i+1) || entry.Run.ID != id(1) || entry.At.IsZero() {
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

func TestTheOutboxIsTakenOutInOrder(t *testing.T) {
	s := newStore(t)
	for n := 1; n <= 5; n++ {
		create(t, s, closed(*row(n)), n)
	}
	if err := s.DropOutbox(3); err != nil {
		t.Fatal(err)
	}
	entries := outboxOf(t, s)
	if len(entries) != 2 || entries[0].Seq != 4 || entries[1].Run.ID != id(5) {
		t.Errorf("left: %+v", entries)
	}
	if err := s.DropOutbox(99); err != nil {
		t.Fatal(err)
	}
	create(t, s, closed(*row(6)), 6)
	if entries := outboxOf(t, s); len(entries) != 1 || entries[0].Seq != 6 {
		t.Errorf("a number is given twice: %+v", entries)
	}
}

func TestTheOutboxIsBounded(t *testing.T) {
	s := newStore(t)
	create(t, s, row(1), 1)
	const many = 10_020
	answered := make(chan error, 1)
	for n := 2; n <= many+1; n++ {
		run := paused(*row(1))
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
	entries := outboxOf(t, s)
	if len(entries) != 10_000 || entries[0].Seq != 21 || entries[9_999].Seq != many {
		t.Errorf("%d entries, %d to %d", len(entries), entries[0].Seq, entries[len(entries)-1].Seq)
	}
	if err := s.DropOutbox(many - 1); err != nil {
		t.Fatal(err)
	}
	if entries := outboxOf(t, s); len(entries) != 1 {
		t.Errorf("%d are left", len(entries))
	}
}

func TestARemovedRunIsForgottenByTheOutbox(t *testing.T) {
	s := newStore(t)
	for n := 1; n <= 3; n++ {
		create(t, s, closed(*row(n)), n)
	}
	if err := s.DeleteRun(id(2)); err != nil {
		t.Fatal(err)
	}
	entries := outboxOf(t, s)
	if len(entries) != 2 || entries[0].Run.ID != id(1) || entries[1].Run.ID != id(3) {
		t.Errorf("left: %+v", entries)
	}
}

// What was there before a restore says so, and the restore itself tells nobody.
func TestP15TheOutboxOfARestoredStoreIsOfAnotherEpoch(t *testing.T) {
	dir := t.TempDir()
	s, err := boltstore.Open(filepath.Join(dir, "flowrun.db"), quick())
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, closed(*row(1)), 1)
	create(t, s, row(2), 2) // is paused by the restore
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := boltstore.Restore(t.Context(), filepath.Join(dir, "backup.db"), filepath.Join(dir, "flowrun.db"), quick())
	if err != nil || info.Parked != 1 {
		t.Fatal(info, err)
	}
	s = openStore(t, filepath.Join(dir, "flowrun.db"))
	create(t, s, closed(*row(3)), 3)
	entries := outboxOf(t, s)
	if len(entries) != 2 || entries[0].Epoch == info.Epoch || entries[1].Epoch != info.Epoch || entries[1].Run.ID != id(3) {
		t.Errorf("epoch %d, outbox %+v", info.Epoch, entries)
	}
}

func TestRowsOfRunsAreToldWhenTheyAreDurable(t *testing.T) {
	var told []plan.Run
	stages := []store.CommitStage{}
	options := quick()
	options.OnCommit = func(stage store.CommitStage) { stages = append(stages, stage) }
	options.OnRuns = func(rows []plan.Run) {
		told = append(told, rows...)
		if stages[len(stages)-1] != store.AfterCommit {
			t.Error("told before the commit")
		}
	}
	s, err := boltstore.Open(filepath.Join(t.TempDir(), "flowrun.db"), options)
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, row(1), 1)
	_, existing := start(t, s, 2, fire("nightly", 1))
	_, repeated := start(t, s, 3, fire("nightly", 1))
	if err := appendWait(s, id(1), nil, closed(*row(1))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if existing != "" || repeated != id(2) || len(told) != 3 {
		t.Fatalf("%q, %q, told %+v", existing, repeated, told)
	}
	if told[0].ID != id(1) || told[1].Fire.Run != id(2) || !told[2].Closed {
		t.Errorf("told %+v", told)
	}
}

// That the engine pauses a trigger is told once; what a person does is known.
func TestATriggerThatTheEnginePausesGoesToTheOutbox(t *testing.T) {
	woken := 0
	options := quick()
	options.OnOutbox = func() { woken++ }
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	pause := func(by string) func(*plan.TriggerState) {
		return func(state *plan.TriggerState) {
			state.Paused, state.PausedBy, state.PausedAt, state.Reason = true, by, startOfTime, "3 failures in a row"
		}
	}
	resume := func(state *plan.TriggerState) { *state = plan.TriggerState{} }
	edits := []func(*plan.TriggerState){pause("ann"), pause(""), resume, pause(""), pause(""), resume, pause("ann"), resume}
	for _, edit := range edits {
		if _, err := s.EditTriggerState("weekly", "nightly", edit); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutFires([]plan.Fire{skipped("other", 1, plan.SkipPaused)}, "weekly", "other", pause("")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range outboxOf(t, s) {
		if entry.Kind != plan.OutboxTriggerPaused || entry.Trigger == nil || !entry.At.Equal(startOfTime) || entry.Run.ID != "" {
			t.Errorf("entry %+v", entry)
			continue
		}
		got = append(got, entry.Trigger.Trigger+": "+entry.Trigger.Reason)
	}
	if want := []string{"nightly: 3 failures in a row", "other: 3 failures in a row"}; !slices.Equal(got, want) {
		t.Errorf("outbox %v, want %v", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if whole(t, path); woken != 2 {
		t.Errorf("those who wait were woken %d times", woken)
	}
}
