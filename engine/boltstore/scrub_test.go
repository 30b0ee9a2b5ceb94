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
