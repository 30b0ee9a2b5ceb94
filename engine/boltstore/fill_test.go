package boltstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// bytesOf are the pages of a bucket, in bytes.
func bytesOf(t *testing.T, s *boltstore.Store, bucket string) int64 {
	t.Helper()
	stats, err := s.BucketStats()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range stats {
		if of.Name == bucket {
			return of.Bytes
		}
	}
	t.Fatalf("no bucket %s", bucket)
	return 0
}

// TestAJournalThatGrowsAtItsEndFillsItsPages: the records of one run after the other
// stand in full pages. Cut in the middle, they would take twice as many.
func TestAJournalThatGrowsAtItsEndFillsItsPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const records = 400
	for n := range 2 {
		storetest.Create(t, s, storetest.Row(n), n)
		for seq := uint64(2); seq <= records; seq++ {
			if err := storetest.Append(s, storetest.ID(n), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	live, pages := liveBytes(t, s, 2), bytesOf(t, s, "journal")
	if share := float64(live) / float64(pages); share < 0.7 {
		t.Errorf("%d bytes of records take %d bytes of pages: %.0f %% of them are used", live, pages, 100*share)
	}
}

// TestRunsBesideEachOtherLeaveRoomInTheirPages: records of many runs at a time come
// between others. A page that is cut where it is full would be cut again by the next one.
func TestRunsBesideEachOtherLeaveRoomInTheirPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const runs, records = 64, 12
	for n := range runs {
		storetest.Create(t, s, storetest.Row(n), n)
	}
	for seq := uint64(2); seq <= records; seq++ {
		release := s.BlockCommitter()
		for n := range runs {
			s.Append(storetest.ID(n), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, nil, nil, nil)
		}
		release()
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	live, pages := liveBytes(t, s, runs), bytesOf(t, s, "journal")
	if share := float64(live) / float64(pages); share < 0.5 {
		t.Errorf("%d bytes of records take %d bytes of pages: %.0f %% of them are used", live, pages, 100*share)
	}
}

// liveBytes are the records of the first runs, with their keys and what bbolt notes of each.
func liveBytes(t *testing.T, s *boltstore.Store, runs int) (total int64) {
	t.Helper()
	const ofKey, ofElement = 24, 16
	use := func(run store.RunUse) error {
		total += run.Records
		return nil
	}
	if err := s.EachRunUse(use); err != nil {
		t.Fatal(err)
	}
	for n := range runs {
		records, err := s.Records(storetest.ID(n), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		total += int64(len(records) * (ofKey + ofElement))
	}
	return total
}

// TestAnIndexOfManyWorkflowsKeepsItsPagesUsed: its keys come at a thousand places, and
// with one workflow at a single one.
func TestAnIndexOfManyWorkflowsKeepsItsPagesUsed(t *testing.T) {
	t.Parallel()
	for _, workflows := range []int{1, 100} {
		s := newStore(t)
		const runs, atOnce = 2000, 10
		for n := 0; n < runs; n += atOnce {
			var all sync.WaitGroup
			release := s.BlockCommitter()
			for i := n; i < n+atOnce; i++ {
				all.Go(func() {
					row := storetest.Row(i)
					row.Workflow = fmt.Sprintf("workflow-with-a-name-%03d", i*37%workflows)
					storetest.Create(t, s, row, i)
				})
			}
			release()
			all.Wait()
		}
		const element = 2 + 24 + 16 + 5 + 16 // of a key, its seal and what bbolt notes of it
		pages := bytesOf(t, s, "runs_by_workflow")
		if share := float64(runs*element) / float64(pages); share < 0.5 {
			t.Errorf("%d workflows: the rows of %d runs take %d bytes of pages: %.0f %% of them are used", workflows, runs, pages, 100*share)
		}
	}
}
