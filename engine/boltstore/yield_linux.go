package boltstore

import (
	"runtime"
	"syscall"
)

// yield lets everybody run who is ready to: goroutines of this process, then other
// processes, of which the plugins are the ones that bring what is waited for. It returns at
// once where the processors have nothing else to do.
func yield() {
	runtime.Gosched()
	_, _, _ = syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}
