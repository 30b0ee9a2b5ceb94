package sealedpages_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// TestTheRootIsOnePageAgain: small buckets lie in the page that names them, which is cut
// when they grow, and is one again when they have pages of their own. Nothing else changes.
func TestTheRootIsOnePageAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := sealedpages.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	name := func(n int) []byte { return fmt.Appendf(nil, "bucket%02d", n) }
	fill := func(size int) {
		t.Helper()
		if err := db.Update(func(tx *sealedpages.Tx) error {
			for n := range 30 {
				b, err := tx.CreateBucketIfNotExists(name(n))
				if err != nil {
					return err
				}
				if n%3 == 0 {
					if err := b.Put([]byte("key"), bytes.Repeat([]byte{byte(n)}, size)); err != nil {
						return err
					}
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	join := func() {
		t.Helper()
		if err := db.Update(func(tx *sealedpages.Tx) error { return tx.JoinRoot() }); err != nil {
			t.Fatal(err)
		}
	}
	root := func() (kind string) {
		t.Helper()
		if err := db.View(func(tx *sealedpages.Tx) error {
			kind = sealedpages.KindOfRoot(tx)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return kind
	}
	fill(10)
	if join(); root() != "leaf" {
		t.Fatalf("30 buckets that are nearly empty are under a %s", root())
	}
	fill(600)
	if join(); root() != "branch" {
		t.Fatalf("10 buckets of 600 bytes lie in a %s", root())
	}
	fill(2000)
	if root() != "branch" {
		t.Fatalf("bbolt joins the page itself: it is a %s", root())
	}
	if join(); root() != "leaf" {
		t.Errorf("the names of 30 buckets are under a %s", root())
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if err := raw.View(func(tx *bbolt.Tx) error {
		for fault := range tx.Check() {
			t.Error(fault)
		}
		n := 0
		return tx.ForEach(func(found []byte, b *bbolt.Bucket) error {
			want := []byte(nil)
			if n%3 == 0 {
				want = bytes.Repeat([]byte{byte(n)}, 2000)
			}
			if !bytes.Equal(found, name(n)) || !bytes.Equal(b.Get([]byte("key")), want) {
				t.Errorf("bucket %q stands where %q should, or holds something else", found, name(n))
			}
			n++
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
}
