package pluginhost

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/pluginhost/confine"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// maxSocketPath is sun_path without its final NUL.
const maxSocketPath = 107

// executesFiles tells that an open file can be executed, whatever its name stands for.
const executesFiles = true

// codePath is the name of a descriptor of the process itself.
func codePath(descriptor int) string { return "/proc/self/fd/" + strconv.Itoa(descriptor) }

// onThread runs f on a thread that ends with it.
func onThread(f func()) { confine.OnThread(f) }

// processAttributes puts a plugin into a group of its own and has the kernel
// kill it when the host dies, whatever the plugin does with its lifeline. into is its
// control group; nil = that of the host.
func processAttributes(pass uint32, into *os.File) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pgid: confine.Group(pass), Pdeathsig: syscall.SIGKILL}
	if into != nil {
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(into.Fd())
	}
	return attributes
}

// limitProcess sets the resource limits of a process and of what it has started.
// They are set from outside right after exec: Go offers no hook before it. What a
// process starts in that moment gets them at the next count of its tree.
func limitProcess(pid int, l Limits) error {
	limits := map[int]uint64{}
	if tasks, ok := taskLimit(l.Processes); ok {
		limits[unix.RLIMIT_NPROC] = tasks
	}
	return limitFiles(pid, l, limits)
}

// limitFiles sets the limits that are the same for each process of a plugin, and more.
func limitFiles(pid int, l Limits, limits map[int]uint64) error {
	limits[unix.RLIMIT_NOFILE], limits[unix.RLIMIT_CORE], limits[unix.RLIMIT_FSIZE] = l.Files, 0, l.FileSize
	for resource, value := range limits {
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("limit process %d: %w", pid, err)
		}
	}
	return nil
}

// limitChild sets the limits of what a plugin has started.
func limitChild(pid int, l Limits) { _ = limitFiles(pid, l, map[int]uint64{}) } // gone meanwhile: as well

// awaitExit returns when pid has ended, and leaves it as a zombie: until it is
// reaped neither its pid nor its group can be given to another process.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// processStart identifies a process beside its pid: the boot and the clock
// ticks since then at which it started. ok is false when it is gone or a zombie.
func processStart(pid int) (start string, ok bool) {
	stat, err := peer.ReadStat(pid)
	if err != nil || stat.State == "Z" || stat.State == "X" {
		return "", false
	}
	boot := bootID()
	return boot + "/" + stat.Started, boot != ""
}

// bootID names the boot of the machine; "" = it can't be read.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot))
}

// notOlder lists the processes that may descend from one that started then (processStart):
// since this boot, not before it, and of this user, where that is not root, whose
// processes may have become anybody's.
func notOlder(starts []string) []int {
	boot, oldest := bootID(), uint64(math.MaxUint64)
	for _, start := range starts {
		of, ticks, _ := strings.Cut(start, "/")
		if at, err := strconv.ParseUint(ticks, 10, 64); of == boot && err == nil {
			oldest = min(oldest, at)
		}
	}
	if oldest == math.MaxUint64 {
		return nil
	}
	user := os.Getuid()
	return slices.DeleteFunc(livePIDs(), func(pid int) bool {
		var of unix.Stat_t
		if user != 0 && (unix.Stat("/proc/"+strconv.Itoa(pid), &of) != nil || int(of.Uid) != user) {
			return true
		}
		stat, err := peer.ReadStat(pid)
		if err != nil {
			return true
		}
		at, err := strconv.ParseUint(stat.Started, 10, 64)
		return err == nil && at < oldest
	})
}

// markedBy are those processes, of this user, whose environment at exec had one of the
// marks. It finds the children of a plugin that left its group.
func markedBy(pids []int, marks ...string) []int {
	return slices.DeleteFunc(pids, func(pid int) bool {
		environ, err := procFile(pid, "environ")
		return err != nil || !slices.ContainsFunc(marks, func(mark string) bool {
			return strings.Contains("\x00"+environ+"\x00", "\x00"+handshake.EnvLaunchMark+"="+mark+"\x00")
		})
	})
}

// changeTime returns a file's ctime in nanoseconds.
func changeTime(stat *syscall.Stat_t) int64 { return stat.Ctim.Nano() }
