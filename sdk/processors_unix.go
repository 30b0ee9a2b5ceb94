//go:build unix

package sdk

import (
	"syscall"
	"time"
)

// tellsProcessorTime says whether processorTime can tell it.
const tellsProcessorTime = true

// processorTime is what this process has used, 0 where it is not told.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
