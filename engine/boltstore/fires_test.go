package boltstore_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

// slot is the nth minute.
func slot(n int) time.Time { return startOfTime.Add(time.Duration(n) * time.Minute) }

func fire(trigger string, n int) plan.Fire {
	return plan.Fire{Workflow: "weekly", Trigger: trigger, Kind: plan.TriggerCron, Slot: slot(n), At: slot(n).Add(time.Second)}
}

func skipped(trigger string, n int, why string) plan.Fire {
	f := fire(trigger, n)
	f.Skipped = why
	return f
}

// fired is the row of the nth run, which a fire has started.
func fired(n int, f plan.Fire) *plan.Run {
	run := row(n)
	run.Trigger, run.Fire = f.Trigger, &f
	return run
}

func start(t testing.TB, s *boltstore.Store, n int, f plan.Fire) (run *plan.Run, existing string) {
	t.Helper()
	run = fired(n, f)
	existing, err := s.CreateRun(t.Context(), run, planBytes, "", started(n))
	if err != nil {
		t.Fatal(err)
	}
	return run, existing
}

func stateOf(t testing.TB, s *boltstore.Store, trigger string) *plan.TriggerState {
	t.Helper()
	state, err := s.TriggerState("weekly", trigger)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestP10ARunItsFireAndTheTriggersStateAreOne(t *testing.T) {
	s := newStore(t)
	run, existing := start(t, s, 1, fire("nightly", 7))
	if existing != "" || run.Fire.Run != run.ID {
		t.Fatalf("existing %q, fire %+v", existing, run.Fire)
	}
	stored, err := s.Fire("weekly", "nightly", slot(7))
	if err != nil || stored == nil {
		t.Fatal(stored, err)
	}
	want := fire("nightly", 7)
	want.Run = run.ID
	if d := diff.Diff(&want, stored); d != "" {
		t.Errorf("fire (-want +got):\n%s", d)
	}
	if got, err := s.Run(run.ID); err != nil || diff.Diff(&want, got.Fire) != "" {
		t.Errorf("the row of the run says %+v, %v", got.Fire, err)
	}
	state := stateOf(t, s, "nightly")
	if !state.Done.Equal(slot(7)) || state.LastRun != run.ID || state.Workflow != "weekly" || state.Trigger != "nightly" {
		t.Errorf("state %+v", state)
	}
}

func TestP10ASlotHasOneRun(t *testing.T) {
	s := newStore(t)
	first, _ := start(t, s, 1, fire("nightly", 7))
	_, existing := start(t, s, 2, fire("nightly", 7))
	if existing != first.ID {
		t.Errorf("the second start of the slot gives %q, want %s", existing, first.ID)
	}
	if _, err := s.Run(id(2)); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("the second run: %v", err)
	}
	if _, existing := start(t, s, 3, fire("other", 7)); existing != "" {
		t.Errorf("the same slot of another trigger gives %q", existing)
	}
}

// All ask for the same slot at once: one of them starts the run.
func TestP10ManyStartsOfOneSlotAtOnce(t *testing.T) {
	s := newStore(t)
	var mu sync.Mutex
	made, told := 0, map[string]bool{}
	var all sync.WaitGroup
	for n := 1; n <= 32; n++ {
		all.Go(func() {
			existing, err := s.CreateRun(t.Context(), fired(n, fire("nightly", 1)), planBytes, "", started(n))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case existing == "":
				made++
			default:
				told[existing] = true
			}
		})
	}
	all.Wait()
	if made != 1 || len(told) != 1 {
		t.Errorf("%d runs were made, the others heard of %v", made, told)
	}
}

func TestASkippedSlotIsFilledByABackfillAlone(t *testing.T) {
	s := newStore(t)
	many := skipped("nightly", 5, plan.SkipLate)
	many.Slots = 3
	if err := s.PutFires([]plan.Fire{skipped("nightly", 1, plan.SkipPaused), many}, "weekly", "nightly", nil); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreateRun(t.Context(), fired(1, fire("nightly", 1)), planBytes, "", started(1))
	if !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("a start by the clock: %v", err)
	}
	back := fire("nightly", 1)
	back.Backfill, back.By = true, "ann"
	run, existing := start(t, s, 2, back)
	if stored, err := s.Fire("weekly", "nightly", slot(1)); err != nil || existing != "" || stored.Run != run.ID || stored.Skipped != "" || !stored.Backfill {
		t.Errorf("after the backfill: %+v, %q, %v", stored, existing, err)
	}
	back.Slot = slot(5)
	run, _ = start(t, s, 3, back)
	if stored, _ := s.Fire("weekly", "nightly", slot(5)); stored.Run != run.ID || stored.Slots != 3 || stored.Skipped != plan.SkipLate {
		t.Errorf("a row of three slots after the backfill of the first: %+v", stored)
	}
	if _, existing := start(t, s, 4, back); existing != run.ID {
		t.Errorf("a second backfill gives %q", existing)
	}
	if state := stateOf(t, s, "nightly"); state != nil {
		t.Errorf("a backfill moved the schedule: %+v", state)
	}
}

// What happens has no slots: two at the same moment are two.
func TestFiresThatAreNoSlotsNeverPassForOneAnother(t *testing.T) {
	s := newStore(t)
	for n := 1; n <= 3; n++ {
		f := fire("hook", 1)
		f.Kind = plan.TriggerWebhook
		run, existing := start(t, s, n, f)
		want := slot(1).Add(time.Duration(n - 1))
		if existing != "" || !run.Fire.Slot.Equal(want) {
			t.Errorf("fire %d: existing %q, %s", n, existing, run.Fire.Slot)
		}
		if stored, err := s.Run(run.ID); err != nil || !stored.Fire.Slot.Equal(want) {
			t.Errorf("the row of run %d: %+v, %v", n, stored.Fire, err)
		}
	}
	if state := stateOf(t, s, "hook"); state.LastRun != id(3) || !state.Done.IsZero() {
		t.Errorf("state %+v", state)
	}
}

