package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Slot is the nth minute.
func Slot(n int) time.Time { return Begin().Add(time.Duration(n) * time.Minute) }

// Fire is a fire of a cron trigger for the nth minute.
func Fire(trigger string, n int) runs.Fire {
	return runs.Fire{Workflow: "weekly", Trigger: trigger, Kind: plan.TriggerCron, Slot: Slot(n), At: Slot(n).Add(time.Second)}
}

// Skipped is a Fire without a run, and why.
func Skipped(trigger string, n int, why string) runs.Fire {
	f := Fire(trigger, n)
	f.Skipped = why
	return f
}

// Fired is the row of the nth run, which a fire has started.
func Fired(n int, f runs.Fire) *runs.Run {
	run := Row(n)
	run.Trigger, run.Fire = f.Trigger, &f
	return run
}

// Start stores the nth run, which a fire starts.
func Start(t testing.TB, s store.Store, n int, f runs.Fire) (run *runs.Run, existing string) {
	t.Helper()
	run = Fired(n, f)
	existing, err := s.CreateRun(t.Context(), run, PlanBytes(), "", Started(n))
	if err != nil {
		t.Fatal(err)
	}
	return run, existing
}

// StateOf is what is kept of a trigger of the workflow of all runs.
func StateOf(t testing.TB, s store.Store, trigger string) *runs.TriggerState {
	t.Helper()
	state, err := s.TriggerState("weekly", trigger)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func aRunItsFireAndTheTriggersStateAreOne(t *testing.T, b Backend) {
	s := b.fresh(t)
	run, existing := Start(t, s, 1, Fire("nightly", 7))
	if existing != "" || run.Fire.Run != run.ID {
		t.Fatalf("existing %q, fire %+v", existing, run.Fire)
	}
	stored, err := s.Fire("weekly", "nightly", Slot(7))
	if err != nil || stored == nil {
		t.Fatal(stored, err)
	}
	want := Fire("nightly", 7)
	want.Run = run.ID
	if d := Diff(&want, stored); d != "" {
		t.Errorf("fire (-want +got):\n%s", d)
	}
	if got, err := s.Run(run.ID); err != nil || Diff(&want, got.Fire) != "" {
		t.Errorf("the row of the run says %+v, %v", got.Fire, err)
	}
	state := StateOf(t, s, "nightly")
	if !state.Done.Equal(Slot(7)) || state.LastRun != run.ID || state.Workflow != "weekly" || state.Trigger != "nightly" {
		t.Errorf("state %+v", state)
	}
}

func aSlotHasOneRun(t *testing.T, b Backend) {
	s := b.fresh(t)
	first, _ := Start(t, s, 1, Fire("nightly", 7))
	_, existing := Start(t, s, 2, Fire("nightly", 7))
	if existing != first.ID {
		t.Errorf("the second start of the slot gives %q, want %s", existing, first.ID)
	}
	if _, err := s.Run(ID(2)); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("the second run: %v", err)
	}
	if _, existing := Start(t, s, 3, Fire("other", 7)); existing != "" {
		t.Errorf("the same slot of another trigger gives %q", existing)
	}
}

// All ask for the same slot at once: one of them starts the run.
func manyStartsOfOneSlotAtOnce(t *testing.T, b Backend) {
	s := b.fresh(t)
	var mu sync.Mutex
	made, set := 0, map[string]bool{}
	var all sync.WaitGroup
	for n := 1; n <= 32; n++ {
		all.Go(func() {
			existing, err := s.CreateRun(t.Context(), Fired(n, Fire("nightly", 1)), PlanBytes(), "", Started(n))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case existing == "":
				made++
			default:
				set[existing] = true
			}
		})
	}
	all.Wait()
	if made != 1 || len(set) != 1 {
		t.Errorf("%d runs were made, the others heard of %v", made, set)
	}
}

func aSkippedSlotIsFilledByABackfillAlone(t *testing.T, b Backend) {
	s := b.fresh(t)
	many := Skipped("nightly", 5, runs.SkipLate)
	many.Slots = 3
	if err := s.PutFires([]runs.Fire{Skipped("nightly", 1, runs.SkipPaused), many}, "weekly", "nightly", nil); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreateRun(t.Context(), Fired(1, Fire("nightly", 1)), PlanBytes(), "", Started(1))
	if !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a start by the clock: %v", err)
	}
	back := Fire("nightly", 1)
	back.Backfill, back.By = true, "ann"
	run, existing := Start(t, s, 2, back)
	if stored, err := s.Fire("weekly", "nightly", Slot(1)); err != nil || existing != "" || stored.Run != run.ID || stored.Skipped != "" || !stored.Backfill {
		t.Errorf("after the backfill: %+v, %q, %v", stored, existing, err)
	}
	back.Slot = Slot(5)
	run, _ = Start(t, s, 3, back)
	if stored, _ := s.Fire("weekly", "nightly", Slot(5)); stored.Run != run.ID || stored.Slots != 3 || stored.Skipped != runs.SkipLate {
		t.Errorf("a row of three slots after the backfill of the first: %+v", stored)
	}
	if _, existing := Start(t, s, 4, back); existing != run.ID {
		t.Errorf("a second backfill gives %q", existing)
	}
	if state := StateOf(t, s, "nightly"); state != nil {
		t.Errorf("a backfill moved the schedule: %+v", state)
	}
}

