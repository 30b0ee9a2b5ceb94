package probe

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the processor time of all threads of a process so far, of ended ones too,
// to the nanosecond; 0 where there is no such process.
func CPU(pid int) time.Duration {
	const schedulerClock = 2 // CPUCLOCK_SCHED of linux/posix-timers_types.h
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &at); err != nil {
		return 0
	}
	return time.Duration(at.Nano())
}

// RssAnon returns the memory of a process that is no file's, in bytes: the map of a store
// file is not in it.
func RssAnon(pid int) int64 {
	return status(pid, "RssAnon:")
}

// HeldAtMost returns the most memory that a process had at once, with its program and
// mapped files, in bytes.
func HeldAtMost(pid int) int64 {
	return status(pid, "VmHWM:")
}

// status reads a line of /proc/PID/status that is in kB.
func status(pid int, name string) int64 {
	return field(fmt.Sprintf("/proc/%d/status", pid), name) * 1024
}

// WrittenBytes returns how many bytes of files a process has made dirty, which the disk
// must take: each page that is written again after it went to the disk counts again.
func WrittenBytes(pid int) int64 {
	return field(fmt.Sprintf("/proc/%d/io", pid), "write_bytes:")
}

// field reads a number behind a name in a file of lines.
func field(path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// Load returns the machine's load of the last minute, and how many of its threads run or
// want to at this moment, this one left out.
func Load() (minute float64, running int) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, 0
	}
	words := strings.Fields(string(text))
	if len(words) < 4 {
		return 0, 0
	}
	minute, _ = strconv.ParseFloat(words[0], 64)
	now, _, _ := strings.Cut(words[3], "/")
	running, _ = strconv.Atoi(now)
	return minute, max(running-1, 0)
}

// Machine names kernel and processor.
func Machine() string {
	var name unix.Utsname
	kernel := "Linux"
	if unix.Uname(&name) == nil {
		kernel += " " + unix.ByteSliceToString(name.Release[:])
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return kernel
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "model name"); found {
			_, model, _ := strings.Cut(rest, ":")
			return kernel + ", " + strings.TrimSpace(model)
		}
	}
	return kernel
}
