package sealedpages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// failing is how a transaction comes to fail.
type failing struct {
	name   string
	closed bool // the file takes no write
	full   bool // the file may not grow
	size   int  // of what is put
	panics bool
	gives  func(error) bool
}

func failings() []failing {
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	return []failing{
		{name: "no page is to be had", full: true, size: 4 << 20, gives: is(berrors.ErrMaxSizeReached)},
		{name: "the file does not grow", closed: true, size: 4 << 20, gives: func(err error) bool {
			return err != nil && strings.Contains(err.Error(), "file stat error")
		}},
		{name: "a page is not written", closed: true, size: 1, gives: is(os.ErrClosed)},
		{name: "who writes panics", panics: true, size: 1, gives: is(errWrong)},
	}
}

// fileOfPages returns the path of a file of a few hundred pages, with the sums of all,
// and a page in the middle of it that a bucket of its own needs, and nobody else.
func fileOfPages(t *testing.T) (path string, sums *Sums, apart uint64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "file.db")
	s := begin(t, path, nil, nil)
	s.guard.Complete()
	if err := s.db.Update(func(tx *Tx) error {
		for _, name := range []string{"apart", "used"} {
			b, err := tx.CreateBucket([]byte(name))
			for i := 0; i < keys && err == nil; i++ {
				err = b.Put(binary.BigEndian.AppendUint32(nil, uint32(i)), bytes.Repeat([]byte(name[:1]), 900))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.db.View(func(tx *Tx) error {
		apart = tx.Bucket([]byte("apart")).root()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	s.finish(t, path)
	_, apart = element(contentOf(t, path)[apart*pageSize:], 30)
	return path, s.sums, apart
}

// fail opens a file by its sums, commits once without the list of free pages, and lets
// the next transaction fail. It returns how, and how many transactions were begun
// meanwhile by bbolt itself.
func (f failing) fail(t *testing.T, path string, sums *Sums, logger bbolt.Logger) (err error, own int) { //nolint:staticcheck // the count belongs to the error
	t.Helper()
	options := options()
	options.Logger, options.NoFreelistSync, options.InitialMmapSize = logger, true, 64<<20
	var file *os.File
	options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file, err = os.OpenFile(name, flag, mode)
		return file, err
	}
	db, err := Open(path, 0o600, options)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pages, free, _ := pagesOf(t, db)
	db.Watch(NewGuard(sums, pages, free, false, func(at Snapshot) error { return fmt.Errorf("page %d: %w", at.Page, errWrong) }))
	put := func(size int) func(tx *Tx) error {
		return func(tx *Tx) error {
			if f.panics && size > 0 {
				defer panic(errWrong)
			}
			return tx.Bucket([]byte("used")).Put([]byte{0, 0, 0, 7}, make([]byte, size))
		}
	}
	if err := db.Update(put(0)); err != nil {
		t.Fatal(err)
	}
	if f.full {
		db.raw.MaxSize = 1 << 20
	}
	if f.closed {
		_ = file.Close()
	}
	before := db.Stats().TxN
	func() {
		defer func() {
			if p := recover(); p != nil {
				err = p.(error) //nolint:forcetypeassert // a panic with anything else is the test's end
			}
		}()
		err = db.Update(put(f.size))
	}()
	own = db.Stats().TxN - before
	f.reads(t, db)
	return err, own
}

// reads: what was there before the failure is there, and nothing holds a lock.
func (f failing) reads(t *testing.T, db *DB) {
	t.Helper()
	if err := db.View(func(tx *Tx) error {
		if got := tx.Bucket([]byte("used")).Get([]byte{0, 0, 0, 7}); got == nil || len(got) > 0 {
			return fmt.Errorf("read %d bytes", len(got))
		}
		return nil
	}); err != nil {
		t.Errorf("%s: %v", f.name, err)
	}
}

// bbolt comes to look at no page when a transaction fails: not at the damaged one that
// would end its goroutine, and the process with it. The control is bbolt without
// Failures over a file in order: it begins a transaction of its own for its look.
func TestNobodyLooksForFreePagesAfterAFailure(t *testing.T) {
	t.Parallel()
	for _, f := range failings() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path, sums, _ := fileOfPages(t)
			if err, own := f.fail(t, path, sums, nil); !f.panics && (!f.gives(err) || own != 1) {
				t.Errorf("the control: %v, and bbolt has begun %d transactions", err, own)
			}
			path, sums, apart := fileOfPages(t)
			content := contentOf(t, path)
			copy(content[apart*pageSize+8:], []byte{0xff, 0xff}) // a page of no kind
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if err, own := f.fail(t, path, sums, Failures()); !f.gives(err) || own != 0 {
				t.Errorf("%v, and bbolt has begun %d transactions", err, own)
			}
		})
	}
}

// The words that bbolt says before it takes a commit back, each with its error behind
// them, and nothing else, are a failure.
func TestFailuresAreThoseOfCommits(t *testing.T) {
	t.Parallel()
	said := func(format string, args ...any) (failed error) {
		defer func() {
			if f, ok := recover().(*commitFailure); ok {
				failed = f.err
			}
		}()
		Failures().Errorf(format, args...)
		return nil
	}
	if err := said("writeMeta failed: %v", errWrong); !errors.Is(err, errWrong) {
		t.Errorf("a meta page that is not written: %v", err)
	}
	for _, format := range []string{"Starting a new transaction [writable: %t] failed: %v", "Putting key %q failed: %v"} {
		if err := said(format, errWrong); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}
