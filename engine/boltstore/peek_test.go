package boltstore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/store"
)

// TestReadRowChangesNothing: the file is the same byte for byte afterwards, and a
// store that somebody has open is not read.
func TestReadRowChangesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.KV().Put("secrets", "TOKEN", []byte("sealed"), nil); err != nil {
		t.Fatal(err)
	}
	var locked *store.LockedError
	if _, _, err := ReadRow(path, Options{Timeout: 10 * time.Millisecond}, "secrets", "TOKEN"); !errors.As(err, &locked) {
		t.Errorf("of an open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"TOKEN": "sealed", "OTHER": ""} {
		value, found, err := ReadRow(path, Options{}, "secrets", key)
		if err != nil || string(value) != want || found != (want != "") {
			t.Errorf("%s = %q, %v, %v", key, value, found, err)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed (%v)", err)
	}
	if _, _, err := ReadRow(filepath.Join(t.TempDir(), "none.db"), Options{}, "secrets", "TOKEN"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no store: %v", err)
	}
	if err := os.WriteFile(path, before[:len(before)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadRow(path, Options{}, "secrets", "TOKEN"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("of a damaged store: %v", err)
	}
}
