package local_test

import (
	"fmt"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

// TestS9ReadsShareTheirCommits runs a hundred reads in sequence: their results
// wait for each other, so the disk is synced far less than once a step.
func TestS9ReadsShareTheirCommits(t *testing.T) {
	b := newBench(t)
	var steps []string
	for i := range 100 {
		steps = append(steps, fmt.Sprintf("s%d read", i))
	}
	before := b.store.Stats().Commits
	id := b.start(workflow(steps...))
	if err := b.driver.AwaitEnd(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if result := b.wait(id); result.Run.Status != runs.RunSucceeded {
		t.Fatalf("run ended as %+v", result.Run)
	}
	if commits := b.store.Stats().Commits - before; commits > 30 {
		t.Errorf("100 reads took %d commits", commits)
	}
}

// TestS9AnEffectTakesOneCommit is the control: each result with the next intent
// is one commit, and none is spared.
func TestS9AnEffectTakesOneCommit(t *testing.T) {
	b := newBench(t)
	var steps []string
	for i := range 20 {
		steps = append(steps, fmt.Sprintf("s%d keyed", i))
	}
	before := b.store.Stats().Commits
	id := b.start(workflow(steps...))
	if err := b.driver.AwaitEnd(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if commits := b.store.Stats().Commits - before; commits < 20 || commits > 22 {
		t.Errorf("20 effects took %d commits, want one each", commits)
	}
}
