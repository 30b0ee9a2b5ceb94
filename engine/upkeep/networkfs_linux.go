package upkeep

import "syscall"

// fileSystemType returns the magic number of the file system that holds path.
func fileSystemType(path string) (uint32, bool) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0, false
	}
	return uint32(stat.Type), true //nolint:gosec // the magic numbers have 32 bits, with a sign on some machines
}
