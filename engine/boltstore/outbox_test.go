package boltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/storetest"
)

// What was there before a restore says so, and the restore itself tells nobody.
func TestP15TheOutboxOfARestoredStoreIsOfAnotherEpoch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := boltstore.Open(filepath.Join(dir, "flowrun.db"), quick())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Closed(*storetest.Row(1)), 1)
	storetest.Create(t, s, storetest.Row(2), 2) // is paused by the restore
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := boltstore.Restore(t.Context(), filepath.Join(dir, "backup.db"), filepath.Join(dir, "flowrun.db"), quick())
	if err != nil || info.Parked != 1 {
		t.Fatal(info, err)
	}
	s = openStore(t, filepath.Join(dir, "flowrun.db"))
	storetest.Create(t, s, storetest.Closed(*storetest.Row(3)), 3)
	entries := storetest.OutboxOf(t, s)
	if len(entries) != 2 || entries[0].Epoch == info.Epoch || entries[1].Epoch != info.Epoch || entries[1].Run.ID != storetest.ID(3) {
		t.Errorf("epoch %d, outbox %+v", info.Epoch, entries)
	}
}
