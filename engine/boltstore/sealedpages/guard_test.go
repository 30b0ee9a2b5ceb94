package sealedpages

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	pageSize = 4096
	keys     = 400 // of each bucket that is spoiled
)

// session is a file that was opened by its sums.
type session struct {
	db    *DB
	guard *Guard
	sums  *Sums
}

func options() *Options {
	return &Options{FreelistType: FreelistMapType, PageSize: pageSize, NoSync: true}
}

var errWrong = errors.New("a page differs from its sum")

// begin opens a file. Its sums are those of the session before; nil = made now.
func begin(t testing.TB, path string, sums *Sums, look func(Snapshot) error) *session {
	t.Helper()
	db, err := Open(path, 0o600, options())
	if err != nil {
		t.Fatal(err)
	}
	db.KeepFreeList(true)
	pages, free, used := pagesOf(t, db)
	if sums == nil {
		sums = NewSums(nil)
		content := contentOf(t, path)
		for _, id := range used {
			sums.Set(id, SumOf(content[id*pageSize:(id+1)*pageSize]))
		}
	}
	s := &session{db: db, sums: sums, guard: NewGuard(sums, pages, free, false, look)}
	db.Watch(s.guard)
	return s
}

func contentOf(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// pagesOf lists the pages in use and the free ones; those of the stored list count as
// free, since the next commit gives them up.
func pagesOf(t testing.TB, db *DB) (pages uint64, free, used []uint64) {
	t.Helper()
	tx, err := db.raw.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	pages = uint64(tx.Size()) / pageSize
	for id := uint64(2); id < pages; {
		info, err := tx.Page(int(id))
		if err != nil {
			t.Fatal(err)
		}
		if info.Type == "free" {
			free = append(free, id)
			id++
			continue
		}
		for range info.OverflowCount + 1 {
			if info.Type == "freelist" {
				free = append(free, id)
			} else {
				used = append(used, id)
			}
			id++
		}
	}
	return pages, free, used
}

// finish closes the session as a store does, and tells the pages whose sum is wrong
// though the session says that it has not replaced them.
func (s *session) finish(t testing.TB, path string) {
	t.Helper()
	pages, _, used := pagesOf(t, s.db)
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	content := contentOf(t, path)
	stale := map[uint64]bool{}
	for id := range s.guard.Stale(pages) {
		stale[id] = true
	}
	for _, id := range used {
		sum := SumOf(content[id*pageSize : (id+1)*pageSize])
		if stale[id] {
			s.sums.Set(id, sum)
		} else if was, ok := s.sums.Of(id); !ok || was != sum {
			t.Errorf("page %d was replaced, and nobody has noted it", id)
		}
	}
}

// change is a random transaction: puts, removals in runs so that pages empty and join,
// buckets inside, sequences, cursors that remove as they go.
func change(source *rand.Rand, tx *Tx) error {
	b, err := tx.CreateBucketIfNotExists([]byte{'b', byte(source.IntN(3))})
	if err != nil {
		return err
	}
	key := func(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	for range 1 + source.IntN(40) {
		at := source.IntN(3000)
		switch source.IntN(10) {
		default:
			err = b.Put(key(at), bytes.Repeat([]byte{byte(at)}, source.IntN(400)))
		case 1:
			err = b.Put(key(at), bytes.Repeat([]byte{byte(at)}, source.IntN(3*pageSize)))
		case 2, 3:
			for n := range source.IntN(300) {
				err = errors.Join(err, b.Delete(key(at+n)))
			}
		case 4:
			_, err = b.NextSequence()
		case 5:
			c, n := b.Cursor(), source.IntN(200)
			for k, _ := c.Seek(key(at)); k != nil && n > 0 && err == nil; k, _ = c.Seek(k) {
				err = b.Delete(bytes.Clone(k))
				n--
			}
		case 6:
			c, n := b.Cursor(), source.IntN(300)
			c.Seek(key(at))
			for k, _ := c.Prev(); k != nil && n > 0; k, _ = c.Prev() {
				n--
			}
			c.First()
			c.Last()
		case 7:
			var inner *Bucket
			if inner, err = tx.CreateBucketIfNotExists([]byte("inner")); err == nil {
				inner, err = inner.CreateBucketIfNotExists([]byte{byte(source.IntN(4))})
			}
			for n := 0; err == nil && n < source.IntN(100); n++ {
				err = inner.Put(key(n), bytes.Repeat([]byte{1}, 100))
			}
		case 8:
			if inner := tx.Bucket([]byte("inner")); inner != nil && source.IntN(4) == 0 {
				if name := []byte{byte(source.IntN(4))}; inner.Bucket(name) != nil {
					err = inner.DeleteBucket(name)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Whatever bbolt does with a tree, it frees no page that was not noted, and follows
// none that was not compared.
func TestWhatIsReplacedWasNoted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			source := rand.New(rand.NewPCG(seed, 73))
			path := filepath.Join(t.TempDir(), "file.db")
			var sums *Sums
			for range 25 {
				s := begin(t, path, sums, func(at Snapshot) error { return fmt.Errorf("page %d: %w", at.Page, errWrong) })
				if sums == nil {
					s.guard.Complete() // bbolt's first pages
				}
				for range 1 + source.IntN(6) {
					err := s.db.Update(func(tx *Tx) error {
						if err := change(source, tx); err != nil {
							return err
						}
						if source.IntN(8) == 0 {
							return errWrong // rolled back
						}
						return tx.JoinRoot()
					})
					if err != nil && !errors.Is(err, errWrong) {
						t.Fatal(err)
					}
					if err := s.db.View(func(tx *Tx) error { return readSome(source, tx) }); err != nil {
						t.Fatal(err)
					}
				}
				sums = s.sums
				s.finish(t, path)
			}
		})
	}
}

func readSome(source *rand.Rand, tx *Tx) error {
	return tx.ForEach(func(_ []byte, b *Bucket) error {
		c := b.Cursor()
		c.Last()
		k, _ := c.Seek(binary.BigEndian.AppendUint32(nil, uint32(source.IntN(3000))))
		for n := source.IntN(300); k != nil && n > 0; n-- {
			if source.IntN(3) == 0 {
				k, _ = c.Prev()
			} else {
				k, _ = c.Next()
			}
		}
		return nil
	})
}

// Each page of a file is spoiled in turn: who reads or writes all of it is told before
// bbolt has seen the page; so is the scrub. The control is the file as it was.
func TestADamagedPageIsToldBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.db")
	good := begin(t, path, nil, nil)
	good.guard.Complete()
	if err := good.db.Update(func(tx *Tx) error {
		for n := range 3 {
			b, err := tx.CreateBucketIfNotExists([]byte{'b', byte(n)})
			for i := 0; i < keys && err == nil; i++ {
				err = b.Put(binary.BigEndian.AppendUint32(nil, uint32(i)), bytes.Repeat([]byte{byte(i)}, 20+i%900))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_, _, used := pagesOf(t, good.db)
	good.finish(t, path)
	content := contentOf(t, path)
	spoiled := filepath.Join(t.TempDir(), "spoiled.db")
	for i, id := range append([]uint64{0}, used...) {
		data := slices.Clone(content)
		if id != 0 {
			data[id*pageSize+uint64(i*37%pageSize)] ^= 1 << (i % 8)
		}
		for _, use := range []func(s *session) error{readAll, writeAll, scrubAll} {
			if err := os.WriteFile(spoiled, data, 0o600); err != nil {
				t.Fatal(err)
			}
			s := begin(t, spoiled, good.sums, func(at Snapshot) error {
				if at.Page != id {
					return fmt.Errorf("page %d was told for page %d", at.Page, id)
				}
				return errWrong
			})
			err := use(s)
			_ = s.db.Close()
			if id == 0 && err != nil || id != 0 && !errors.Is(err, errWrong) {
				t.Errorf("page %d: %v", id, err)
			}
		}
	}
}

// caught turns what a transaction panics with into an error.
func caught(use func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			damage, ok := p.(*Damage)
			if !ok {
				panic(p)
			}
			err = damage
		}
	}()
	return use()
}

func readAll(s *session) error {
	return caught(func() error {
		return s.db.View(func(tx *Tx) error {
			return tx.ForEach(func(_ []byte, b *Bucket) error { return b.ForEach(func(_, _ []byte) error { return nil }) })
		})
	})
}

func writeAll(s *session) error {
	return caught(func() error {
		return s.db.Update(func(tx *Tx) error {
			return tx.ForEach(func(_ []byte, b *Bucket) error {
				var err error
				for i := 0; i < keys && err == nil; i++ {
					err = b.Delete(binary.BigEndian.AppendUint32(nil, uint32(i)))
				}
				return err
			})
		})
	})
}

func scrubAll(s *session) error {
	file, err := os.Open(s.db.raw.Path())
	if err != nil {
		return err
	}
	defer file.Close()
	next, differs, err := s.guard.Scrub(context.Background(), file, pageSize, 2, s.guard.Pages()-2)
	if err != nil || !differs {
		return err
	}
	return s.db.View(func(tx *Tx) error { return tx.Look(next) })
}

// A difference that means nothing ends all comparing, and asks for new sums.
func TestADifferenceThatMeansNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.db")
	sums := NewSums(strings.NewReader("")) // holds none
	looks := 0
	s := begin(t, path, nil, nil)
	s.guard.Complete()
	if err := s.db.Update(func(tx *Tx) error { _, err := tx.CreateBucket([]byte("b")); return err }); err != nil {
		t.Fatal(err)
	}
	s.finish(t, path)
	s = begin(t, path, sums, func(Snapshot) error { looks++; return nil })
	if err := errors.Join(readAll(s), readAll(s)); err != nil || looks != 1 || !s.guard.Whole() || !s.guard.Doubt() {
		t.Errorf("%v, %d looks, whole %t, doubt %t", err, looks, s.guard.Whole(), s.guard.Doubt())
	}
	_ = s.db.Close()
}

// A transaction that asks for a bucket again and again keeps nothing of it.
func TestBucketsAreNotGathered(t *testing.T) {
	t.Parallel()
	s := begin(t, filepath.Join(t.TempDir(), "file.db"), nil, nil)
	defer s.db.Close()
	s.guard.Complete()
	ask := func(tx *Tx) error {
		for range 1000 {
			tx.Bucket([]byte("b"))
		}
		if len(tx.used) > 1 {
			t.Errorf("writes %t: %d buckets are kept", tx.writes, len(tx.used))
		}
		return nil
	}
	if err := errors.Join(
		s.db.Update(func(tx *Tx) error { _, err := tx.CreateBucket([]byte("b")); return err }),
		s.db.Update(ask), s.db.View(ask),
	); err != nil {
		t.Fatal(err)
	}
}
