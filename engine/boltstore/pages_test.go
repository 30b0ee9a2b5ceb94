package boltstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/store"
)

// walksWell fails where the walk over the pages of a file that bbolt wrote finds damage.
func walksWell(t *testing.T, path string) {
	t.Helper()
	if err := walkOf(t, path); err != nil {
		t.Fatalf("a file that bbolt wrote: %v", err)
	}
}

func walkOf(t *testing.T, path string) error {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := readMetas(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = walkPages(file, m.pageSize, m.pages, m.root, false, nil)
	return err
}

// bbolt writes a page's first key into the page above, whatever was put and deleted in
// which order: the walk demands it (P14).
func TestP14_TheWayToAPageIsItsFirstKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true, PageSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	source := rand.New(rand.NewPCG(1, 2))
	key := func() []byte { return fmt.Appendf(nil, "%05d%0*d", source.IntN(3000), source.IntN(200), 0) }
	for round := range 300 {
		if err := db.Update(func(tx *bbolt.Tx) error { return stir(tx, source, key, round%40 > 25) }); err != nil {
			t.Fatal(err)
		}
		walksWell(t, path)
	}
}

// stir puts into the buckets and deletes from them: more goes than comes when they shrink.
func stir(tx *bbolt.Tx, source *rand.Rand, key func() []byte, shrink bool) error {
	for range 1 + source.IntN(60) {
		b, err := tx.CreateBucketIfNotExists(fmt.Appendf(nil, "bucket %d", source.IntN(3)))
		if err != nil {
			return err
		}
		if source.IntN(4) == 0 {
			if b, err = b.CreateBucketIfNotExists(fmt.Appendf(nil, "9inner %d", source.IntN(2))); err != nil {
				return err
			}
		}
		if !shrink {
			if err := b.Put(key(), make([]byte, source.IntN(400))); err != nil {
				return err
			}
			continue
		}
		c := b.Cursor()
		for found, value := c.Seek(key()); found != nil && source.IntN(12) > 0; found, value = c.Next() {
			if value == nil {
				continue
			}
			if err := c.Delete(); err != nil {
				return err
			}
		}
	}
	return nil
}

// A key of a branch that is lower than that of its page, and behind all of the page
// before, hides nothing from who reads. Who writes by it would give the page a second way.
func TestP14_AKeyThatLeadsToAPageAndIsNotItsFirstIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, PageSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("bucket"))
		for n := range 200 {
			err = errors.Join(err, b.Put(fmt.Appendf(nil, "%03d5", n), make([]byte, 100)))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	walksWell(t, path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for at := 2 * 4096; at < len(content); at += 4096 {
		page := content[at : at+4096]
		if page[8] != branchPage {
			continue
		}
		key, _, err := branchElement(uint64(at/4096), page, 1)
		if err != nil {
			t.Fatal(err)
		}
		key[len(key)-1]--
		changed++
	}
	if changed == 0 {
		t.Fatal("the file has no branch")
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := walkOf(t, path); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a key that is not its page's first: %v", err)
	}
}
