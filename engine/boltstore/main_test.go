package boltstore_test

import (
	"os"
	"path/filepath"
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
	goleak.VerifyTestMain(m)
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
