package boltstore

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData makes what was written into a file durable, and of its state what is needed to
// read it again: not when it was changed.
func syncData(file *os.File) error {
	for {
		err := unix.Fdatasync(int(file.Fd()))
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
