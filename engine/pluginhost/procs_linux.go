package pluginhost

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/peer"
	"golang.org/x/sys/unix"
)

// How many processes a plugin may be.
//
// RLIMIT_NPROC counts all tasks, threads too, of a user, wherever they came from,
// and is not enforced for root at all. 64 of them would keep every plugin of a
// user who has a desktop open from starting. So the rlimit is a backstop only: what
// the machine has now, and sixteen threads for each process that is allowed; none for
// root. The limit itself is kept by the host, which counts a plugin's processes about
// twice a second and kills them above the limit: its tree, and its group, which no
// process can leave where the sandbox holds (confine.PartGroup). Where it does not,
// what leaves both is found by the mark in its environment when the plugin ends, or by
// the next engine; what clears its environment too is held by a control group alone.

// taskLimit returns the value of RLIMIT_NPROC for a plugin.
func taskLimit(processes int) (uint64, bool) {
	if processes < 0 || os.Getuid() == 0 {
		return 0, false
	}
	return uint64(machineTasks() + processes*threadsEach), true
}

// machineTasks is how many threads the machine has now, whoever's they are: the kernel
// keeps that number, and nobody does for one user. Where it can't be read it is that of a
// large machine.
func machineTasks() int {
	text, _ := os.ReadFile("/proc/loadavg") // "0.20 0.18 0.12 1/80 11206"
	if fields := strings.Fields(string(text)); len(fields) >= 4 {
		_, all, _ := strings.Cut(fields[3], "/")
		if tasks, err := strconv.Atoi(all); err == nil {
			return tasks
		}
	}
	return manyTasks
}

const manyTasks = 4096

// livePIDs lists the processes of the machine.
func livePIDs() []int {
	entries, _ := os.ReadDir("/proc") // where it can't be read, nobody is seen
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// procFile reads a file of a process, which may have ended.
func procFile(pid int, name string) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + name)
	return string(data), err
}

// ours lists what plugins may have started: what descends from this process, where all
// that loses its parents is adopted by it, else the processes of the machine.
func ours() []int {
	if peer.Adopts() {
		if pids, listed := peer.Descendants(os.Getpid()); listed {
			return pids
		}
	}
	return livePIDs()
}

// rowsOf looks at processes, and says how much processor time it took: where others take
// the processors, that is less than what has passed.
func rowsOf(pids func() []int) (rows []processRow, cost time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	defer func() { cost = threadTime() - began }()
	for _, pid := range pids() {
		stat, err := peer.ReadStat(pid)
		if err != nil || stat.State == "Z" {
			continue
		}
		if group, err := strconv.Atoi(stat.Group); err == nil {
			rows = append(rows, processRow{pid: pid, parent: stat.Parent, group: group})
		}
	}
	return rows, 0
}

// threadTime is the processor time that the calling thread has taken.
func threadTime() time.Duration {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		return 0
	}
	return time.Duration(spent.Nano())
}

// family returns what a process has started, what that has started, and what is of
// its group without being of its tree any more.
func family(pid int, all []processRow) []int {
	children, seen := map[int][]int{}, map[int]bool{pid: true}
	var found []int
	for _, row := range all {
		children[row.parent] = append(children[row.parent], row.pid)
		if row.group == pid && row.pid != pid {
			found, seen[row.pid] = append(found, row.pid), true
		}
	}
	for next := append([]int{pid}, found...); len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			if !seen[child] {
				found, seen[child] = append(found, child), true
				next = append(next, child)
			}
		}
	}
	return found
}

// confinedIn returns the processes of a group whose leader is gone, where they are under
// rules as plugins are: a group of the same number that is somebody else's is not touched.
func confinedIn(group int) []int {
	var found []int
	all, _ := rowsOf(livePIDs)
	for _, pid := range family(group, all) {
		status, err := procFile(pid, "status")
		stat, statErr := peer.ReadStat(pid)
		if err == nil && statErr == nil && stat.Group == strconv.Itoa(group) && strings.Contains(status, "\nNoNewPrivs:\t1\n") {
			found = append(found, pid)
		}
	}
	return found
}

// residentMemory returns how many bytes of memory processes use that is theirs alone:
// not the files that are mapped, but what was swapped out. Pages that a process shares
// with its children since the fork count once where the kernel tells.
func residentMemory(pids []int) int64 {
	var used int64
	for _, pid := range pids {
		status, _ := procFile(pid, "status") // one that has ended uses nothing
		used += sumOf(status, "RssAnon", "RssShmem", "VmSwap") << 10
	}
	return used
}

// proportionalMemory is residentMemory with shared pages counted once; false = the
// kernel does not tell of all. It takes long for large processes.
func proportionalMemory(pids []int) (int64, bool) {
	var used int64
	for _, pid := range pids {
		rollup, err := procFile(pid, "smaps_rollup")
		if err != nil {
			return 0, false
		}
		used += sumOf(rollup, "Pss_Anon", "Pss_Shmem", "SwapPss") << 10
	}
	return used, true
}

// sumOf sums up some lines of a file of /proc, in the unit that they have there.
func sumOf(text string, names ...string) int64 {
	var sum int64
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if fields := strings.Fields(value); len(fields) > 0 && slices.Contains(names, name) {
			number, err := strconv.ParseInt(fields[0], 10, 64)
			if err == nil {
				sum += number
			}
		}
	}
	return sum
}
