package boltstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/boltstore"
)

const schema1 = "schema1.db.gz"

// fixtureContent is what the fixture's store holds, written by this program.
func fixtureContent(t *testing.T) *content {
	t.Helper()
	s := newStore(t)
	fillFixture(t, s)
	return read(t, s)
}

func TestP19AnOlderStoreIsMovedUp(t *testing.T) {
	path := unpack(t, schema1)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t, path)
	if diff := cmp.Diff(fixtureContent(t), read(t, s)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	from, backup := s.Migrated()
	if from != 1 || backup != path+".schema1.bak" {
		t.Errorf("migrated from %d, copy %s", from, backup)
	}
	kept, err := os.ReadFile(backup)
	if err != nil || !bytes.Equal(kept, before) {
		t.Errorf("the copy of schema 1 differs from what was there: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if report := whole(t, path); report.Schema != 2 || report.Runs != fixtureRuns-1 || report.Blobs != 2 || !report.Closed {
		t.Errorf("report %+v", report)
	}
	again := openStore(t, path)
	if from, _ := again.Migrated(); from != 0 {
		t.Errorf("a second start migrates from %d", from)
	}
}

// The older schema has neither census nor references, but all else is checked.
func TestP19AnOlderStoreCanBeChecked(t *testing.T) {
	if report := whole(t, unpack(t, schema1)); report.Schema != 1 || report.Runs != fixtureRuns-1 {
		t.Errorf("report %+v", report)
	}
}

func TestP19AMigrationKilledAtAnyCommitBeginsAnew(t *testing.T) {
	path := unpack(t, schema1)
	options, taken := images(t, path, quick())
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	steps := taken()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 5 {
		t.Fatalf("the migration has %d commits", len(steps))
	}
	want := fixtureContent(t)
	for i, image := range steps {
		s := openStore(t, image)
		if diff := cmp.Diff(want, read(t, s)); diff != "" {
			t.Errorf("killed after commit %d (-want +got):\n%s", i+1, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		whole(t, image)
		// The copy was made before the first commit, by whoever was killed.
		if _, err := os.Stat(image + ".schema1.bak"); err == nil {
			t.Errorf("killed after commit %d: the half-migrated file was kept as schema 1", i+1)
		}
	}
}

// A copy is never written over: it may be all that is left of something.
func TestP19ASecondMigrationKeepsTheFirstCopy(t *testing.T) {
	path := unpack(t, schema1)
	if err := os.WriteFile(path+".schema1.bak", []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, path)
	if _, backup := s.Migrated(); filepath.Base(backup) != "flowrun.db.schema1.bak.2" {
		t.Errorf("copy %s", backup)
	}
	kept, err := os.ReadFile(path + ".schema1.bak")
	if err != nil || string(kept) != "precious" {
		t.Errorf("the first copy is %.20q, %v", kept, err)
	}
}
