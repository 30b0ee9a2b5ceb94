package doctor

import "golang.org/x/sys/unix"

// clockSynchronised reports what the kernel knows of the clock. Where it may not
// be asked, nothing is known.
func clockSynchronised() (synchronised, ok bool) {
	state, err := unix.Adjtimex(&unix.Timex{})
	return state != unix.TIME_ERROR, err == nil
}