// What happens has no slots: two at the same moment are two.
func firesThatAreNoSlotsNeverPassForOneAnother(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := 1; n <= 3; n++ {
		f := Fire("hook", 1)
		f.Kind = plan.TriggerWebhook
		run, existing := Start(t, s, n, f)
		want := Slot(1).Add(time.Duration(n - 1))
		if existing != "" || !run.Fire.Slot.Equal(want) {
			t.Errorf("fire %d: existing %q, %s", n, existing, run.Fire.Slot)
		}
		if stored, err := s.Run(run.ID); err != nil || !stored.Fire.Slot.Equal(want) {
			t.Errorf("the row of run %d: %+v, %v", n, stored.Fire, err)
		}
	}
	if state := StateOf(t, s, "hook"); state.LastRun != ID(3) || !state.Done.IsZero() {
		t.Errorf("state %+v", state)
	}
}

func theStateOfASlotThatAPersonAskedFor(t *testing.T, b Backend) {
	s := b.fresh(t)
	Start(t, s, 1, Fire("nightly", 5))
	late := Fire("nightly", 9)
	late.By = "ann"
	Start(t, s, 2, late)
	Start(t, s, 3, Fire("nightly", 4))
	if state := StateOf(t, s, "nightly"); !state.Done.Equal(Slot(5)) || state.LastRun != ID(3) {
		t.Errorf("state %+v", state)
	}
}

func putFiresOverwritesNothing(t *testing.T, b Backend) {
	s := b.fresh(t)
	run, _ := Start(t, s, 1, Fire("nightly", 1))
	rows := []runs.Fire{Skipped("nightly", 1, runs.SkipLate), Skipped("nightly", 2, runs.SkipLate)}
	edit := func(state *runs.TriggerState) { state.Done, state.Hash = Slot(2), "h" }
	for range 2 {
		if err := s.PutFires(rows, "weekly", "nightly", edit); err != nil {
			t.Fatal(err)
		}
		rows[1].Skipped = runs.SkipOverlap
	}
	got, err := s.FiresBetween("weekly", "nightly", Slot(0), Slot(9), 0)
	if err != nil || len(got) != 2 || got[0].Run != run.ID || got[0].Skipped != "" || got[1].Skipped != runs.SkipLate {
		t.Errorf("fires %+v, %v", got, err)
	}
	if state := StateOf(t, s, "nightly"); state.Hash != "h" || !state.Done.Equal(Slot(2)) || state.LastRun != run.ID {
		t.Errorf("state %+v", state)
	}
	if err := s.PutFires(rows, "weekly", "other", nil); err == nil {
		t.Error("fires of one trigger were stored as those of another")
	}
	ancient := Skipped("nightly", 1, runs.SkipLate)
	ancient.Slot = time.Time{}
	if err := s.PutFires([]runs.Fire{ancient}, "weekly", "nightly", nil); err == nil {
		t.Error("a slot in the year 1 was stored")
	}
}

func noChangeOfATriggersStateIsLost(t *testing.T, b Backend) {
	s := b.fresh(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := s.EditTriggerState("weekly", "nightly", func(state *runs.TriggerState) { state.Failures++ }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	before := s.Stats().Commits
	state, err := s.EditTriggerState("weekly", "nightly", func(*runs.TriggerState) {})
	if err != nil || state.Failures != 50 || state.Trigger != "nightly" {
		t.Errorf("state %+v, %v", state, err)
	}
	if after := s.Stats().Commits; after != before {
		t.Errorf("an edit that changes nothing makes %d commits", after-before)
	}
	if _, err := s.EditTriggerState("a", "b", func(state *runs.TriggerState) { state.Paused = true }); err != nil {
		t.Fatal(err)
	}
	states, err := s.TriggerStates()
	if err != nil || len(states) != 2 || states[0].Workflow != "a" || !states[0].Paused || states[1].Failures != 50 {
		t.Errorf("states %+v, %v", states, err)
	}
}

func oldFiresGo(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	var nightly, hourly []runs.Fire
	for n := range 2500 {
		nightly = append(nightly, Skipped("nightly", n, runs.SkipLate))
	}
	for n := range 10 {
		hourly = append(hourly, Skipped("hourly", n, runs.SkipLate))
	}
	hourly[3].At = Slot(2400) // a backfill that was asked for long after
	for _, put := range [][]runs.Fire{nightly, hourly} {
		if err := s.PutFires(put, "weekly", put[0].Trigger, nil); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := s.ExpireFires(t.Context(), 2000*time.Minute, 0, Slot(2100))
	if err != nil || removed != 100+9 {
		t.Errorf("%d fires went by their age, %v", removed, err)
	}
	removed, err = s.ExpireFires(t.Context(), 0, 700, Slot(2100))
	if err != nil || removed != 2400-700 {
		t.Errorf("%d fires went by their number, %v", removed, err)
	}
	got, err := s.FiresBetween("weekly", "nightly", Slot(0), Slot(2500), 0)
	if err != nil || len(got) != 700 || !got[0].Slot.Equal(Slot(1800)) {
		t.Errorf("%d are left, %v", len(got), err)
	}
	if got, err = s.FiresBetween("weekly", "hourly", Slot(0), Slot(2500), 0); err != nil || len(got) != 1 || !got[0].Slot.Equal(Slot(3)) {
		t.Errorf("hourly: %+v, %v", got, err)
	}
	b.shut(t, s, dir)
}
