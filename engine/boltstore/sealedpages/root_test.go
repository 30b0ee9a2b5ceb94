package sealedpages

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// rootPages is how many pages the tree that holds the buckets has.
func rootPages(t *testing.T, s *session) (pages int) {
	t.Helper()
	content := contentOf(t, s.db.raw.Path())
	if err := s.db.View(func(tx *Tx) error {
		pages = 1
		if root := content[tx.Root()*pageSize : (tx.Root()+1)*pageSize]; isBranch(root) {
			pages += count(root)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return pages
}

// Small buckets grow side by side, out of the page that names them: the tree that holds
// them is cut on the way, and is one page again when they have pages of their own. The
// control does the same without JoinRoot.
func TestTheRootIsOnePageAgain(t *testing.T) {
	t.Parallel()
	for _, joins := range []bool{true, false} {
		s := begin(t, filepath.Join(t.TempDir(), "file.db"), nil, nil)
		s.guard.Complete()
		update := func(write func(tx *Tx) error) {
			t.Helper()
			if err := s.db.Update(func(tx *Tx) error {
				if err := write(tx); err != nil || !joins {
					return err
				}
				return tx.JoinRoot()
			}); err != nil {
				t.Fatal(err)
			}
		}
		const buckets, grow, rows = 24, 6, 30
		update(func(tx *Tx) error {
			for n := range buckets {
				if _, err := tx.CreateBucket(fmt.Appendf(nil, "bucket %02d", n)); err != nil {
					return err
				}
			}
			return nil
		})
		most := 0
		for row := range rows {
			update(func(tx *Tx) error {
				for n := range grow {
					if err := tx.Bucket(fmt.Appendf(nil, "bucket %02d", n)).Put([]byte{byte(row)}, bytes.Repeat([]byte{byte(n)}, 100)); err != nil {
						return err
					}
				}
				return nil
			})
			most = max(most, rootPages(t, s))
		}
		update(func(*Tx) error { return nil })
		if pages := rootPages(t, s); most == 1 || joins && pages != 1 || !joins && pages == 1 {
			t.Errorf("joins %t: the root has %d pages, and had %d", joins, pages, most)
		}
		s.holds(t, buckets, grow, rows)
		_ = s.db.Close()
	}
}

// holds looks at what the buckets of the test above hold.
func (s *session) holds(t *testing.T, buckets, grow, rows int) {
	t.Helper()
	found := 0
	if err := s.db.View(func(tx *Tx) error {
		return tx.ForEach(func(name []byte, b *Bucket) error {
			keys := 0
			err := b.ForEach(func(_, _ []byte) error { keys++; return nil })
			if want := map[bool]int{true: rows}[string(name) < fmt.Sprintf("bucket %02d", grow)]; keys != want {
				t.Errorf("%s holds %d keys", name, keys)
			}
			found++
			return err
		})
	}); err != nil || found != buckets {
		t.Errorf("%d buckets: %v", found, err)
	}
}

// A bucket that the same transaction has put something into, or that counts, is left as
// it is.
func TestABucketThatIsNotEmptyIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	s := begin(t, filepath.Join(t.TempDir(), "file.db"), nil, nil)
	defer s.db.Close()
	s.guard.Complete()
	big := func(n int) []byte { return fmt.Appendf(nil, "a%d", n) }
	fill := func(size int) func(tx *Tx) error {
		return func(tx *Tx) error {
			for n := range 6 {
				b, err := tx.CreateBucketIfNotExists(big(n))
				if err == nil {
					err = b.Put([]byte("key"), make([]byte, size))
				}
				if err != nil {
					return err
				}
			}
			_, err := tx.CreateBucketIfNotExists([]byte("z"))
			return err
		}
	}
	for _, size := range []int{900, 2000} {
		if err := s.db.Update(fill(size)); err != nil {
			t.Fatal(err)
		}
	}
	if rootPages(t, s) == 1 {
		t.Fatal("the root was not cut")
	}
	for step, put := range []func(b *Bucket) error{
		func(b *Bucket) error { return b.Put([]byte("row"), []byte("value")) },
		func(b *Bucket) error { return b.Delete([]byte("row")) },
		func(b *Bucket) error { _, err := b.NextSequence(); return err },
	} {
		if err := s.db.Update(func(tx *Tx) error {
			if err := put(tx.Bucket([]byte("z"))); err != nil {
				return err
			}
			return tx.JoinRoot()
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.db.View(func(tx *Tx) error {
			b := tx.Bucket([]byte("z"))
			if step == 0 && b.Get([]byte("row")) == nil || step == 2 && b.Sequence() != 1 {
				t.Errorf("step %d: what the transaction has put is gone", step)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
