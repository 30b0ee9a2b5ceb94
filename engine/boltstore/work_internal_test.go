package boltstore

import (
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
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
	if most := 108.0; cursors > most {
		t.Errorf("%.1f places were looked for a run, at most %.0f are allowed", cursors, most)
	}
}
