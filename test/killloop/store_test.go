package killloop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
)

// checkStore compares what was acknowledged with a copy of the store, so that
// the next engine finds the file as the kill left it.
func checkStore(t *testing.T, dir string, l *ledger, service *counter, cycle int, end bool) (problems []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "state", "flowrun.db"))
	if errors.Is(err, fs.ErrNotExist) {
		if len(l.accepted) > 0 {
			return []string{"P1: the store is gone"}
		}
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return append(checkFile(path), l.compare(t, path, service, cycle, end)...)
}

// compare compares what was acknowledged with a store file.
func (l *ledger) compare(t *testing.T, path string, service *counter, cycle int, end bool) (problems []string) {
	t.Helper()
	file, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: 64 << 20})
	if err != nil {
		return []string{fmt.Sprintf("P14: open the store: %v", err)}
	}
	defer file.Close()
	l.keys = keyFile(filepath.Dir(path))
	problems = l.check(file, service, cycle, end)
	if end {
		problems = append(problems, l.checkEnd(file, service)...)
	}
	return problems
}

// checkFile has the store's own check look at the whole file.
func checkFile(path string) (problems []string) {
	report, err := boltstore.CheckFile(context.Background(), path, boltstore.Options{InitialMmapSize: 64 << 20})
	if err != nil {
		return []string{fmt.Sprintf("P14: check the store: %v", err)}
	}
	for _, problem := range report.Problems {
		problems = append(problems, fmt.Sprintf("P14: %+v", problem))
	}
	return problems
}

// holds compares a store with what was acknowledged before it was made: it may
// hold more.
func (l *ledger) holds(file *boltstore.Store) (problems []string, open int) {
	rows, _, err := file.Runs(runs.Filter{Limit: 1_000_000})
	if err != nil {
		return []string{fmt.Sprintf("P14: list runs: %v", err)}, 0
	}
	runs := map[string]*stored{}
	for _, row := range rows {
		run := &stored{row: row}
		if run.records, err = file.Records(row.ID, 0, 0); err != nil {
			problems = append(problems, fmt.Sprintf("P14: records of run %s: %v", row.ID, err))
		}
		runs[row.ID] = run
		if !row.Closed {
			open++
		}
		problems = append(problems, l.checkRun(run)...)
	}
	return append(problems, l.checkAccepted(runs)...), open
}
