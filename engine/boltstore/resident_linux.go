package boltstore

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// giveBack lets go of the pages of a large value that was copied out of the file's map:
// they are the kernel's cache, but count as this process's memory while they are mapped.
// Who reads the value again has them back. The value must lie in the map, within its
// transaction.
func giveBack(value []byte) {
	if len(value) < blobThreshold {
		return
	}
	page := unix.Getpagesize()
	before := -int(uintptr(unsafe.Pointer(&value[0]))) & (page - 1) //nolint:gosec // an address, to find the next page's
	whole := (len(value) - before) &^ (page - 1)
	_ = unix.Madvise(value[before:before+whole], unix.MADV_DONTNEED) // advice
}
