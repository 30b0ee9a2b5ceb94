package sandbox

import (
	"runtime"
	"syscall"
)

// withParent has the kernel kill a child when this process dies. The signal comes
// when the thread ends that started the child, so that the caller keeps it.
func withParent() *syscall.SysProcAttr {
	runtime.LockOSThread()
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
