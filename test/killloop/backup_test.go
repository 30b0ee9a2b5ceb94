package killloop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// TestP15BackupsUnderLoadHoldWhatWasAcknowledged makes backups while runs go on:
// each is whole and holds every acknowledgement that is older than its start.
// Restored elsewhere, what was open is parked. FLOWRUN_BACKUPS=n makes n.
func TestP15BackupsUnderLoadHoldWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	wanted := suitesize.Of(t, "FLOWRUN_BACKUPS", 5)
	service := newCounter(t, random(1, "backup"), 3*time.Millisecond)
	dir, flows := t.TempDir(), loopFlows()
	writeProject(t, dir, service.URL, "", flows)
	r := role{Dir: dir, URL: service.URL, Parallel: openRuns, Backups: wanted}
	for _, f := range flows {
		r.Requests = append(r.Requests, request{ID: f.name, Flow: f.name})
	}
	child := startChild(t, r, nil)
	lines, err := child.wait(t, childLimit+time.Duration(wanted)*2*time.Second)
	if err != nil {
		t.Fatalf("the engine ended with %v\n%s", err, child.stderr.String())
	}
	known, made, parked := newLedger(flows), 0, 0
	starts := map[int]int{} // of each backup, the line that begins it
	for i, said := range lines {
		switch {
		case said.Kind != lineBackup:
		case said.Text == "":
			starts[said.N] = i
		default:
			made++
			parked += checkBackup(t, said.Text, flows, lines[:starts[said.N]])
		}
	}
	known.note(lines)
	for _, trouble := range known.troubles {
		t.Error(trouble)
	}
	t.Logf("%d backups, %d acknowledgements, %d runs parked by the restores", made, known.figures.acks, parked)
	if made != wanted || parked == 0 {
		t.Errorf("%d backups of %d were made, %d runs were parked: there was no load", made, wanted, parked)
	}
	// The negative control: the first backup is held against all that was told.
	if problems, _ := heldAgainst(t, filepath.Join(dir, "backup-1.db"), flows, lines); len(problems) == 0 {
		t.Error("the first backup would pass for one of the end: the comparison finds nothing")
	}
}

// checkBackup looks at one backup and restores it elsewhere. It returns how many
// runs that parked.
func checkBackup(t *testing.T, path string, flows []flow, before []line) (parked int) {
	t.Helper()
	problems := checkFile(path)
	missing, open := heldAgainst(t, path, flows, before)
	if problems = append(problems, missing...); len(problems) > 0 {
		t.Errorf("%s:\n%s", filepath.Base(path), strings.Join(problems, "\n"))
		return 0
	}
	config := engineConfig(t.TempDir(), func() {})
	report, err := engine.RestoreStore(context.Background(), config, path)
	if err != nil {
		t.Errorf("restore %s: %v", filepath.Base(path), err)
		return 0
	}
	if report.Parked > open {
		t.Errorf("%s: %d runs were parked, %d were open", filepath.Base(path), report.Parked, open)
	}
	restored, err := boltstore.Open(filepath.Join(config.StateDir, workspace.StoreFile), boltstore.Options{InitialMmapSize: 64 << 20})
	if err != nil {
		t.Errorf("open what was restored of %s: %v", filepath.Base(path), err)
		return 0
	}
	defer restored.Close()
	rows, _, err := restored.Runs(runs.Filter{Limit: 1_000_000})
	if err != nil {
		t.Error(err)
	}
	for _, row := range rows {
		if row.Closed {
			continue
		}
		if row.Status != runs.RunPaused {
			t.Errorf("%s: run %s is %s after the restore, want paused", filepath.Base(path), row.ID, row.Status)
		}
	}
	return report.Parked
}

// heldAgainst compares a copy of a backup with acknowledgements: opening is
// writing.
func heldAgainst(t *testing.T, path string, flows []flow, acknowledged []line) (problems []string, open int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opened := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(opened, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := boltstore.Open(opened, boltstore.Options{InitialMmapSize: 64 << 20})
	if err != nil {
		return []string{err.Error()}, 0
	}
	defer file.Close()
	l := newLedger(flows)
	l.note(acknowledged)
	l.troubles = nil // each is told once
	return l.holds(file)
}
