package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// lose removes the last record of a journal behind the store's back: every
// checksum and every page stays valid.
func lose(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("journal"))
		key, _ := b.Cursor().Last()
		return b.Delete(key)
	}), db.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func TestP14ALostRecordIsFound(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	lose(t, path)
	if _, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
	report, err := boltstore.CheckFile(t.Context(), path, quick())
	if err != nil || len(report.Problems) == 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// The control: with a census that was made to match, nothing else finds it.
func TestP14ControlWithoutTheCensusALostRecordIsNotFound(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	lose(t, path)
	boltstore.EditValuesForTest(t, path, func(_ string, value []byte) []byte { return value })
	s := openStore(t, path)
	got, err := s.Records(storetest.ID(filledRuns-1), 0, 0)
	if err != nil || len(got) != filledRecords-1 {
		t.Errorf("%d records, %v: the suite above proves nothing", len(got), err)
	}
}

// A page of an older transaction is whole in itself: every checksum in it is
// right.
func TestP14AStalePageIsFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = boltstore.Open(path, quick()); err != nil {
		t.Fatal(err)
	}
	for n := range filledRuns {
		changed := storetest.Row(n)
		changed.Attempt = 2 // same keys, same sizes
		if err := storetest.Append(s, storetest.ID(n), nil, changed); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	newer, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 2 * 4096; at+4096 <= usedBytes(newer) && at+4096 <= len(older); at += 4096 {
		if string(newer[at:at+4096]) == string(older[at:at+4096]) {
			continue
		}
		stale := append([]byte(nil), newer...)
		copy(stale[at:at+4096], older[at:at+4096])
		if err := os.WriteFile(path, stale, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := boltstore.Open(path, quick())
		if err != nil {
			found++
			continue
		}
		for n := range filledRuns {
			if got, err := s.Run(storetest.ID(n)); err == nil && got.Attempt != 2 {
				t.Errorf("page %d: run %d is an older one", at/4096, n)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no stale page was found")
	}
}

// A meta page of an older transaction, beside a valid one.
func TestP14AStaleMetaPageIsFound(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := 0
	if txid(content[4096:]) > txid(content) {
		page = 1
	}
	newest, other := content[page*4096:][:4096], content[(1-page)*4096:][:4096]
	copy(other[16:80], newest[16:80]) // both are the newest: one write was lost or doubled
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
}

func TestP14OnlyAnUncleanStopIsVerified(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	asked := 0
	options := quick()
	options.Verify = func(ctx context.Context, of string) error {
		if _, limited := ctx.Deadline(); of != path || !limited {
			t.Errorf("asked for %s, limited: %t", of, limited)
		}
		asked++
		report, err := boltstore.CheckFile(ctx, of, quick()) // as another process does
		if err != nil {
			return err
		}
		return report.Err()
	}
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	killed := filepath.Join(t.TempDir(), "killed.db")
	copyStore(t, path, killed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil || asked != 0 {
		t.Errorf("asked %d times after a clean close, %v", asked, err)
	}
	copyStore(t, killed, path)
	if again, err = boltstore.Open(path, options); err != nil || asked != 1 {
		t.Fatalf("asked %d times after a kill, %v", asked, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	copyStore(t, killed, path)
	refusal := errors.New("the child says no")
	options.Verify = func(context.Context, string) error { return refusal }
	if _, err := boltstore.Open(path, options); !errors.Is(err, refusal) {
		t.Errorf("a refusal gave %v", err)
	}
	if s, err = boltstore.Open(path, quick()); err != nil {
		t.Fatalf("the lock is held after a refusal: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Without Verify the check runs in the process.
func TestP14AfterAnUncleanStopEveryRecordIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	killed := filepath.Join(t.TempDir(), "killed.db")
	copyStore(t, path, killed)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(killed)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("what was answered")
	if !bytes.Contains(content, text) {
		t.Fatal("the file holds no such text")
	}
	content = bytes.ReplaceAll(content, text, []byte("What was answered"))
	if err := os.WriteFile(killed, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = boltstore.Open(killed, quick())
	var corrupt *store.CorruptError
	if !errors.As(err, &corrupt) || corrupt.Bucket != "journal" || corrupt.Path != killed || corrupt.Key == "" {
		t.Errorf("open: %v", err)
	}
}

func TestP14ACheckChangesNothingAndTakesTheLock(t *testing.T) {
	t.Parallel()
	path := closedStore(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report := whole(t, path)
	if report.Runs != filledRuns || report.Records != filledRuns*filledRecords || report.Pages == 0 || report.Bytes != int64(len(before)) {
		t.Errorf("report %+v", report)
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the check has changed the file, %v", err)
	}
	openStore(t, path)
	var locked *store.LockedError
	if _, err := boltstore.CheckFile(t.Context(), path, quick()); !errors.As(err, &locked) {
		t.Errorf("check of an open store: %v", err)
	}
}

// What no checksum and no census can say: rows that contradict one another.
func TestP14ACheckComparesTheRows(t *testing.T) {
	t.Parallel()
	for bucket, want := range map[string]string{
		"runs_by_status": "the row is missing", "journal": "is missing", "plans": "the plan of run", "runs_open": "the row is missing",
		"refs": "the row is missing", "runs": "is missing",
	} {
		path := closedStore(t)
		boltstore.DropFirstForTest(t, path, bucket)
		report, err := boltstore.CheckFile(t.Context(), path, quick())
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Problems) == 0 || !strings.Contains(report.Problems[0].Detail, want) {
			t.Errorf("without a row of %s: %+v", bucket, report.Problems)
		}
	}
}
