package boltstore_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
)

// emptied closes a store of which almost all pages are free, as after retention.
func emptied(t *testing.T, rows int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	key := func(n int) string { return fmt.Sprintf("%04d", n) }
	for n := range rows {
		if _, err := s.KV().Put("gone", key(n), make([]byte, 1<<20), nil); err != nil {
			t.Fatal(err)
		}
	}
	for n := range rows {
		if err := s.KV().Delete("gone", key(n), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// commitCost opens a store by its seal and counts what a commit of a small row writes
// and allocates.
func commitCost(t *testing.T, path string) (written, allocated uint64) {
	t.Helper()
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.UnreadPages() == 0 {
		t.Fatal("it was read whole at the start")
	}
	put := func() {
		if _, err := s.KV().Put("a", "b", []byte("c"), nil); err != nil {
			t.Fatal(err)
		}
	}
	put() // the first one gives up what the close has stored
	const commits = 50
	var before, after runtime.MemStats
	begun := s.Stats()
	runtime.ReadMemStats(&before)
	for range commits {
		put()
	}
	runtime.ReadMemStats(&after)
	ended := s.Stats()
	return (ended.Bytes - begun.Bytes) / (ended.Commits - begun.Commits), (after.TotalAlloc - before.TotalAlloc) / commits
}

// A commit of a store of which retention has left a part costs what one of a small store
// does, from the first moment on (S12). It is no parallel test, since it counts what the
// process allocates.
func TestGateACommitBesideManyFreePages(t *testing.T) {
	few, fewAllocated := commitCost(t, emptied(t, 1))
	many, manyAllocated := commitCost(t, emptied(t, 60))
	t.Logf("a commit beside 1 and 60 MiB of free pages: %d and %d bytes written, %d and %d allocated", few, many, fewAllocated, manyAllocated)
	if many > few || many > 16<<10 {
		t.Errorf("a commit writes %d bytes beside few free pages, %d beside many", few, many)
	}
	if manyAllocated > fewAllocated+fewAllocated/4 {
		t.Errorf("a commit allocates %d bytes beside few free pages, %d beside many", fewAllocated, manyAllocated)
	}
}
