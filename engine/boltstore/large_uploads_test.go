package boltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// Uploads are dropped with their call where a process before has made them, and where the
// store has been found without any before; a store without any is not read for that.
func TestUploadsAreDroppedWhoeverMadeThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	prefix := store.UploadPrefix("fetch", "call")
	s := openTimed(t, path)
	storetest.Create(t, s, storetest.Row(1), 1)
	drop := func() {
		t.Helper()
		if err := s.Blobs(nil).DropUploads(storetest.ID(1), prefix, nil); err != nil {
			t.Fatal(err)
		}
	}
	left := func(want int) {
		t.Helper()
		if files := largeFiles(t, path); len(files) != want {
			t.Errorf("%d files of large values, want %d", len(files), want)
		}
	}
	drop()
	putLarge(t, s, 1, 1)
	left(1)
	drop()
	left(0)
	putLarge(t, s, 1, 2)
	closeStore(t, s)

	s = openTimed(t, path)
	left(1)
	drop()
	left(0)
	closeStore(t, s)

	s = openTimed(t, path)
	drop()
	if got := testing.AllocsPerRun(100, drop); got > 6 {
		t.Errorf("a call without uploads costs the store %.0f allocations", got)
	}
	closeStore(t, s)
	if err := checkLarge(t, path).Err(); err != nil {
		t.Error(err)
	}
}
