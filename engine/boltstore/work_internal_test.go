package boltstore

import (
	"path/filepath"
	"testing"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/storetest"
)

// TestTheWorkOfACommitter counts how often the committer looks for a place in a bucket,
// and what is allocated, for a run of three steps that is alone in its commits (ADR 74).
func TestTheWorkOfACommitter(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "flowrun.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	n := 0
	run := func() {
		n++
		storetest.Create(t, s, storetest.Row(n), n)
		ended := storetest.Closed(*storetest.Row(n))
		for seq := uint64(2); seq <= 4; seq++ {
			row := ended
			if seq < 4 {
				row = nil
			}
			if err := storetest.Append(s, storetest.ID(n), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, row); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 20 {
		run()
	}
	before := s.db.Stats().TxStats
	const runs = 50
	allocations := testing.AllocsPerRun(runs-1, run)
	after := s.db.Stats().TxStats
	cursors := float64(after.GetCursorCount()-before.GetCursorCount()) / runs
	t.Logf("%.1f places looked for, %.0f allocations a run", cursors, allocations)
	if most := 96.0; cursors > most {
		t.Errorf("%.1f places were looked for a run, at most %.0f are allowed", cursors, most)
	}
	if most := 1000.0; allocations > most {
		t.Errorf("%.0f allocations a run, at most %.0f are allowed", allocations, most)
	}
}

// TestTheCensusCountsWhatIsRemembered: a row that is changed without a look at the stored
// one, and index rows that are put and removed without one, leave the census as a count of
// the whole file finds it.
func TestTheCensusCountsWhatIsRemembered(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "flowrun.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, n := range []int{3, 1, 2} { // one behind the others, and two before
		storetest.Create(t, s, storetest.Row(n), n)
		for seq, status := range []runs.Status{runs.RunPaused, runs.RunRunning, runs.RunPaused, runs.RunFailed} {
			row := *storetest.Row(n)
			row.Status = status
			if status == runs.RunFailed {
				row = *storetest.Closed(row)
			}
			if err := storetest.Append(s, storetest.ID(n), []*journal.Record{storetest.Completed(uint64(seq)+2, `1`)}, &row); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.view(func(tx *bolt.Tx) error {
		counted, err := recount(tx)
		if err != nil {
			return err
		}
		stored, err := storedCensus(tx)
		if err != nil {
			return err
		}
		return stored.compare(counted)
	}); err != nil {
		t.Error(err)
	}
}
