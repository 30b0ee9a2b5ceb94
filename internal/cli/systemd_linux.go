package cli

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// monotonicMicros is the monotonic clock in microseconds, as systemd wants it of a
// reload.
func monotonicMicros() string {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return "0"
	}
	return strconv.FormatInt(now.Nano()/1000, 10)
}
