package boltstore_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/storetest"
)

// A restore brings back what a backup held; a login that was ended since must not
// come with it.
func TestSessionsEndWithARestore(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := newStore(t)
	if err := s.PutSession(storetest.Session(1, storetest.Begin().Add(time.Hour)), storetest.Begin()); err != nil {
		t.Fatal(err)
	}
	backup, path := filepath.Join(folder, "backup.db"), filepath.Join(folder, "flowrun.db")
	if _, err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if _, err := boltstore.Restore(t.Context(), backup, path, quick()); err != nil {
		t.Fatal(err)
	}
	restored := openStore(t, path)
	if left, err := restored.Sessions(storetest.Begin()); err != nil || len(left) != 0 {
		t.Errorf("%d sessions, %v", len(left), err)
	}
}
