package local_test

import (
	"context"
	"testing"

	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestWatchersOfHowThingsStandGetNoRecords: those with pages are large. Another watcher
// of the same run gets each, and both hear of its end.
func TestWatchersOfHowThingsStandGetNoRecords(t *testing.T) {
	b := newBench(t)
	gate := make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		select {
		case <-gate:
			return done()
		case <-ctx.Done():
			return hang(ctx, r)
		}
	}
	id := b.start(workflow("a read", "b read"))
	stand, err := b.driver.Watch(t.Context(), id, local.NoRecords)
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.driver.Watch(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	count := func(updates <-chan local.Update) map[local.UpdateKind]int {
		kinds := map[local.UpdateKind]int{}
		for update := range updates {
			kinds[update.Kind]++
		}
		return kinds
	}
	if kinds := count(stand); kinds[local.UpdateRecord] > 0 || kinds[local.UpdateStep] == 0 || kinds[local.UpdateEnd] != 1 {
		t.Errorf("who watches for how things stand gets %v", kinds)
	}
	if kinds := count(all); kinds[local.UpdateRecord] < 3 || kinds[local.UpdateEnd] != 1 {
		t.Errorf("who wants all gets %v", kinds)
	}
}
