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
// control does the same without JoinRoot; so does a program of before, which cuts in the
// middle: what it left is one page with the first commits after it.
func TestTheRootIsOnePageAgain(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"joins", "never joins", "joins what another has cut"} {
		joins := way == "joins"
		s := begin(t, filepath.Join(t.TempDir(), "file.db"), nil, nil)
		s.guard.Complete()
		update := func(write func(tx *Tx) error) {
			t.Helper()
			if err := s.db.Update(func(tx *Tx) error {
				if !joins {
					tx.raw.Cursor().Bucket().FillPercent = 0.5
				}
				if err := write(tx); err != nil || !joins {
					return err
				}
				return tx.JoinRoot()
			}); err != nil {
				t.Fatal(err)
			}
		}
		const buckets, grow, rows = 40, 6, 30
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
		joins = way != "never joins"
		for range most {
			update(func(*Tx) error { return nil })
		}
		if pages := rootPages(t, s); most == 1 || joins && pages != 1 || !joins && pages == 1 {
			t.Errorf("%s: the root has %d pages, and had %d", way, pages, most)
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
