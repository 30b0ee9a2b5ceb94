package pluginhost

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSocketPath is sun_path without its final NUL.
const maxSocketPath = 103

// processAttributes puts a plugin into a group of its own. There is no
// parent-death signal: the lifeline alone ends a plugin whose host died.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// limitProcess does nothing: limits of another process can't be set here.
func limitProcess(int, Limits) error { return nil }

// awaitExit returns at once; the caller's own wait follows.
func awaitExit(int) {}

// processStart identifies a process beside its pid: when it started.
func processStart(pid int) (start string, ok bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return "", false
	}
	at := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", at.Sec, at.Usec), true
}

// descendants finds nothing: the tree of processes can't be read here.
func descendants(int) []int { return nil }

// processesWith finds nothing: environments of other processes can't be read.
func processesWith(func(environ string) bool) []int { return nil }

// changeTime returns a file's ctime in nanoseconds.
func changeTime(stat *syscall.Stat_t) int64 { return stat.Ctimespec.Nano() }
