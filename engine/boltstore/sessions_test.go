package boltstore_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/boltstore"
)

func session(n int, expires time.Time) boltstore.Session {
	return boltstore.Session{Hash: sha256.Sum256(fmt.Append(nil, n)), Value: fmt.Append(nil, "of ", n), Expires: expires}
}

func TestSessionsOutliveTheProcessAndEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	short, long := session(1, startOfTime.Add(time.Hour)), session(2, startOfTime.Add(24*time.Hour))
	for _, one := range []boltstore.Session{short, long} {
		if err := s.PutSession(one, startOfTime); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
	s = openStore(t, path)
	got, found, err := s.Session(short.Hash, startOfTime.Add(59*time.Minute))
	if diff := cmp.Diff(short, got); err != nil || !found || diff != "" {
		t.Errorf("found %t, %v (-want +got):\n%s", found, err, diff)
	}
	if _, found, err := s.Session(short.Hash, startOfTime.Add(time.Hour)); found || err != nil {
		t.Errorf("one that has ended: %t, %v", found, err)
	}
	if err := s.ExpireSessions(startOfTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	left, err := s.Sessions(startOfTime)
	if diff := cmp.Diff([]boltstore.Session{long}, left); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	before := s.Stats().Commits
	if err := s.ExpireSessions(startOfTime.Add(time.Hour)); err != nil || s.Stats().Commits != before {
		t.Errorf("nothing to expire: %v, %d commits", err, s.Stats().Commits-before)
	}
	if err := s.DeleteSessions(long.Hash, short.Hash); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.Session(long.Hash, startOfTime); found || err != nil {
		t.Errorf("one that was deleted: %t, %v", found, err)
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
