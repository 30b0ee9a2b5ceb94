package boltstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

func timed() boltstore.Options {
	o := quick()
	o.Now = func() time.Time { return storetest.Begin() }
	return o
}

func TestP15ABackupUnderLoadHoldsWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := boltstore.Open(filepath.Join(dir, "flowrun.db"), timed())
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Row(1), 1)
	var mu sync.Mutex
	acked := uint64(1)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for seq := uint64(2); ; seq++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := storetest.Append(s, storetest.ID(1), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, nil); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			acked = seq
			mu.Unlock()
		}
	})
	for n := range 5 {
		mu.Lock()
		before := acked
		mu.Unlock()
		path := filepath.Join(dir, fmt.Sprintf("backup%d.db", n))
		info, err := s.Backup(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		report := whole(t, path)
		if uint64(report.Records) < before || !report.Closed || info.Bytes != report.Bytes || !info.At.Equal(storetest.Begin()) || info.Schema != 4 {
			t.Errorf("backup %d: %d records, %d were acknowledged; %+v", n, report.Records, before, info)
		}
		sidecar, err := os.ReadFile(path + ".sha256")
		if want := fmt.Sprintf("%s  backup%d.db\n", info.SHA256, n); err != nil || string(sidecar) != want {
			t.Errorf("sidecar %q, %v, want %q", sidecar, err, want)
		}
	}
	close(stop)
	writer.Wait()
	if _, err := s.Backup(t.Context(), filepath.Join(dir, "backup0.db")); !errors.Is(err, store.ErrExists) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a backup: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 12 { // the store, its seal, five backups, their sums
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestP15ARestoredStoreIsParkedAndKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "flowrun.db"), filepath.Join(dir, "backup.db")
	s, err := boltstore.Open(path, timed())
	if err != nil {
		t.Fatal(err)
	}
	fillFixture(t, s)
	want := read(t, s)
	if _, err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Row(50), 50) // after the backup
	var locked *store.LockedError
	if _, err := boltstore.Restore(t.Context(), backup, path, quick()); !errors.As(err, &locked) {
		t.Errorf("restore of an open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for try := range 2 {
		info, err := boltstore.Restore(t.Context(), backup, path, quick())
		if err != nil {
			t.Fatal(err)
		}
		old := path + []string{".bak", ".bak.2"}[try]
		if info.Old != old || info.Parked != 4 || info.Epoch != uint64(try+1) || !info.Sidecar || !info.SavedAt.Equal(storetest.Begin()) {
			t.Errorf("restore %d: %+v", try, info)
		}
		whole(t, path)
		whole(t, old)
	}
	s = openStore(t, path)
	if epoch, err := s.Epoch(); err != nil || epoch != 2 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	got := read(t, s)
	if diff := storetest.Diff(want.Records, got.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if len(got.Open) != 0 || len(got.Held) != 0 || len(got.Queued) != 0 {
		t.Errorf("open %v, held %v, queued %v", got.Open, got.Held, got.Queued)
	}
	for runID, run := range got.Runs {
		if run.Closed {
			continue
		}
		if run.Status != runs.RunPaused || run.Paused != runs.PausedError {
			t.Errorf("run %s is %s", runID, run.Status)
		}
		if runID != storetest.ID(fixturePaused) && (run.Error == nil || !strings.Contains(run.Error.Message, "2026-01-02T03:04:05Z") || run.Error.Hint.Text == "") {
			t.Errorf("run %s says %+v", runID, run.Error)
		}
	}
}

func TestP15ADamagedBackupChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "flowrun.db"), filepath.Join(dir, "backup.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	if _, err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func() error{
		func() error { content[len(content)-1] ^= 1; return nil },
		func() error { return os.WriteFile(backup+".sha256", []byte("nonsense"), 0o600) },
		func() error { clear(content[2*4096 : usedBytes(content)]); return os.Remove(backup + ".sha256") },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(backup, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := boltstore.Restore(t.Context(), backup, path, quick()); err == nil {
			t.Error("a damaged backup was restored")
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the store has changed, %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestP15ABackupOfAnOlderSchemaCanBeRestored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	info, err := boltstore.Restore(t.Context(), unpack(t, schema1), path, timed())
	if err != nil || info.Old != "" || info.Parked != 4 || info.Sidecar {
		t.Fatalf("%+v, %v", info, err)
	}
	if report := whole(t, path); report.Schema != 4 || report.Epoch != uint64(storetest.Begin().Unix()) {
		t.Errorf("report %+v", report)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestCompactGivesTheFreePagesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fillFixture(t, s)
	bigRun(t, s, 30)
	closeRun(t, s, storetest.Row(30), storetest.Begin())
	if err := s.DeleteRun(storetest.ID(30)); err != nil {
		t.Fatal(err)
	}
	want := read(t, s)
	var locked *store.LockedError
	if _, _, err := boltstore.Compact(t.Context(), path, quick()); !errors.As(err, &locked) {
		t.Errorf("compact of an open store: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, after, err := boltstore.Compact(t.Context(), path, quick())
	if err != nil || after >= before || after > 2<<20 {
		t.Fatalf("from %d to %d bytes, %v", before, after, err)
	}
	if report := whole(t, path); report.Bytes != after || !report.Closed {
		t.Errorf("report %+v", report)
	}
	s = openStore(t, path)
	if diff := storetest.Diff(want, read(t, s)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if _, err := s.KV().Put("tokens", "delta", nil, nil); err != nil {
		t.Error(err)
	}
	if _, version, _, err := s.KV().Get("tokens", "delta"); err != nil || version != 4 {
		t.Errorf("the next version is %d, %v: versions must go on", version, err)
	}
}
