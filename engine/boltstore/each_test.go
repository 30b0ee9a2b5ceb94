package boltstore_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// TestIssue13_08AHoleInAJournalIsNoticed: also where a read begins with it.
func TestIssue13_08AHoleInAJournalIsNoticed(t *testing.T) {
	t.Parallel()
	for _, hole := range []uint64{1, 2, 700, 1000, 1001, 2001, storetest.ManyRecords - 1} {
		path := filepath.Join(t.TempDir(), "flowrun.db")
		s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
		if err != nil {
			t.Fatal(err)
		}
		storetest.FillMany(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		boltstore.DropRecordForTest(t, path, storetest.ID(1), hole)
		s = openStore(t, path)
		var corrupt *store.CorruptError
		last := uint64(0)
		err = s.EachRecord(storetest.ID(1), 1, func(record *journal.Record) error {
			if last++; record.Seq != last {
				t.Errorf("record %d was shown after %d", record.Seq, last-1)
			}
			return nil
		})
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "missing") || last >= hole {
			t.Errorf("without record %d: %d were shown, %v", hole, last, err)
		}
		if _, err := s.Records(storetest.ID(1), 1, 0); !errors.As(err, &corrupt) {
			t.Errorf("without record %d Records says %v", hole, err)
		}
	}
}
