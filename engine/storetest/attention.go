package storetest

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// finish gives a run its status.
func finish(t *testing.T, s store.Store, n int, status runs.Status, edit func(*runs.Run)) {
	t.Helper()
	run := Row(n)
	run.Status = status
	if edit != nil {
		edit(run)
	}
	if err := Append(s, run.ID, nil, run); err != nil {
		t.Fatal(err)
	}
}

func needing(t *testing.T, s store.Store, workflow string) (numbers []int) {
	t.Helper()
	rows, _, err := s.Runs(runs.Filter{Attention: true, Workflow: workflow})
	if err != nil {
		t.Fatal(err)
	}
	count, err := s.AttentionCount(workflow)
	if err != nil || count != len(rows) {
		t.Errorf("%d counted, %d listed, %v", count, len(rows), err)
	}
	for _, one := range rows {
		numbers = append(numbers, int(one.StartedAt.Sub(Begin())/time.Second))
	}
	return numbers
}

func aFailureNeedsSomebodyUntilItIsSettled(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := range 8 {
		Create(t, s, Row(n), n)
	}
	want := func(what string, numbers ...int) {
		t.Helper()
		if diff := Diff(numbers, needing(t, s, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if diff := Diff(numbers, needing(t, s, "weekly")); diff != "" {
			t.Errorf("%s, of the workflow (-want +got):\n%s", what, diff)
		}
	}
	finish(t, s, 1, runs.RunFailed, nil)
	finish(t, s, 2, runs.RunTimedOut, nil)
	finish(t, s, 3, runs.RunPaused, nil)
	finish(t, s, 4, runs.RunFailed, func(run *runs.Run) { run.Parent = &runs.ParentStep{Run: ID(0), Path: "call"} })
	finish(t, s, 6, runs.RunFailed, nil)
	want("the newest first, without a sub-workflow's", 6, 3, 2, 1)

	finish(t, s, 0, runs.RunSucceeded, nil)
	want("a run from before them settles nothing", 6, 3, 2, 1)

	looked, err := s.Look([]string{ID(1), ID(3), ID(7)}, "ann", Begin())
	if diff := Diff([]string{ID(1)}, looked); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	want("one was looked at, a paused one waits for an act", 6, 3, 2)
	look, needed, err := s.Looked(ID(1))
	if err != nil || needed || look == nil || look.By != "ann" || !look.At.Equal(Begin()) {
		t.Errorf("looked %+v, needed %t, %v", look, needed, err)
	}

	finish(t, s, 5, runs.RunSucceeded, nil)
	want("a later success settles what failed before it", 6, 3)

	finish(t, s, 1, runs.RunRunning, func(run *runs.Run) { run.Attempt = 2 })
	finish(t, s, 1, runs.RunFailed, func(run *runs.Run) { run.Attempt = 2 })
	want("one that was resumed failed again", 6, 3, 1)
	if look, needed, err := s.Looked(ID(1)); err != nil || !needed || look != nil {
		t.Errorf("looked %+v, needed %t, %v", look, needed, err)
	}
	finish(t, s, 7, runs.RunWaiting, func(run *runs.Run) { run.Asks = 2 })
	want("one asks a person", 7, 6, 3, 1)
	finish(t, s, 7, runs.RunWaiting, func(run *runs.Run) { run.Asks = 1 })
	want("it was answered once", 7, 6, 3, 1)
	finish(t, s, 7, runs.RunRunning, nil)
	want("it goes on", 6, 3, 1)
	finish(t, s, 3, runs.RunCanceled, nil)
	want("one that was paused is canceled", 6, 1)
	if err := s.DeleteRun(ID(6)); err != nil {
		t.Fatal(err)
	}
	want("one was removed", 1)
}
