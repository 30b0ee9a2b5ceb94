package boltstore_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/storetest"
)

// TestAnEndingIsLookedForByCursor: one list compares 20,000 ids at most; the cursor of its
// page goes on behind them.
func TestAnEndingIsLookedForByCursor(t *testing.T) {
	t.Parallel()
	s, err := boltstore.Open(filepath.Join(t.TempDir(), "flowrun.db"), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	const count, at = 20_600, 128
	var oldest runs.Run
	var writers sync.WaitGroup
	for from := range at {
		writers.Go(func() {
			for n := from; n < count; n += at {
				row := storetest.Row(n)
				storetest.CreateScattered(t, s, row, n)
				if n == 0 {
					oldest = *row
				}
			}
		})
	}
	writers.Wait()
	filter, pages := runs.Filter{IDSuffix: oldest.ID[18:], Limit: 2}, 0
	for {
		found, next, err := s.Runs(filter)
		if err != nil {
			t.Fatal(err)
		}
		if pages++; len(found) > 0 {
			if found[0].ID != oldest.ID || pages != 2 {
				t.Errorf("page %d has run %s", pages, found[0].ID)
			}
			return
		}
		if next == "" || pages > 3 {
			t.Fatalf("the run is not found on %d pages", pages)
		}
		filter.Cursor = next
	}
}
