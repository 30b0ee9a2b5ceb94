package boltstore_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
)

func session(n int, expires time.Time) store.Session {
	return store.Session{Hash: sha256.Sum256(fmt.Append(nil, n)), Value: fmt.Append(nil, "of ", n), Expires: expires}
}

func TestSessionsOutliveTheProcessAndEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	short, long := session(1, startOfTime.Add(time.Hour)), session(2, startOfTime.Add(24*time.Hour))
	for _, one := range []store.Session{short, long} {
		if err := s.PutSession(one, startOfTime); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
	s = openStore(t, path)
	got, err := s.Sessions(startOfTime.Add(59 * time.Minute))
	if err != nil || !slices.ContainsFunc(got, func(one store.Session) bool { return cmp.Equal(one, short) }) || len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	left, err := s.Sessions(startOfTime.Add(time.Hour))
	if diff := cmp.Diff([]store.Session{long}, left); err != nil || diff != "" {
		t.Errorf("when one has ended: %v (-want +got):\n%s", err, diff)
	}
	third := session(3, startOfTime.Add(3*time.Hour))
	if err := s.PutSession(third, startOfTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Sessions(startOfTime); err != nil || len(left) != 2 {
		t.Errorf("what had ended is stored on: %+v, %v", left, err)
	}
	if err := s.DeleteSessions(long.Hash, third.Hash, short.Hash); err != nil {
		t.Fatal(err)
	}
	before := s.Stats().Commits
	if err := s.DeleteSessions(long.Hash); err != nil || s.Stats().Commits != before {
		t.Errorf("nothing to delete: %v, %d commits", err, s.Stats().Commits-before)
	}
	if left, err := s.Sessions(startOfTime); err != nil || len(left) != 0 {
		t.Errorf("deleted, and %+v, %v", left, err)
	}
}

// A restore brings back what a backup held; a login that was ended since must not
// come with it.
func TestSessionsEndWithARestore(t *testing.T) {
	folder := t.TempDir()
	s := newStore(t)
	if err := s.PutSession(session(1, startOfTime.Add(time.Hour)), startOfTime); err != nil {
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
	if left, err := restored.Sessions(startOfTime); err != nil || len(left) != 0 {
		t.Errorf("%d sessions, %v", len(left), err)
	}
}
