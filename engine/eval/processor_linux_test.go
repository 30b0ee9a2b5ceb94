package eval

import (
	"syscall"
	"time"
)

// processorTime is what the calling thread has had of the processor.
func processorTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(ofThread, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