func TestTheStateOfASlotThatAPersonAskedFor(t *testing.T) {
	s := newStore(t)
	start(t, s, 1, fire("nightly", 5))
	late := fire("nightly", 9)
	late.By = "ann"
	start(t, s, 2, late)
	start(t, s, 3, fire("nightly", 4))
	if state := stateOf(t, s, "nightly"); !state.Done.Equal(slot(5)) || state.LastRun != id(3) {
		t.Errorf("state %+v", state)
	}
}

func TestPutFiresOverwritesNothing(t *testing.T) {
	s := newStore(t)
	run, _ := start(t, s, 1, fire("nightly", 1))
	rows := []plan.Fire{skipped("nightly", 1, plan.SkipLate), skipped("nightly", 2, plan.SkipLate)}
	edit := func(state *plan.TriggerState) { state.Done, state.Hash = slot(2), "h" }
	for range 2 {
		if err := s.PutFires(rows, "weekly", "nightly", edit); err != nil {
			t.Fatal(err)
		}
		rows[1].Skipped = plan.SkipOverlap
	}
	got, err := s.FiresBetween("weekly", "nightly", slot(0), slot(9), 0)
	if err != nil || len(got) != 2 || got[0].Run != run.ID || got[0].Skipped != "" || got[1].Skipped != plan.SkipLate {
		t.Errorf("fires %+v, %v", got, err)
	}
	if state := stateOf(t, s, "nightly"); state.Hash != "h" || !state.Done.Equal(slot(2)) || state.LastRun != run.ID {
		t.Errorf("state %+v", state)
	}
	if err := s.PutFires(rows, "weekly", "other", nil); err == nil {
		t.Error("fires of one trigger were stored as those of another")
	}
	ancient := skipped("nightly", 1, plan.SkipLate)
	ancient.Slot = time.Time{}
	if err := s.PutFires([]plan.Fire{ancient}, "weekly", "nightly", nil); err == nil {
		t.Error("a slot in the year 1 was stored")
	}
}

func TestNoChangeOfATriggersStateIsLost(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := s.EditTriggerState("weekly", "nightly", func(state *plan.TriggerState) { state.Failures++ }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	before := s.Stats().Commits
	state, err := s.EditTriggerState("weekly", "nightly", func(*plan.TriggerState) {})
	if err != nil || state.Failures != 50 || state.Trigger != "nightly" {
		t.Errorf("state %+v, %v", state, err)
	}
	if after := s.Stats().Commits; after != before {
		t.Errorf("an edit that changes nothing makes %d commits", after-before)
	}
	if _, err := s.EditTriggerState("a", "b", func(state *plan.TriggerState) { state.Paused = true }); err != nil {
		t.Fatal(err)
	}
	states, err := s.TriggerStates()
	if err != nil || len(states) != 2 || states[0].Workflow != "a" || !states[0].Paused || states[1].Failures != 50 {
		t.Errorf("states %+v, %v", states, err)
	}
}

func TestOldFiresGo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	var nightly, hourly []plan.Fire
	for n := range 2500 {
		nightly = append(nightly, skipped("nightly", n, plan.SkipLate))
	}
	for n := range 10 {
		hourly = append(hourly, skipped("hourly", n, plan.SkipLate))
	}
	hourly[3].At = slot(2400) // a backfill that was asked for long after
	for _, put := range [][]plan.Fire{nightly, hourly} {
		if err := s.PutFires(put, "weekly", put[0].Trigger, nil); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := s.ExpireFires(t.Context(), 2000*time.Minute, 0, slot(2100))
	if err != nil || removed != 100+9 {
		t.Errorf("%d fires went by their age, %v", removed, err)
	}
	removed, err = s.ExpireFires(t.Context(), 0, 700, slot(2100))
	if err != nil || removed != 2400-700 {
		t.Errorf("%d fires went by their number, %v", removed, err)
	}
	got, err := s.FiresBetween("weekly", "nightly", slot(0), slot(2500), 0)
	if err != nil || len(got) != 700 || !got[0].Slot.Equal(slot(1800)) {
		t.Errorf("%d are left, %v", len(got), err)
	}
	if got, err = s.FiresBetween("weekly", "hourly", slot(0), slot(2500), 0); err != nil || len(got) != 1 || !got[0].Slot.Equal(slot(3)) {
		t.Errorf("hourly: %+v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
}

func TestP12AFireThatHasItsRunIsAnsweredWhileSpaceIsShort(t *testing.T) {
	free := uint64(100 << 30)
	s, err := boltstore.Open(filepath.Join(t.TempDir(), "flowrun.db"), boltstore.Options{
		InitialMmapSize: smallMap, FreeSpace: func(string) (uint64, uint64, error) { return free, 200 << 30, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	run, _ := start(t, s, 1, fire("nightly", 1))
	free = 1 << 20
	if _, existing := start(t, s, 2, fire("nightly", 1)); existing != run.ID {
		t.Errorf("the slot's run is %q", existing)
	}
	if _, err := s.CreateRun(t.Context(), fired(3, fire("nightly", 2)), planBytes, "", started(3)); !errors.Is(err, store.ErrPressure) {
		t.Errorf("a new slot: %v", err)
	}
}
