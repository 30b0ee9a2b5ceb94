package pluginhost

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// How many processes a plugin may be.
//
// RLIMIT_NPROC counts all tasks, threads too, of a user, wherever they came from,
// and is not enforced for root at all. 64 of them would keep every plugin of a
// user who has a desktop open from starting. So the rlimit is a backstop only: what
// the user has now, and sixteen threads for each process that is allowed; none for
// root. The limit itself is kept by the host, which counts the tree of a plugin's
// processes about twice a second and kills it above the limit. A process that
// leaves the tree is not counted, but carries the launch token in its environment
// and is killed by that when the plugin ends, or by the next engine. What clears
// its environment too can be held by a control group only: run flowrun in one
// (systemd: TasksMax=) where plugins are not trusted.

// threadsEach is how many threads a process is given in taskLimit.
const threadsEach = 16

// taskLimit returns the value of RLIMIT_NPROC for a plugin.
func taskLimit(processes int) (uint64, bool) {
	if processes < 0 || os.Getuid() == 0 {
		return 0, false
	}
	return uint64(userTasks(os.Getuid()) + processes*threadsEach), true
}

// userTasks counts the threads of all processes of a user.
func userTasks(uid int) int {
	statuses, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return 0
	}
	tasks := 0
	for _, path := range statuses {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if owner, threads := readStatus(string(data)); owner == uid {
			tasks += threads
		}
	}
	return tasks
}

// readStatus reads the real user and the number of threads of /proc/PID/status.
func readStatus(text string) (uid, threads int) {
	uid = -1
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if len(fields) == 0 || name != "Uid" && name != "Threads" {
			continue
		}
		number, err := strconv.Atoi(fields[0])
		switch {
		case err != nil:
		case name == "Uid":
			uid = number
		default:
			threads = number
		}
	}
	return uid, threads
}

// descendants returns what a process has started, and what that has started.
func descendants(pid int) []int {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, name := range names {
		child, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		if stat, err := readStat(child); err == nil && stat.state != "Z" {
			children[stat.parent] = append(children[stat.parent], child)
		}
	}
	var found []int
	for next := children[pid]; len(next) > 0; next = next[1:] {
		found = append(found, next[0])
		next = append(next, children[next[0]]...)
	}
	return found
}
