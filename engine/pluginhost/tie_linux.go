package pluginhost

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// tieGroup has the kernel kill a group of processes when this process ends, however it
// ends: the parent-death signal is of the plugin alone, what it started has none. Both
// ends of a pipe ask for SIGKILL to the group when the other end closes; only this
// process has them, so that one of them closes first when it dies. release ends that,
// and kills what is left of the group.
func tieGroup(group int) (release func(), err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("tie the processes of a plugin to this one: %w", err)
	}
	release = func() {
		for _, end := range ends {
			_ = unix.Close(end)
		}
	}
	for _, end := range ends {
		for _, set := range [][2]int{{unix.F_SETOWN, -group}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_NONBLOCK | unix.O_ASYNC}} {
			if _, err := unix.FcntlInt(uintptr(end), set[0], set[1]); err != nil {
				release()
				return nil, fmt.Errorf("tie the processes of a plugin to this one: %w", err)
			}
		}
	}
	return release, nil
}
