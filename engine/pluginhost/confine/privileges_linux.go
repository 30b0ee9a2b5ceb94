package confine

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// dropCapabilities empties the capability sets of the thread, but for those kept. A
// program that root starts gets what the bounding set has: so that one is emptied
// first.
func dropCapabilities(keep []int) error {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // a kernel without has none
	for number := 0; number < 64; number++ {
		if slices.Contains(keep, number) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // there are no more
		}
		if err != nil && !errors.Is(err, unix.EPERM) { // no root: then nothing is gained from the set
			return fmt.Errorf("drop capability %d: %w", number, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held, left [2]unix.CapUserData
	if err := unix.Capget(&header, &held[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	for _, number := range keep {
		bit := uint32(1) << (number % 32)
		left[number/32].Permitted |= held[number/32].Permitted & bit
		left[number/32].Effective |= held[number/32].Effective & bit
	}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
