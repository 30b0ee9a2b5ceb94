//go:build unix

package files

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// Modes of accessible.
const (
	accessRead  = unix.R_OK
	accessWrite = unix.W_OK
)

// accessible reports whether the modes of a file or a folder let this process in, whatever
// its sandbox says.
func accessible(path string, mode uint32) bool { return unix.Access(path, mode) == nil }

// linksOf is how many names a file has.
func linksOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink) //nolint:unconvert // another type on other systems
	}
	return 1
}

// identity names a file for good, as long as it is there: its device and its number.
func identity(info fs.FileInfo) (device, number uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev), uint64(stat.Ino) //nolint:unconvert // other types on other systems
	}
	return 0, 0
}
