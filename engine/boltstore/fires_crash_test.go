package boltstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// torn says what of a store can't be after a kill at any moment: a slot without
// its run, a run without its slot, a trigger that is behind its slots.
func torn(t *testing.T, s *boltstore.Store) (faults []string) {
	t.Helper()
	fires, err := s.FiresBetween("weekly", "nightly", storetest.Slot(-1), storetest.Slot(1000), 0)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, f := range fires {
		if f.Run == "" {
			continue
		}
		of[f.Run] = f.Slot.String()
		if _, err := s.Run(f.Run); errors.Is(err, store.ErrRunNotFound) {
			faults = append(faults, fmt.Sprintf("the slot %s has no run", f.Slot))
		}
		if state := storetest.StateOf(t, s, "nightly"); state == nil || state.Done.Before(f.Slot) {
			faults = append(faults, fmt.Sprintf("the slot %s is not done", f.Slot))
		}
	}
	rows, _, err := s.Runs(runs.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	slots := map[string]bool{}
	for _, row := range rows {
		if of[row.ID] == "" {
			faults = append(faults, "run "+row.ID+" has no slot")
		}
		if at := row.ScheduledAt.String(); slots[at] {
			faults = append(faults, "two runs of "+at)
		} else {
			slots[at] = true
		}
	}
	return faults
}

// schedule starts the runs of some slots, as a scheduler that was killed and
// begins anew does: it asks for every slot that the store does not know.
func schedule(t *testing.T, s *boltstore.Store, from int, begin func(s *boltstore.Store, n, minute int) error) {
	t.Helper()
	for minute := 1; minute <= 4; minute++ {
		known, err := s.Fire("weekly", "nightly", storetest.Slot(minute))
		if err != nil {
			t.Fatal(err)
		}
		if known != nil {
			continue
		}
		if err := begin(s, from+minute, minute); err != nil && !errors.Is(err, store.ErrSlotTaken) {
			t.Fatal(err)
		}
	}
}

// killedAtEachCommit runs a scheduler that is killed after each commit, goes on
// with a second one, and counts what is torn then.
func killedAtEachCommit(t *testing.T, begin func(s *boltstore.Store, n, minute int) error) (faults []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	options, taken := images(t, path, quick())
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	schedule(t, s, 0, begin)
	steps := taken()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for i, image := range steps {
		s := openStore(t, image)
		for _, fault := range torn(t, s) {
			faults = append(faults, fmt.Sprintf("commit %d: %s", i+1, fault))
		}
		schedule(t, s, 10, begin)
		for _, fault := range torn(t, s) {
			faults = append(faults, fmt.Sprintf("commit %d, gone on: %s", i+1, fault))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		whole(t, image)
	}
	return faults
}

func scheduled(n, minute int) *runs.Run {
	run := storetest.Fired(n, storetest.Fire("nightly", minute))
	run.ScheduledAt = storetest.Slot(minute)
	return run
}

func TestP10AKillAtAnyCommitTearsNoFire(t *testing.T) {
	t.Parallel()
	faults := killedAtEachCommit(t, func(s *boltstore.Store, n, minute int) error {
		_, err := s.CreateRun(t.Context(), scheduled(n, minute), storetest.PlanBytes(), "", storetest.Started(n))
		return err
	})
	for _, fault := range faults {
		t.Error(fault)
	}
}

// The control: the run first, then its fire, in two transactions.
func TestP10ControlARunAndItsFireApartAreTorn(t *testing.T) {
	t.Parallel()
	faults := killedAtEachCommit(t, func(s *boltstore.Store, n, minute int) error {
		run := scheduled(n, minute)
		f := *run.Fire
		run.Fire, f.Run = nil, run.ID
		if _, err := s.CreateRun(t.Context(), run, storetest.PlanBytes(), "", storetest.Started(n)); err != nil {
			return err
		}
		return s.PutFires([]runs.Fire{f}, "weekly", "nightly", func(state *runs.TriggerState) { state.Done = f.Slot })
	})
	if len(faults) == 0 {
		t.Error("nothing is torn: the suite above proves nothing")
	}
}
