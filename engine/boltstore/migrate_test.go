package boltstore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/storetest"
)

const schema1, schema2, schema3 = "schema1.db.gz", "schema2.db.gz", "schema3.db.gz"

// olderStores are the kept files of older schemas, each written by a program of
// its time.
func olderStores() map[uint64]string { return map[uint64]string{1: schema1, 2: schema2, 3: schema3} }

// fixtureContent is what the fixture of a schema holds, written by this program.
// Before schema 3 there are no triggers.
func fixtureContent(t *testing.T, schema uint64) *content {
	t.Helper()
	s := newStore(t)
	fillFixture(t, s)
	if schema >= 3 {
		fillTriggers(t, s)
		return read(t, s)
	}
	c := read(t, s)
	c.Outbox = nil
	return c
}

// fixtureSize is how many runs the fixture of a schema holds.
func fixtureSize(schema uint64) int {
	if schema >= 3 {
		return fixtureRuns + 1
	}
	return fixtureRuns - 1
}

func TestP19AnOlderStoreIsMovedUp(t *testing.T) {
	t.Parallel()
	for schema, name := range olderStores() {
		path := unpack(t, name)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s := openStore(t, path)
		if diff := storetest.Diff(fixtureContent(t, schema), read(t, s)); diff != "" {
			t.Errorf("schema %d: content (-want +got):\n%s", schema, diff)
		}
		want := fmt.Sprintf("%s.schema%d.bak", path, schema)
		from, backup := s.Migrated()
		if from != schema || backup != want {
			t.Errorf("migrated from %d, copy %s", from, backup)
		}
		kept, err := os.ReadFile(backup)
		if err != nil || !bytes.Equal(kept, before) {
			t.Errorf("the copy of schema %d differs from what was there: %v", schema, err)
		}
		if copies, err := filepath.Glob(path + ".*"); err != nil || len(copies) != 1 {
			t.Errorf("copies %v, %v", copies, err)
		}
		if schema < 3 {
			fillTriggers(t, s)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if report := whole(t, path); report.Schema != 4 || report.Runs != fixtureRuns+1 || report.Blobs != 2 || !report.Closed {
			t.Errorf("report %+v", report)
		}
		again := openStore(t, path)
		if from, _ := again.Migrated(); from != 0 {
			t.Errorf("a second start migrates from %d", from)
		}
	}
}

// An older schema lacks what came later, but all else is checked.
func TestP19AnOlderStoreCanBeChecked(t *testing.T) {
	t.Parallel()
	for schema, name := range olderStores() {
		if report := whole(t, unpack(t, name)); report.Schema != schema || report.Runs != fixtureSize(schema) {
			t.Errorf("report %+v", report)
		}
	}
}

func TestP19AMigrationKilledAtAnyCommitBeginsAnew(t *testing.T) {
	t.Parallel()
	for schema, least := range map[uint64]int{1: 10, 2: 5, 3: 4} {
		path := unpack(t, olderStores()[schema])
		options, taken := images(t, path, quick())
		s, err := boltstore.Open(path, options)
		if err != nil {
			t.Fatal(err)
		}
		steps := taken()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(steps) < least {
			t.Fatalf("the migration from %d has %d commits", schema, len(steps))
		}
		want := fixtureContent(t, schema)
		for i, image := range steps {
			s := openStore(t, image)
			if diff := storetest.Diff(want, read(t, s)); diff != "" {
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
}

// A copy is never written over: it may be all that is left of something.
func TestP19ASecondMigrationKeepsTheFirstCopy(t *testing.T) {
	t.Parallel()
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
