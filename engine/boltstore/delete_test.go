package boltstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// closeRun ends a run at a moment.
func closeRun(t *testing.T, s *boltstore.Store, run *runs.Run, at time.Time) {
	t.Helper()
	ended := *run
	ended.Status, ended.FinishedAt, ended.Closed = runs.RunSucceeded, &at, true
	if err := storetest.Append(s, run.ID, nil, &ended); err != nil {
		t.Fatal(err)
	}
}

func bucketKeys(t *testing.T, s *boltstore.Store) map[string]int {
	t.Helper()
	stats, err := s.BucketStats()
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]int{}
	for _, stat := range stats {
		if stat.Keys > 0 {
			keys[stat.Name] = stat.Keys
		}
	}
	return keys
}

// bigRun has more records than one transaction removes, and large values that
// it shares with another run.
func bigRun(t *testing.T, s *boltstore.Store, n int) {
	t.Helper()
	storetest.Create(t, s, storetest.Row(n), n)
	shared, _ := json.Marshal(strings.Repeat("shared ", 20_000))
	own, _ := json.Marshal(strings.Repeat(fmt.Sprintf("own %d ", n), 20_000))
	seq := uint64(2)
	for range 5 {
		var records []*journal.Record
		for range 1000 {
			records = append(records, storetest.Completed(seq, `{"n":1}`))
			seq++
		}
		if err := storetest.Append(s, storetest.ID(n), records, nil, runs.Log{At: storetest.Begin(), Step: "a", Message: "line"}); err != nil {
			t.Fatal(err)
		}
	}
	large := []*journal.Record{storetest.Completed(seq, string(shared)), storetest.Completed(seq+1, string(own)), storetest.Completed(seq+2, string(shared))}
	if err := storetest.Append(s, storetest.ID(n), large, nil); err != nil {
		t.Fatal(err)
	}
}

func TestDeleteRunLeavesNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/flowrun.db"
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	empty := bucketKeys(t, s)
	fillFixture(t, s)
	var ids []string
	rows, _, err := s.Runs(runs.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range rows {
		if !run.Closed {
			if run.Status != runs.RunPaused {
				if err := s.DeleteRun(run.ID); !errors.Is(err, store.ErrRunOpen) {
					t.Errorf("delete of a run that is %s: %v", run.Status, err)
				}
			}
			closeRun(t, s, &run, storetest.Begin())
		}
		ids = append(ids, run.ID)
	}
	for _, runID := range ids {
		if err := s.DeleteRun(runID); err != nil {
			t.Error(err)
		}
		if _, err := s.Run(runID); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("a deleted run: %v", err)
		}
		if err := s.DeleteRun(runID); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("a second delete: %v", err)
		}
	}
	got := bucketKeys(t, s)
	for _, kept := range []string{"kv", "state", "cursors", "state_history"} {
		delete(got, kept)
	}
	if diff := storetest.Diff(empty, got); diff != "" {
		t.Errorf("left over (-empty +got):\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
}

// What another run needs stays; a kill at any commit leaves a store that goes on
// with the deletion.
func TestP1ADeletionKilledAtAnyCommitGoesOn(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/flowrun.db"
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	bigRun(t, s, 1)
	bigRun(t, s, 2)
	closeRun(t, s, storetest.Row(1), storetest.Begin())
	kept := read(t, s).Records[storetest.ID(2)]
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	options, taken := images(t, path, quick())
	if s, err = boltstore.Open(path, options); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRun(storetest.ID(1)); err != nil {
		t.Fatal(err)
	}
	steps := taken()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 3 {
		t.Fatalf("the deletion has %d commits", len(steps))
	}
	for i, image := range steps {
		whole(t, image) // half a deletion is no damage
		s := openStore(t, image)
		if _, err := s.Run(storetest.ID(1)); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("killed after commit %d: the run: %v", i+1, err)
		}
		if diff := storetest.Diff(kept, read(t, s).Records[storetest.ID(2)]); diff != "" {
			t.Errorf("killed after commit %d: the other run (-want +got):\n%.2000s", i+1, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if report := whole(t, image); report.Records != len(kept) || report.Blobs != 2 {
			t.Errorf("killed after commit %d: %d records, %d large values are left", i+1, report.Records, report.Blobs)
		}
	}
}
