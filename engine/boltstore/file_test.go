package boltstore_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

func quick() boltstore.Options {
	return boltstore.Options{InitialMmapSize: smallMap, Timeout: 100 * time.Millisecond}
}

func TestANewFileIsPrivateAndWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	// What a creator left that died must not be in the way.
	if err := os.WriteFile(path+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	openStore(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v", info.Mode())
	}
	if info.Size() > 1<<20 {
		t.Errorf("an empty store has %d bytes", info.Size())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

func TestASecondOpenIsRefused(t *testing.T) { // P16
	path := filepath.Join(t.TempDir(), "flowrun.db")
	openStore(t, path)
	_, err := boltstore.Open(path, quick())
	var locked *store.LockedError
	if !errors.As(err, &locked) || locked.Path != path {
		t.Errorf("err = %v", err)
	}
}

func TestRacingCreatorsGetOneFile(t *testing.T) { // P16
	for range 10 {
		path := filepath.Join(t.TempDir(), "flowrun.db")
		var racers sync.WaitGroup
		stores := make([]*boltstore.Store, 8)
		for i := range stores {
			racers.Go(func() {
				s, err := boltstore.Open(path, quick())
				var locked *store.LockedError
				if err != nil && !errors.As(err, &locked) {
					t.Errorf("open: %v", err)
				}
				stores[i] = s
			})
		}
		racers.Wait()
		winners := 0
		for _, s := range stores {
			if s == nil {
				continue
			}
			winners++
			storetest.Create(t, s, storetest.Row(1), 1)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if winners != 1 {
			t.Fatalf("%d winners", winners)
		}
		s := openStore(t, path)
		if _, err := s.Run(storetest.ID(1)); err != nil {
			t.Errorf("the winner's run: %v", err)
		}
	}
}

// closedStore returns the path of a store with some runs.
func closedStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// filled is how many runs and records of each fill writes.
const filledRuns, filledRecords = 20, 10

func fill(t *testing.T, s *boltstore.Store) {
	t.Helper()
	for n := range filledRuns {
		storetest.Create(t, s, storetest.Row(n), n)
		if err := storetest.Append(s, storetest.ID(n), filledJournal(n)[1:], nil); err != nil {
			t.Fatal(err)
		}
	}
}

func filledJournal(n int) []*journal.Record {
	records := []*journal.Record{storetest.Started(n)}
	for seq := uint64(2); seq <= filledRecords; seq++ {
		records = append(records, storetest.Completed(seq, `{"text":"what was answered"}`))
	}
	return records
}

func TestANewerSchemaIsRefused(t *testing.T) { // P19
	path := closedStore(t)
	boltstore.SetSchemaForTest(t, path, 7, "2.5.0")
	_, err := boltstore.Open(path, quick())
	want := &store.NewerError{Path: path, Schema: 7, Known: 4, Needs: "2.5.0"}
	var newer *store.NewerError
	if !errors.As(err, &newer) || !errors.Is(err, store.ErrNewer) {
		t.Fatalf("err = %v", err)
	}
	if diff := storetest.Diff(want, newer); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	// The refused file is let go.
	if _, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrNewer) {
		t.Errorf("second open: %v", err)
	}
}

func TestDamagedFilesAreRefused(t *testing.T) { // P14
	read := func(t *testing.T, path string) []byte {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":              func([]byte) []byte { return nil },
		"one byte":           func(c []byte) []byte { return c[:1] },
		"one page":           func(c []byte) []byte { return c[:4096] },
		"a page short":       func(c []byte) []byte { return c[:usedBytes(c)-4096] },
		"a byte short":       func(c []byte) []byte { return c[:usedBytes(c)-1] },
		"both metas spoiled": func(c []byte) []byte { c[40] ^= 1; c[4096+40] ^= 1; return c },
		"another format":     func(c []byte) []byte { copy(c, make([]byte, 8192)); return c },
		"text":               func([]byte) []byte { return []byte("not a database, but longer than a few bytes\n") },
	} {
		t.Run(name, func(t *testing.T) {
			path := closedStore(t)
			if err := os.WriteFile(path, damage(read(t, path)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := boltstore.Open(path, quick())
			var corrupt *store.CorruptError
			if !errors.As(err, &corrupt) || !errors.Is(err, store.ErrCorrupt) || corrupt.Path != path {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestEveryTruncationIsRefusedOrHarmless(t *testing.T) { // P14: bbolt alone panics
	path := closedStore(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < usedBytes(content)+20_000; size += 9973 {
		if err := os.WriteFile(path, content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := boltstore.Open(path, quick())
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%d bytes: %v", size, err)
			}
			continue
		}
		for n := range filledRuns {
			got, err := s.Records(storetest.ID(n), 0, 0)
			if diff := storetest.Diff(filledJournal(n), got); err != nil || diff != "" {
				t.Errorf("%d bytes: run %d: %v\n%s", size, n, err, diff)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// bbolt alone would open the file with the state before the last commit.
func TestASpoiledMetaIsRefused(t *testing.T) { // P14
	for page := range 2 {
		path := closedStore(t)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		content[page*4096+70] ^= 0xff
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("meta page %d: %v", page, err)
		}
	}
}

// usedBytes is where the file's last page ends.
func usedBytes(content []byte) int {
	page := content
	if txid(content[4096:]) > txid(content) {
		page = content[4096:]
	}
	return int(binary.NativeEndian.Uint64(page[16+40:])) * 4096
}

func txid(page []byte) uint64 { return binary.NativeEndian.Uint64(page[16+48:]) }

func TestAForeignBoltFileIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := boltstore.Open(path, quick()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("err = %v", err)
	}
}

func TestOpenNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := boltstore.Open(filepath.Join(t.TempDir(), "no", "flowrun.db"), quick()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := boltstore.Open(t.TempDir(), quick()); err == nil {
		t.Error("a folder was opened")
	}
}
