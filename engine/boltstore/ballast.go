package boltstore

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ballast is a file that takes room only to give it up when the disk is nearly
// full: then what is in flight can still be stored (P12).
type ballast struct {
	path string
	size int64
}

// lay makes the file where it is not there. It is an aid: without it the
// watermarks still hold, so errors are not told.
func (b *ballast) lay() {
	if b.size <= 0 {
		return
	}
	if info, err := os.Stat(b.path); err == nil && info.Size() == b.size {
		return
	}
	file, err := os.OpenFile(b.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	err = errors.Join(reserve(file, b.size), file.Close())
	if err != nil {
		_ = os.Remove(b.path)
	}
}

// reserve takes real blocks: a file with holes gives nothing back.
func reserve(file *os.File, size int64) error {
	err := allocate(file, size)
	if !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func (b *ballast) drop() {
	if b.size <= 0 {
		return
	}
	if err := os.Remove(b.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = os.Truncate(b.path, 0) // a folder that may not be changed
	}
}
