package boltstore_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// childVariable makes the test program play a child process.
const childVariable = "BOLTSTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		os.Exit(child(role))
	}
	testparallel.AtLeast(8)
	keepInMemory()
	goleak.VerifyTestMain(m)
}

// memoryRoom is what must be free in memory so that the stores of tests lie there: some
// times what they take together.
const memoryRoom = 4 << 30

// keepInMemory puts the temporary folders of tests into memory, where there is room and
// nobody says another place: what a loss of power leaves is the subject of
// test/storefaults, and here a sync only takes time.
func keepInMemory() {
	const folder = "/dev/shm"
	var memory syscall.Statfs_t
	if err := syscall.Statfs(folder, &memory); err == nil && memory.Bavail*uint64(memory.Bsize) >= memoryRoom && os.Getenv("TMPDIR") == "" {
		_ = os.Setenv("TMPDIR", folder) // where it can't be set, folders are where they were
	}
}

// smallMap keeps the address space of many stores small.
const smallMap = 32 << 20

func newStore(t testing.TB) *boltstore.Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "flowrun.db"))
}

func openStore(t testing.TB, path string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
