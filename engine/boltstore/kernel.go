package boltstore

import (
	"fmt"
	"strings"
)

// KernelWarning says that a Linux kernel of this release (as of `uname -r`) may
// damage the store on ext4 with fast commits: 5.10 before 5.10.94, 5.15 before
// 5.15.17 (bbolt's known issues). "" = no warning, also for
// a release that cannot be read. A distribution may have mended its kernel
// without another number: it is a warning, not a refusal.
func KernelWarning(release string) string {
	var major, minor, patch int
	version, _, _ := strings.Cut(release, "-")
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 2 {
		return ""
	}
	fixed := 0
	switch {
	case major == 5 && minor == 10:
		fixed = 94
	case major == 5 && minor == 15:
		fixed = 17
	}
	if patch >= fixed {
		return ""
	}
	return fmt.Sprintf("kernel %s: ext4 with fast commits may damage the store before %d.%d.%d: update the kernel, or turn fast_commit off",
		release, major, minor, fixed)
}
