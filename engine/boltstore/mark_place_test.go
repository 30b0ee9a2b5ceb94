package boltstore_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/storetest"
)

// TestTheMarkIsWrittenInItsPlace: the file beside a store keeps its size and its inode, so
// that no more than one block is made durable. One of a version before, shorter, is
// replaced once, and one that is empty after a power loss.
func TestTheMarkIsWrittenInItsPlace(t *testing.T) {
	t.Parallel()
	now := storetest.Begin()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	startOne(t, path, ticking(&now), 1)
	for n, before := range []string{"", `{"count":2,"at":"2026-01-02T03:04:05Z"}` + "\n", "{}"} {
		if err := os.WriteFile(path+".mark", []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
		startOne(t, path, ticking(&now), 2+2*n) // it is made anew
		held, err := os.Open(path + ".mark")    // its number is not given to another file meanwhile
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		first, err := held.Stat()
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour + 123*time.Nanosecond) // a longer text
		startOne(t, path, ticking(&now), 3+2*n)
		second, err := os.Stat(path + ".mark")
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(first, second) || first.Size() != second.Size() {
			t.Errorf("after %q: %d bytes in one file, %d in another", before, first.Size(), second.Size())
		}
	}
}
