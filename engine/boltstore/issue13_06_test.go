package boltstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// ticking are options with a clock that the test moves.
func ticking(now *time.Time) boltstore.Options {
	o := quick()
	o.Marks = true
	o.Now = func() time.Time { return *now }
	return o
}

// startOne opens the store, starts the nth run and closes.
func startOne(t *testing.T, path string, o boltstore.Options, n int) {
	t.Helper()
	s, err := boltstore.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Row(n), n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIssue13_06AnOlderCopyIsNoticed(t *testing.T) {
	t.Parallel()
	now := storetest.Begin()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	startOne(t, path, ticking(&now), 1)
	older := path + ".older"
	copyStore(t, path, older)
	now = now.Add(2 * time.Hour)
	startOne(t, path, ticking(&now), 2)
	for range 3 { // to look is no change
		s, err := boltstore.Open(path, ticking(&now))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	copyStore(t, older, path)
	_, err := boltstore.Open(path, ticking(&now))
	var rolled *store.RolledBackError
	if !errors.As(err, &rolled) || !rolled.Stored.Equal(storetest.Begin()) || !rolled.Beside.Equal(now) {
		t.Fatalf("%v", err)
	}
	// Control: without the file beside nobody can tell.
	beside, err := os.ReadFile(path + ".mark")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + ".mark"); err != nil {
		t.Fatal(err)
	}
	s, err := boltstore.Open(path, ticking(&now))
	if err != nil {
		t.Fatalf("control: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".mark", beside, 0o600); err != nil {
		t.Fatal(err)
	}

	options := ticking(&now)
	options.AcceptRollback = true
	before := now
	s, err = boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	if told := s.Rollback(); told == nil || told.Parked != 1 || told.Epoch == 0 || !told.Stored.Equal(storetest.Begin()) || !told.Beside.Equal(before) {
		t.Errorf("%+v", s.Rollback())
	}
	epoch, err := s.Epoch()
	if err != nil || epoch == 0 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	if run, err := s.Run(storetest.ID(1)); err != nil || run.Status != runs.RunPaused || run.Error == nil || run.Error.Reason != "restored" {
		t.Errorf("%+v, %v", run, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	startOne(t, path, ticking(&now), 3) // it goes on without a word
	whole(t, path)
	copyStore(t, older, path) // and is behind again
	if _, err := boltstore.Open(path, ticking(&now)); !errors.As(err, &rolled) {
		t.Errorf("%v", err)
	}
}

// A copy of a running store is noticed too: what is changed a minute later has another
// mark, and so has the close.
func TestIssue13_06ACopyInUseIsNoticed(t *testing.T) {
	t.Parallel()
	now := storetest.Begin()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, ticking(&now))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Row(1), 1)
	copyStore(t, path, path+".then")
	now = now.Add(61 * time.Second)
	storetest.Create(t, s, storetest.Row(2), 2)
	copyStore(t, path, path+".killed")
	for _, file := range []string{".then", ".killed"} { // as after a kill -9
		other := filepath.Join(t.TempDir(), "flowrun.db")
		copyStore(t, path+file, other)
		copyStore(t, path+".mark", other+".mark")
		opened, err := boltstore.Open(other, ticking(&now))
		var rolled *store.RolledBackError
		switch {
		case file == ".then" && !errors.As(err, &rolled):
			t.Errorf("%s: %v", file, err)
		case file == ".killed" && err != nil:
			t.Errorf("%s: %v", file, err)
		case err == nil:
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process that dies between the store and the file beside it leaves the store ahead:
// no alarm. A file that a power loss left empty says nothing. A restore, a compaction,
// a copy of both and a store that is begun anew go on.
func TestIssue13_06NoFalseAlarms(t *testing.T) {
	t.Parallel()
	now := storetest.Begin()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	opens := func(what, path string) {
		t.Helper()
		s, err := boltstore.Open(path, ticking(&now))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	startOne(t, path, ticking(&now), 1)
	copyStore(t, path+".mark", path+".mark.then")
	startOne(t, path, ticking(&now), 2)
	copyStore(t, path+".mark.then", path+".mark")
	opens("the file beside is behind", path)
	if err := os.WriteFile(path+".mark", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opens("the file beside is empty", path)

	s, err := boltstore.Open(path, ticking(&now))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backup(t.Context(), path+".backup"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 3; n < 6; n++ {
		startOne(t, path, ticking(&now), n)
	}
	if _, err := boltstore.Restore(t.Context(), path+".backup", path, ticking(&now)); err != nil {
		t.Fatal(err)
	}
	opens("a restore", path)
	startOne(t, path, ticking(&now), 6)
	if _, _, err := boltstore.Compact(t.Context(), path, ticking(&now)); err != nil {
		t.Fatal(err)
	}
	opens("a compaction", path)

	elsewhere := filepath.Join(t.TempDir(), "flowrun.db")
	copyStore(t, path, elsewhere)
	copyStore(t, path+".mark", elsewhere+".mark")
	opens("a copy of both", elsewhere)
	alone := filepath.Join(t.TempDir(), "flowrun.db")
	copyStore(t, path, alone)
	opens("a copy of the store alone", alone)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	opens("a store that is begun anew", path)
	startOne(t, path, ticking(&now), 1)
	opens("and goes on", path)
}
