package boltstore_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// markCount is that of the file beside a store.
func markCount(t *testing.T, path string) uint64 {
	t.Helper()
	data, err := os.ReadFile(path + ".mark")
	if err != nil {
		t.Fatal(err)
	}
	var mark struct {
		Count uint64 `json:"count"`
	}
	if err := json.Unmarshal(data, &mark); err != nil {
		t.Fatal(err)
	}
	return mark.Count
}

// The mark rises once for a start with one change, since a copy from before the close
// holds that change; with more, the close raises it, and a copy from between is told.
func TestACloseRaisesTheMarkOverWhatIsNewAlone(t *testing.T) {
	t.Parallel()
	now := storetest.Begin()
	for changes := range 4 {
		path := filepath.Join(t.TempDir(), "flowrun.db")
		startOne(t, path, ticking(&now), 100)
		before := markCount(t, path)
		s, err := boltstore.Open(path, ticking(&now))
		if err != nil {
			t.Fatal(err)
		}
		for n := range changes {
			storetest.Create(t, s, storetest.Row(n), n)
			if n == 0 {
				copyStore(t, path, path+".then")
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got, want := markCount(t, path)-before, uint64(min(changes, 2)); got != want {
			t.Errorf("%d changes: the mark has risen by %d, not by %d", changes, got, want)
		}
		if changes == 0 {
			continue
		}
		if err := os.Rename(path+".then", path); err != nil {
			t.Fatal(err)
		}
		then, err := boltstore.Open(path, ticking(&now))
		if told := errors.As(err, new(*store.RolledBackError)); told != (changes > 1) {
			t.Errorf("%d changes: the copy from behind the first: %v", changes, err)
		}
		if err != nil {
			continue
		}
		if _, err := then.Run(storetest.ID(0)); err != nil {
			t.Errorf("the copy that is taken lacks the change: %v", err)
		}
		if err := then.Close(); err != nil {
			t.Error(err)
		}
	}
}
