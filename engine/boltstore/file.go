package boltstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// lockRetry is how often a held lock is asked again.
const lockRetry = 20 * time.Millisecond

// ensureFile creates the store file when it is absent: a finished file appears
// under its name in one step. The folder's lock keeps two creators apart, since
// a second rename would take the file away under the first one's lock. It reports
// whether it has made it.
func ensureFile(path string, o Options) (created bool, err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return false, fmt.Errorf("create store %s: %w", path, err)
	}
	defer dir.Close()
	switch err := lockFile(dir, o.Timeout); {
	case errors.Is(err, errLocked):
		return false, &store.LockedError{Path: path} // by the process that creates it at this moment
	case err != nil:
		return false, fmt.Errorf("create store %s: lock its folder: %w", path, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	switch err := createFile(path, dir); {
	case err != nil && wantsSpace(err):
		free, _, _ := o.FreeSpace(filepath.Dir(path))
		return false, fmt.Errorf("create store %s: %w, %d bytes are free on its disk: %w", path, store.ErrNoSpace, free, err)
	case err != nil:
		return false, fmt.Errorf("create store %s: %w", path, err)
	}
	return true, nil
}

func createFile(path string, dir *os.File) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // else it is what a creator left that died
	}
	if err := writeEmptyStore(temporary); err != nil {
		_ = os.Remove(temporary)
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return dir.Sync()
}

func writeEmptyStore(path string) error {
	// A small map: bbolt sizes the first file by it.
	db, err := bolt.Open(path, 0o600, boltOptions(Options{InitialMmapSize: 1 << 15, Timeout: DefaultTimeout}))
	if err != nil {
		return err
	}
	if err := db.Update(initSchema); err != nil {
		return closing(err, db)
	}
	if err := db.Close(); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

func boltOptions(o Options) *bolt.Options {
	return &bolt.Options{
		Timeout:         o.Timeout,
		FreelistType:    bolt.FreelistMapType,
		NoFreelistSync:  true,
		InitialMmapSize: o.InitialMmapSize,
		MaxSize:         o.MaxSize,
	}
}

// openFile opens an existing store. The lock is taken and the file's size
// compared with its meta pages before bbolt maps it, because bbolt panics on a
// truncated file, and keeps the lock then.
func openFile(path string, o Options) (*openedFile, error) {
	file, err := openLocked(path, os.O_RDWR, lockExclusive, o.Timeout)
	if err != nil {
		return nil, openError(path, err)
	}
	opened := &openedFile{file: file}
	if opened.state, err = inspect(file, path, o); err != nil {
		_ = file.Close()
		return nil, openError(path, err)
	}
	options := boltOptions(o)
	options.OpenFile = func(string, int, os.FileMode) (*os.File, error) { return file, nil }
	if opened.state.sealed != nil {
		options.Logger = bolt.Failures()
	}
	return opened, opened.open(path, options)
}

// openedFile is a file that bbolt has mapped, with what was seen of it before.
type openedFile struct {
	db    *bolt.DB
	file  *os.File
	state *fileState
}

// The bounds of the steps in which a file grows, in bytes. The room of a step that
// nobody needs yet is free in the file, so that the step of a small one is small.
const (
	minGrowth   = 64 << 10
	smallGrowth = 4 << 20
	growthShare = 16 // of the file as it was opened
)

// growth is the step of a file. It is full one step before maxSize: the step of a
// small store must be small, else its watermarks come too late.
func growth(most int, size, maxSize int64) int {
	step := min(int64(most), max(smallGrowth, size/growthShare))
	return int(min(step, max(maxSize/256, minGrowth)))
}

func (f *openedFile) open(path string, options *bolt.Options) (err error) {
	if f.db, err = guardedOpen(path, options); err != nil {
		_ = f.file.Close() // bbolt has closed it already unless it panicked
		return openError(path, err)
	}
	f.db.Grow(growth(f.db.GrowStep(), f.state.size, int64(options.MaxSize)))
	return nil
}

// openError says which file was not opened.
func openError(path string, err error) error {
	if errors.Is(err, errLocked) {
		return &store.LockedError{Path: path}
	}
	if corrupt, ok := errors.AsType[*store.CorruptError](err); ok {
		corrupt.Path = path
		return corrupt
	}
	return fmt.Errorf("open store %s: %w", path, err)
}

// openLocked opens and locks a file. A file that was put in the place of another
// while the lock was waited for is opened anew: the lock is the file's, not the
// name's.
func openLocked(path string, flag, lock int, timeout time.Duration) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, flag, 0)
		if err != nil {
			return nil, err
		}
		if err := flock(file, lock, timeout); err != nil {
			_ = file.Close()
			return nil, err
		}
		mine, err := file.Stat()
		if err == nil {
			var there os.FileInfo
			if there, err = os.Stat(path); err == nil && os.SameFile(mine, there) {
				return file, nil
			}
		}
		_ = file.Close()
		if err != nil {
			return nil, err
		}
	}
}

