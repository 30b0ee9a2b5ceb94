package blobfile_test

import (
	"os"
	"syscall"
	"testing"
)

// TestMain puts the temporary folders into memory where there is room and nobody says
// another place: what a loss of power leaves is the subject of test/storefaults.
func TestMain(m *testing.M) {
	const folder = "/dev/shm"
	var memory syscall.Statfs_t
	if err := syscall.Statfs(folder, &memory); err == nil && memory.Bavail*uint64(memory.Bsize) >= 1<<30 && os.Getenv("TMPDIR") == "" {
		_ = os.Setenv("TMPDIR", folder) // where it can't be set, folders are where they were
	}
	os.Exit(m.Run())
}
