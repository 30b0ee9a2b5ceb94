package storetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/store"
)

// Session is the nth session.
func Session(n int, expires time.Time) store.Session {
	return store.Session{Hash: sha256.Sum256(fmt.Append(nil, n)), Value: fmt.Append(nil, "of ", n), Expires: expires}
}

func sessionsOutliveTheProcessAndEnd(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	short, long := Session(1, Begin().Add(time.Hour)), Session(2, Begin().Add(24*time.Hour))
	for _, one := range []store.Session{short, long} {
		if err := s.PutSession(one, Begin()); err != nil {
			t.Fatal(err)
		}
	}
	b.shut(t, s, dir)
	s = b.open(t, dir)
	got, err := s.Sessions(Begin().Add(59 * time.Minute))
	if err != nil || !slices.ContainsFunc(got, func(one store.Session) bool { return Diff(one, short) == "" }) || len(got) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	left, err := s.Sessions(Begin().Add(time.Hour))
	if diff := Diff([]store.Session{long}, left); err != nil || diff != "" {
		t.Errorf("when one has ended: %v (-want +got):\n%s", err, diff)
	}
	third := Session(3, Begin().Add(3*time.Hour))
	if err := s.PutSession(third, Begin().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Sessions(Begin()); err != nil || len(left) != 2 {
		t.Errorf("what had ended is stored on: %+v, %v", left, err)
	}
	if err := s.DeleteSessions(long.Hash, third.Hash, short.Hash); err != nil {
		t.Fatal(err)
	}
	before := s.Stats().Commits
	if err := s.DeleteSessions(long.Hash); err != nil || s.Stats().Commits != before {
		t.Errorf("nothing to delete: %v, %d commits", err, s.Stats().Commits-before)
	}
	if left, err := s.Sessions(Begin()); err != nil || len(left) != 0 {
		t.Errorf("deleted, and %+v, %v", left, err)
	}
}