// inspect looks at a locked file before it is mapped, and asks Verify when it
// was not closed. Verify reads the file in another process: the lock is shared
// meanwhile, and what it saw counts only for the same last transaction.
func inspect(file *os.File, path string, o Options) (*fileState, error) {
	if state := readSealed(file, path, o); state != nil {
		return state, nil
	}
	state, err := preflight(file, o.CheckAtStart, bolt.NewSums(nil))
	if err != nil || o.Verify == nil || state.closed || state.schema == 0 || state.schema > schemaVersion || state.size > o.CheckAtStart {
		return state, err
	}
	if err := flock(file, lockShared, o.Timeout); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), verifyLimit)
	defer cancel()
	if err := o.Verify(ctx, path); err != nil {
		return nil, fmt.Errorf("check it after an unclean stop: %w", err)
	}
	if err := flock(file, lockExclusive, o.Timeout); err != nil {
		return nil, err
	}
	again, err := preflight(file, o.CheckAtStart, bolt.NewSums(nil))
	if err != nil {
		return nil, err
	}
	again.verified = again.txid == state.txid
	return again, nil
}

// verifyLimit bounds Options.Verify (P14).
const verifyLimit = 60 * time.Second

// guardedOpen turns bbolt's panics on damaged files into errors.
func guardedOpen(path string, options *bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, unreadable("", p)
		}
	}()
	return bolt.Open(path, 0o600, options)
}

const (
	lockExclusive = syscall.LOCK_EX
	lockShared    = syscall.LOCK_SH // of a check: several may read, none may write
)

var errLocked = errors.New("locked by another process")

// lockFile takes the exclusive lock of a file or folder; it ends with the
// descriptor. bbolt takes the same lock again on the same descriptor.
func lockFile(file *os.File, timeout time.Duration) error {
	return flock(file, lockExclusive, timeout)
}

func flock(file *os.File, lock int, timeout time.Duration) error {
	for waited := time.Duration(0); ; waited += lockRetry {
		err := syscall.Flock(int(file.Fd()), lock|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("lock: %w", err)
		case waited >= timeout:
			return errLocked
		}
		time.Sleep(lockRetry)
	}
}

// The layout of a bbolt meta page: a page header of 16 bytes, then these
// offsets in the machine's byte order.
const (
	metaStart    = 16
	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	metaRoot     = 16
	metaFreeList = 32 // its page, or noFreeList
	metaPgid     = 40
	metaTxid     = 48
	metaChecksum = 56
	metaSize     = 64
)

// preflight compares the file's size with its meta pages, then walks the tree, of
// a file up to sums bytes with the checksum of every record (P14).
func preflight(file *os.File, sums int64, pageSums *bolt.Sums) (*fileState, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	walk, txid, err := walkFile(file, info.Size() <= sums, pageSums)
	if err != nil {
		return nil, err
	}
	return newState(walk, txid, info.Size())
}

func walkFile(file *os.File, sums bool, pageSums *bolt.Sums) (walk *pageWalk, txid uint64, err error) {
	m, err := readMetas(file)
	if err != nil {
		return nil, 0, err
	}
	if walk, err = walkPages(file, m.pageSize, m.pages, m.root, sums, pageSums); err != nil {
		return nil, 0, err
	}
	return walk, m.txid, walk.freeList(m.freeList)
}

// metas are the two meta pages of a file, with what the newest one says.
type metas struct {
	both                        [2][]byte
	size, pageSize              int64
	pages, root, txid, freeList uint64
}

// readMetas refuses a file whose meta pages are not in order. Both must be valid:
// bbolt would fall back to the older one, and what the last commit acknowledged would
// be gone without a word. A crash spoils none, since a meta lies inside one disk
// sector.
func readMetas(file *os.File) (*metas, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	m := &metas{size: info.Size()}
	newest := readMeta(file, 0)
	if newest == nil {
		return nil, &store.CorruptError{Detail: fmt.Sprintf("the first meta page of %d bytes is not valid", info.Size())}
	}
	m.pageSize = int64(binary.NativeEndian.Uint32(newest[8:]))
	second := readMeta(file, m.pageSize)
	if second == nil {
		return nil, &store.CorruptError{Detail: "the second meta page is not valid: the last commit may be lost"}
	}
	m.both = [2][]byte{newest, second}
	older := second
	if metaField(second, metaTxid) > metaField(newest, metaTxid) {
		newest, older = second, newest
	}
	// Each transaction writes over the older one; a copy of the file begins with
	// two of the same parity.
	if apart := metaField(newest, metaTxid) - metaField(older, metaTxid); apart != 1 && apart != 2 {
		return nil, &store.CorruptError{Detail: fmt.Sprintf("its meta pages are %d transactions apart: one is out of date", apart)}
	}
	m.pages, m.root = metaField(newest, metaPgid), metaField(newest, metaRoot)
	m.txid, m.freeList = metaField(newest, metaTxid), metaField(newest, metaFreeList)
	if needed := int64(m.pages) * m.pageSize; info.Size() < needed || needed < 0 {
		return nil, &store.CorruptError{Detail: fmt.Sprintf("truncated: %d bytes, its meta page wants %d", info.Size(), needed)}
	}
	return m, nil
}

// readMeta returns the meta of the page at offset, nil when it is not valid.
func readMeta(file *os.File, offset int64) []byte {
	meta := make([]byte, metaSize)
	if _, err := file.ReadAt(meta, offset+metaStart); err != nil {
		return nil
	}
	sum := fnv.New64a()
	_, _ = sum.Write(meta[:metaChecksum])
	if binary.NativeEndian.Uint32(meta) != metaMagic || binary.NativeEndian.Uint32(meta[4:]) != metaVersion ||
		metaField(meta, metaChecksum) != sum.Sum64() {
		return nil
	}
	return meta
}

func metaField(meta []byte, offset int) uint64 { return binary.NativeEndian.Uint64(meta[offset:]) }
