package peer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Adopts reports whether what descends from this process and loses its parents becomes
// its child: Adopt has seen to it, the program that this one is a part of, or this is the
// first process of its namespace.
func Adopts() bool {
	var is int32
	_, _, failed := unix.RawSyscall6(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&is)), 0, 0, 0, 0)
	return failed == 0 && is != 0 || os.Getpid() == 1
}

// Descendants lists what descends from a process and has not lost its parents on the way:
// it reads those alone, however many others run. A process that is started or adopted
// meanwhile may be missing: who must have all of them asks again. listed is false where the
// kernel does not list children (CONFIG_PROC_CHILDREN).
func Descendants(pid int) (pids []int, listed bool) {
	pids, listed = childrenOf(pid)
	seen := map[int]bool{pid: true}
	for at := 0; at < len(pids); at++ {
		if seen[pids[at]] {
			continue // it was adopted by another while it was listed
		}
		seen[pids[at]] = true
		more, _ := childrenOf(pids[at]) // one that has ended has none
		pids = append(pids, more...)
	}
	return pids, listed
}

// childrenOf lists the children of all threads of a process.
func childrenOf(pid int) (pids []int, listed bool) {
	threads := fmt.Sprintf("/proc/%d/task", pid)
	entries, _ := os.ReadDir(threads)
	for _, thread := range entries {
		data, err := os.ReadFile(threads + "/" + thread.Name() + "/children")
		if err != nil {
			continue // the thread has ended
		}
		listed = true
		for _, field := range bytes.Fields(data) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids, listed
}
