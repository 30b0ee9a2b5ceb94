package boltstore

import (
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

	bolt "go.etcd.io/bbolt"
)

// lockRetry is how often a held lock is asked again.
const lockRetry = 20 * time.Millisecond

// ensureFile creates the store file when it is absent: a finished file appears
// under its name in one step. The folder's lock keeps two creators apart, since
// a second rename would take the file away under the first one's lock.
func ensureFile(path string, o Options) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("create store %s: %w", path, err)
	}
	defer dir.Close()
	switch err := lockFile(dir, o.Timeout); {
	case errors.Is(err, errLocked):
		return &LockedError{Path: path} // by the process that creates it at this moment
	case err != nil:
		return fmt.Errorf("create store %s: lock its folder: %w", path, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch err := createFile(path, dir); {
	case err != nil && wantsSpace(err):
		return fmt.Errorf("create store %s: %w: %w", path, ErrNoSpace, err)
	case err != nil:
		return fmt.Errorf("create store %s: %w", path, err)
	}
	return nil
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
// truncated file, and keeps the lock then (RELIABILITY.md 6.1).
func openFile(path string, o Options) (db *bolt.DB, file *os.File, err error) {
	options := boltOptions(o)
	options.OpenFile = func(name string, _ int, _ os.FileMode) (*os.File, error) {
		opened, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		if err := lockFile(opened, o.Timeout); err != nil {
			_ = opened.Close()
			return nil, err
		}
		if err := preflight(opened); err != nil {
			_ = opened.Close()
			return nil, err
		}
		file = opened
		return opened, nil
	}
	db, err = guardedOpen(path, options)
	switch {
	case err == nil:
		return db, file, nil
	case errors.Is(err, errLocked):
		return nil, nil, &LockedError{Path: path}
	}
	if file != nil {
		_ = file.Close() // bbolt has closed it already unless it panicked
	}
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		corrupt.Path = path
		return nil, nil, corrupt
	}
	return nil, nil, fmt.Errorf("open store %s: %w", path, err)
}

// guardedOpen turns bbolt's panics on damaged files into errors.
func guardedOpen(path string, options *bolt.Options) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			db, err = nil, &CorruptError{Detail: fmt.Sprint(p)}
		}
	}()
	return bolt.Open(path, 0o600, options)
}

var errLocked = errors.New("locked by another process")

// lockFile takes the exclusive lock of a file or folder; it ends with the
// descriptor. bbolt takes the same lock again on the same descriptor.
func lockFile(file *os.File, timeout time.Duration) error {
	for waited := time.Duration(0); ; waited += lockRetry {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
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
	metaPgid     = 40
	metaTxid     = 48
	metaChecksum = 56
	metaSize     = 64
)

// preflight compares the file's size with its meta pages, then walks the tree
// (P14). Both metas must be valid: bbolt would fall back to the older one, and
// what the last commit acknowledged would be gone without a word. A crash spoils
// none, since a meta lies inside one disk sector.
func preflight(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	newest := readMeta(file, 0)
	if newest == nil {
		return &CorruptError{Detail: fmt.Sprintf("the first meta page of %d bytes is not valid", info.Size())}
	}
	pageSize := int64(binary.NativeEndian.Uint32(newest[8:]))
	second := readMeta(file, pageSize)
	if second == nil {
		return &CorruptError{Detail: "the second meta page is not valid: the last commit may be lost"}
	}
	if metaField(second, metaTxid) > metaField(newest, metaTxid) {
		newest = second
	}
	pages, root := metaField(newest, metaPgid), metaField(newest, metaRoot)
	if needed := int64(pages) * pageSize; info.Size() < needed || needed < 0 {
		return &CorruptError{Detail: fmt.Sprintf("truncated: %d bytes, its meta page wants %d", info.Size(), needed)}
	}
	return checkPages(file, pageSize, pages, root)
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
