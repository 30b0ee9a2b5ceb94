package pluginhost

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxSocketPath is sun_path without its final NUL.
const maxSocketPath = 103

// executesFiles tells that an open file can't be executed here: its name is, and the
// name is looked at again after the start.
const executesFiles = false

func codePath(int) string { return "" }

// onThread runs f.
func onThread(f func()) { go f() }

// keepWritersOut does nothing: there are no leases. The file is looked at after the start.
func keepWritersOut(*os.File) error { return nil }

func letWritersIn(*os.File) {}

// tieGroup does nothing: the lifeline alone ends what a plugin started.
func tieGroup(int) (release func(), err error) { return func() {}, nil }

// residentMemory is not known here.
func residentMemory([]int) int64 { return 0 }

func proportionalMemory([]int) (int64, bool) { return 0, false }

// confinedIn finds nothing here.
func confinedIn(int) []int { return nil }

// processAttributes puts a plugin into a group of its own. There is no
// parent-death signal: the lifeline alone ends a plugin whose host died.
func processAttributes(uint32, *os.File) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// limitProcess does nothing: limits of another process can't be set here.
func limitProcess(int, Limits) error { return nil }

func limitChild(int, Limits) {}

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

// livePIDs and ours find nothing: the processes of the machine can't be read here.
func livePIDs() []int { return nil }

func ours() []int { return nil }

func rowsOf(func() []int) ([]processRow, time.Duration) { return nil, 0 }

func family(int, []processRow) []int { return nil }

// markedBy and notOlder find nothing: environments of other processes can't be read.
func markedBy([]int, ...string) []int { return nil }

func notOlder([]string) []int { return nil }

// changeTime returns a file's ctime in nanoseconds.
func changeTime(stat *syscall.Stat_t) int64 { return stat.Ctimespec.Nano() }
