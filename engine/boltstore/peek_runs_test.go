package boltstore_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAPeekReadsRunsOfAClosedFile: lists, one run with its plan and records, names of rows;
// nothing while somebody has the store open, and nothing of a missing one.
func TestAPeekReadsRunsOfAClosedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	if _, err := boltstore.PeekRuns(path, quick(), runs.Filter{}); err == nil {
		t.Error("a file that is not there gave runs")
	}
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := range 40 {
		row := storetest.Row(n)
		storetest.CreateScattered(t, s, row, n)
		want = append([]string{row.ID}, want...)
	}
	if _, err := boltstore.PeekRuns(path, quick(), runs.Filter{}); err == nil {
		t.Error("an open store was read")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := fileOf(t, path)
	found, err := boltstore.PeekRuns(path, quick(), runs.Filter{Limit: 7})
	if err != nil || len(found) != 7 || found[0].ID != want[0] || found[6].ID != want[6] {
		t.Errorf("%d runs, %v", len(found), err)
	}
	if found, err = boltstore.PeekRuns(path, quick(), runs.Filter{IDSuffix: want[30][20:]}); err != nil || len(found) != 1 || found[0].ID != want[30] {
		t.Errorf("by its ending: %d runs, %v", len(found), err)
	}
	row, plan, records, err := boltstore.PeekRun(path, quick(), want[3], 10)
	if err != nil || row.ID != want[3] || len(plan) == 0 || len(records) == 0 {
		t.Errorf("%+v, %d bytes of plan, %d records, %v", row, len(plan), len(records), err)
	}
	if _, _, _, err := boltstore.PeekRun(path, quick(), "01k8zq4c0vdx3y6t7k9m2n5p8r", 10); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	if names, err := boltstore.PeekNames(path, quick(), "secrets", 10); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
	if after := fileOf(t, path); !bytes.Equal(after, before) {
		t.Error("a peek changed the file")
	}
}
