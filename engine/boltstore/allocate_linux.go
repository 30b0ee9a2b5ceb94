package boltstore

import (
	"os"
	"syscall"
)

// allocate reserves blocks without writing them; EOPNOTSUPP where the file
// system can't.
func allocate(file *os.File, size int64) error {
	return syscall.Fallocate(int(file.Fd()), 0, 0, size)
}
