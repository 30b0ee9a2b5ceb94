package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// How often, and after what pause, a file that is open for writing is tried again: a
// process that is being started has for a moment what this one had open.
const (
	leaseTries = 20
	leasePause = 5 * time.Millisecond
)

// keepWritersOut takes a lease on a file: whoever opens it for writing waits until
// letWritersIn. So nobody changes what was compared before the kernel executes it; from
// then on the kernel itself refuses. File systems without leases (of the network) are
// looked at again after the start instead (code.changed).
func keepWritersOut(file *os.File) error {
	fd := file.Fd()
	var err error
	for range leaseTries {
		if _, err = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK); !errors.Is(err, unix.EAGAIN) {
			break
		}
		time.Sleep(leasePause)
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		return fmt.Errorf("%s: %w", file.Name(), errWritten)
	case err != nil:
		return nil //nolint:nilerr // no leases here, or the file is another user's
	}
	// The signal of a waiting writer: one that a Go program takes without a word.
	_, err = unix.FcntlInt(fd, unix.F_SETSIG, int(unix.SIGURG))
	if err != nil {
		return fmt.Errorf("take a lease on %s: %w", file.Name(), err)
	}
	return nil
}

// letWritersIn ends the lease, which the started process shares.
func letWritersIn(file *os.File) {
	_, _ = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // there may be none
}
