package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
)

// A large file is read while it is in use; what is found stops the store.
func TestP14ALargeFileIsCheckedInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	if _, err := s.KV().Put("tokens", "a", []byte("sound"), nil); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path) // as a kill leaves it
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"sound": "wrong", "what was answered": "What was answered", "nothing": "nothing"} {
		if err := os.WriteFile(path, bytes.ReplaceAll(content, []byte(from), []byte(to)), 0o600); err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		options := quick()
		options.CheckAtStart = 1
		options.OnFail = func(err error) { failed <- err }
		s, err := boltstore.Open(path, options)
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		limit := 10 * time.Second
		if from == to {
			limit = 100 * time.Millisecond
		}
		select {
		case err := <-failed:
			if from == to || !errors.Is(err, store.ErrFailed) || !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s: %v", from, err)
			}
		case <-time.After(limit):
			if from != to {
				t.Errorf("%s: nothing was found", from)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After a kill the indexes of a large file are compared behind its open. What is found
// stops the store, is the error of its close too, and is told at the next start.
func TestP14IndexesOfALargeFileAreComparedBehindTheOpen(t *testing.T) {
	t.Parallel()
	path, killed := filepath.Join(t.TempDir(), "flowrun.db"), filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	copyStore(t, path, killed)
	large := quick()
	large.CompareAtStart = 1
	sound, err := boltstore.Open(killed, large)
	if err != nil {
		t.Fatal(err)
	}
	if err := sound.Close(); err != nil {
		t.Fatal(err)
	}
	if !whole(t, killed).Closed {
		t.Error("a sound file was not closed")
	}
	if err := s.LoseIndexRowForTest(); err != nil {
		t.Fatal(err)
	}
	copyStore(t, path, killed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, waits := range []bool{true, false} {
		failed := make(chan error, 1)
		large.OnFail = func(err error) { failed <- err }
		s, err := boltstore.Open(killed, large)
		if err != nil {
			t.Fatal(err)
		}
		if waits {
			select {
			case err := <-failed:
				if !errors.Is(err, store.ErrFailed) || !errors.Is(err, store.ErrCorrupt) {
					t.Errorf("it has stopped with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("nothing was found")
			}
		}
		if err := s.Close(); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("waits %t: the close: %v", waits, err)
		}
	}
	if _, err := boltstore.Open(killed, quick()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("an open of a small file: %v", err)
	}
}
