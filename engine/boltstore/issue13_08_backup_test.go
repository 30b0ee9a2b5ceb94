package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
)

// TestIssue13_08BackupsAreChecked: what is wrong with the content of a store in use
// is found before a backup of it gets its name, not when it is needed.
func TestIssue13_08BackupsAreChecked(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *boltstore.Store, path string) error{
		"sound":              func(*boltstore.Store, string) error { return nil },
		"a lost index row":   func(s *boltstore.Store, _ string) error { return s.LoseIndexRowForTest() },
		"lost before a stop": nil, // nothing was written since: only the check looks
		"a byte of a record": func(_ *boltstore.Store, path string) error { return spoilInUse(path, "what was answered") },
	} {
		t.Run(name, func(t *testing.T) {
			path := closedStore(t)
			if spoil == nil {
				s := openStore(t, path)
				if err := errors.Join(s.LoseIndexRowForTest(), s.Close()); err != nil {
					t.Fatal(err)
				}
				spoil = func(*boltstore.Store, string) error { return nil }
			}
			s := openStore(t, path)
			if err := spoil(s, path); err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			_, err := s.Backup(t.Context(), filepath.Join(folder, "backup.db"))
			if name == "sound" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%v", err)
			}
			left, err := os.ReadDir(folder)
			if err != nil || len(left) != 0 {
				t.Errorf("it left %v (%v)", left, err)
			}
		})
	}
}

// spoilInUse changes a byte of a text wherever the file holds it.
func spoilInUse(path, text string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	found := false
	for from := 0; ; {
		at := bytes.Index(content[from:], []byte(text))
		if at < 0 {
			break
		}
		from += at + 1
		found = true
		if _, err := file.WriteAt([]byte{'W'}, int64(from-1)); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("the text is not there")
	}
	return nil
}
