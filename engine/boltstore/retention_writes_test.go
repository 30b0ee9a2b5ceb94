package boltstore_test

import (
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// The sizes of the test below.
const (
	keptRuns  = 500
	batchRuns = 25 // side by side: each of their changes is a commit for all
	moreRuns  = 4000
)

// TestRetentionKeepsCommitsAndTheFileSmall: with retention on, a commit after many runs
// writes what it wrote before, and the file has had twice the pages in use that it has
// now, at most (S12). Its size is theirs, rounded up to a step in which files grow.
// FLOWRUN_RETENTION_RUNS=100000 is its full form.
func TestRetentionKeepsCommitsAndTheFileSmall(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	n := 0
	for n < keptRuns {
		n = runBatch(t, s, n)
	}
	before, n := bytesOfCommits(t, s, n)
	for end := n + suitesize.Of(t, "FLOWRUN_RETENTION_RUNS", moreRuns); n < end; {
		n = runBatch(t, s, n)
		if n%(4*batchRuns) != 0 {
			continue
		}
		if _, err := s.Expire(t.Context(), store.Retention{MaxRuns: keptRuns}, storetest.Begin()); err != nil {
			t.Fatal(err)
		}
		if err := s.DropOutbox(1 << 62); err != nil { // a server has handed them on
			t.Fatal(err)
		}
	}
	after, _ := bytesOfCommits(t, s, n)
	stats, err := s.BucketStats()
	if err != nil {
		t.Fatal(err)
	}
	var live int64
	for _, bucket := range stats {
		live += bucket.Bytes
	}
	pages, err := s.PagesForTest()
	if err != nil {
		t.Fatal(err)
	}
	most := pages * 4096
	t.Logf("a commit wrote %.0f bytes and writes %.0f after %d runs; the file's pages have %d bytes, %d of them are in use", before, after, n, most, live)
	if after > 1.3*before {
		t.Errorf("a commit wrote %.0f bytes, after %d runs it writes %.0f", before, n, after)
	}
	if most > 2*live {
		t.Errorf("the file has pages of %d bytes for %d in use", most, live)
	}
}

// bytesOfCommits is what a commit of some batches writes.
func bytesOfCommits(t *testing.T, s *boltstore.Store, n int) (bytes float64, next int) {
	t.Helper()
	before := s.Stats()
	for range 8 {
		n = runBatch(t, s, n)
	}
	after := s.Stats()
	return float64(after.Bytes-before.Bytes) / float64(after.Commits-before.Commits), n
}

// runBatch drives runs of three steps to their end, side by side.
func runBatch(t *testing.T, s *boltstore.Store, n int) (next int) {
	t.Helper()
	release := s.BlockCommitter()
	var all sync.WaitGroup
	for i := range batchRuns {
		all.Go(func() { storetest.Create(t, s, storetest.Row(n+i), n+i) })
	}
	release()
	all.Wait()
	for seq := uint64(2); seq <= 4; seq++ {
		release := s.BlockCommitter()
		for i := range batchRuns {
			var row *runs.Run
			if seq == 4 {
				row = storetest.Row(n + i)
				at := row.StartedAt.Add(time.Second)
				row.Status, row.Closed, row.FinishedAt = runs.RunSucceeded, true, &at
			}
			s.Append(storetest.ID(n+i), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, row, nil, nil)
		}
		release()
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return n + batchRuns
}
