package boltstore_test

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// content is all that can be read of a store.
type content struct {
	Runs    map[string]runs.Run
	Open    []string
	Records map[string][]*journal.Record
	Logs    map[string][]runs.Log
	Plans   map[string]string
	Rows    map[string]string // of KV
	Memory  []runs.StateValue
	Changes []runs.StateChange
	Labels  []string
	Held    []string
	Queued  []string
	Fires   []runs.Fire
	States  []runs.TriggerState
	Outbox  []runs.OutboxEntry

	Heads     []store.WorkflowHead
	All       store.Counts
	Hours     []store.HourCounts
	Attention []string
}

func read(t *testing.T, s *boltstore.Store) *content {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &content{
		Runs: map[string]runs.Run{}, Records: map[string][]*journal.Record{}, Logs: map[string][]runs.Log{},
		Plans: map[string]string{}, Rows: map[string]string{},
	}
	rows, _, err := s.Runs(runs.Filter{Limit: 1000})
	must(err)
	for _, row := range rows {
		c.Runs[row.ID] = row
		c.Records[row.ID], err = s.Records(row.ID, 0, 0)
		must(err)
		c.Logs[row.ID], _, err = s.Logs(row.ID, "", 0, 0)
		must(err)
		stored, err := s.Plan(row.PlanHash)
		must(err)
		c.Plans[row.PlanHash] = string(stored)
	}
	open, err := s.OpenRuns()
	must(err)
	for _, row := range open {
		c.Open = append(c.Open, row.ID)
	}
	labeled, _, err := s.Runs(runs.Filter{Labels: map[string]string{"team": "web"}})
	must(err)
	for _, row := range labeled {
		c.Labels = append(c.Labels, row.ID)
	}
	c.Held, c.Queued, err = s.SlotRuns("weekly")
	must(err)
	readRows(t, s, c)
	c.Fires, _, err = s.Fires(runs.FireFilter{Limit: 1000})
	must(err)
	c.States, err = s.TriggerStates()
	must(err)
	c.Outbox = storetest.OutboxOf(t, s)
	readCounts(t, s, c)
	return c
}

func readCounts(t *testing.T, s *boltstore.Store, c *content) {
	t.Helper()
	var err, err2, err3 error
	c.Heads, err = s.WorkflowHeads("")
	c.All, err2 = s.Counts("")
	c.Hours, err3 = s.HourCounts("", time.Time{})
	rows, _, err4 := s.Runs(runs.Filter{Attention: true, Limit: 1000})
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		c.Attention = append(c.Attention, row.ID)
	}
}

func readRows(t *testing.T, s *boltstore.Store, c *content) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bucket := range []string{"tokens", "limits"} {
		keys, err := s.KV().List(bucket, "")
		must(err)
		for _, key := range keys {
			value, version, _, err := s.KV().Get(bucket, key)
			must(err)
			c.Rows[bucket+"/"+key] = string(rune('0'+version)) + string(value)
		}
	}
	state, err := s.State("weekly")
	must(err)
	cursors, err := s.Cursors("", "")
	must(err)
	c.Memory = append(state, cursors...)
	changes, err := s.History("weekly", "total", "")
	must(err)
	c.Changes = changes
}

// unpack writes a store of testdata to a folder of its own.
func unpack(t *testing.T, name string) (path string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "flowrun.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// whole fails unless a check finds nothing, and returns what it counted.
func whole(t testing.TB, path string) *store.Report {
	t.Helper()
	report, err := boltstore.CheckFile(t.Context(), path, quick())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 {
		t.Fatalf("check of %s: %+v", path, report.Problems)
	}
	return report
}

// copyStore copies a closed file, or one as a kill would leave it.
func copyStore(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// images are the files that a kill at each commit would leave: what was written
// stays in the system's memory when a process dies.
func images(t *testing.T, path string, options boltstore.Options) (boltstore.Options, func() []string) {
	t.Helper()
	dir := t.TempDir()
	var taken []string
	options.OnCommit = func(stage store.CommitStage) {
		if stage != store.AfterCommit {
			return
		}
		image := filepath.Join(dir, "image", string(rune('a'+len(taken)/26))+string(rune('a'+len(taken)%26)), "flowrun.db")
		if err := os.MkdirAll(filepath.Dir(image), 0o700); err != nil {
			t.Error(err)
			return
		}
		copyStore(t, path, image)
		taken = append(taken, image)
	}
	return options, func() []string { return taken }
}
