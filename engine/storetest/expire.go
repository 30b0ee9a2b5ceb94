package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// stored makes a run of a workflow that has ended a moment after its acceptance.
func stored(t *testing.T, s store.Store, n int, workflow string, status runs.Status, edit func(*runs.Run)) {
	t.Helper()
	run := Row(n)
	at := run.StartedAt.Add(time.Second)
	run.Workflow, run.Status, run.Closed, run.FinishedAt = workflow, status, status.Ended(), &at
	if edit != nil {
		edit(run)
	}
	Create(t, s, run, n)
}

// gone returns the numbers of removed runs.
func gone(removed []store.Removal) []int {
	numbers := []int{}
	for _, one := range removed {
		numbers = append(numbers, int(one.Accepted.Sub(Begin())/time.Second))
	}
	slices.Sort(numbers)
	return numbers
}

func expireWant(t *testing.T, s store.Store, r store.Retention, now time.Time, what string, want ...int) []store.Removal {
	t.Helper()
	removed, err := s.Expire(t.Context(), r, now)
	if want == nil {
		want = []int{}
	}
	if diff := Diff(want, gone(removed)); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
	}
	return removed
}

func upTo(from, until int) (numbers []int) {
	for n := from; n < until; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

func expireByAge(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := range 100 {
		stored(t, s, n, "weekly", runs.RunSucceeded, func(run *runs.Run) {
			if n == 3 {
				run.Closed = false // its handlers have not ended
			}
			if n == 5 {
				late := Begin().Add(time.Hour)
				run.FinishedAt = &late
			}
		})
	}
	now := Begin().Add(time.Hour)
	removed := expireWant(t, s, store.Retention{Keep: time.Hour - 30*time.Second}, now, "by age", slices.DeleteFunc(upTo(0, 29), func(n int) bool { return n == 3 || n == 5 })...)
	if len(removed) > 0 && (removed[0].Cause != store.CauseAge || removed[0].Workflow != "weekly") {
		t.Errorf("removed %+v", removed[0])
	}
	expireWant(t, s, store.Retention{Keep: time.Hour}, now, "nothing to do")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Expire(stopped, store.Retention{Keep: time.Second}, now); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped one: %v", err)
	}
	expireWant(t, s, store.Retention{Keep: time.Second, Floor: 20}, now, "the newest 20 stay, however old", upTo(29, 80)...)
	expireWant(t, s, store.Retention{Keep: time.Second, Floor: 20}, now.Add(9999*time.Hour), "nor later", 5)
}

// oneBusyWorkflowDoesNotCutTheOthers: the number is of each workflow,
// and what failed goes last.
func oneBusyWorkflowDoesNotCutTheOthers(t *testing.T, b Backend) {
	s := b.fresh(t)
	n := 0
	for range 30 { // older than all of the busy one
		stored(t, s, n, "monthly", runs.RunSucceeded, nil)
		n++
	}
	busy := n
	for range 200 {
		status := runs.RunSucceeded
		if (n-busy)%10 == 3 {
			status = runs.RunFailed
		}
		stored(t, s, n, "busy", status, func(run *runs.Run) { run.Closed = n != busy+1 })
		n++
	}
	now := Begin().Add(time.Hour)
	r := store.Retention{Keep: 24 * time.Hour, MaxRuns: 100, Floor: 20}
	// 100 go: the oldest that did not fail, but for the one whose handlers are open.
	var want []int
	for at := busy; len(want) < 100; at++ {
		if (at-busy)%10 != 3 && at != busy+1 {
			want = append(want, at)
		}
	}
	removed := expireWant(t, s, r, now, "of the busy one alone", want...)
	if len(removed) > 0 && (removed[0].Cause != store.CauseMaxRuns || removed[0].Workflow != "busy") {
		t.Errorf("removed %+v", removed[0])
	}
	expireWant(t, s, r, now, "nothing more")
	// 5 in place of 100: the newest 20 stay, and what failed among the others goes too.
	r.MaxRuns = 5
	if removed, err := s.Expire(t.Context(), r, now); err != nil || len(removed) != 79+10 {
		t.Errorf("%d went, %v", len(removed), err)
	}
	for workflow, left := range map[string]int{"busy": 21, "monthly": 20} {
		if counts, err := s.Counts(workflow); err != nil || counts.Total() != left {
			t.Errorf("%s: %v left, %v", workflow, counts, err)
		}
	}
	for at := n - 20; at < n; at++ {
		if _, err := s.Run(ID(at)); err != nil {
			t.Errorf("run %d of the newest 20: %v", at, err)
		}
	}
}

// The ceiling over all takes from the largest, and from nobody else.
func theCeilingTakesFromTheLargest(t *testing.T, b Backend) {
	s := b.fresh(t)
	n := 0
	for workflow, rows := range map[string]int{"large": 120, "middle": 60, "small": 25} {
		for range rows {
			stored(t, s, n, workflow, runs.RunSucceeded, nil)
			n++
		}
	}
	now := Begin().Add(time.Hour)
	for _, c := range []struct {
		total                int
		large, middle, small int
	}{
		{250, 120, 60, 25}, {150, 65, 60, 25}, {120, 47, 47, 25}, {60, 20, 20, 20}, {1, 20, 20, 20},
	} {
		removed, err := s.Expire(t.Context(), store.Retention{MaxTotal: c.total, MaxRuns: 1000, Floor: 20}, now)
		if err != nil {
			t.Fatal(err)
		}
		for workflow, want := range map[string]int{"large": c.large, "middle": c.middle, "small": c.small} {
			if counts, err := s.Counts(workflow); err != nil || counts.Total() != want {
				t.Errorf("at most %d: %s has %d, want %d (%v)", c.total, workflow, counts.Total(), want, err)
			}
		}
		for _, one := range removed {
			if one.Cause != store.CauseMaxTotal {
				t.Errorf("removed %+v", one)
			}
		}
	}
}

// A sub-workflow's run counts with its parent's, and goes with it.
func expireTakesTheRunsOfSubWorkflowsWithTheirParents(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := range 30 {
		stored(t, s, 10*n, "parent", runs.RunSucceeded, nil)
		for c := range 3 {
			stored(t, s, 10*n+1+c, []string{"parent", "child"}[min(c, 1)], runs.RunSucceeded, func(run *runs.Run) {
				of := 10 * n
				if c == 2 { // of the second child
					of = 10*n + 2
				}
				run.Parent = &runs.ParentStep{Run: ID(of), Path: "call", Step: "call"}
			})
		}
	}
	now := Begin().Add(time.Hour)
	r := store.Retention{MaxRuns: 25, MaxTotal: 1000, Floor: 20, Keep: 24 * time.Hour}
	var want []int
	for n := range 5 {
		want = append(want, 10*n, 10*n+1, 10*n+2, 10*n+3)
	}
	expireWant(t, s, r, now, "families", want...)
	expireWant(t, s, r, now, "nothing more")
	if err := s.DeleteRun(ID(290)); err != nil {
		t.Fatal(err)
	}
	r.Keep = time.Minute
	removed, err := s.Expire(t.Context(), r, now)
	if err != nil {
		t.Fatal(err)
	}
	left, _, err := s.Runs(runs.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range left {
		if run.Parent == nil {
			continue
		}
		if _, err := s.Run(run.Parent.Run); err != nil {
			t.Errorf("run %s is left without its parent", run.ID)
		}
	}
	if counts, err := s.Counts("parent"); err != nil || counts.Total() != 40 {
		t.Errorf("%v left, %d removed, %v", counts, len(removed), err)
	}
}
