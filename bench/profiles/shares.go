package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// shares says how much processor time went where.
type shares map[string]time.Duration

// add adds what a processor profile holds.
func (s shares) add(p *profile.Profile) error {
	column := -1
	for i, t := range p.SampleType {
		if t.Type == "cpu" && t.Unit == "nanoseconds" {
			column = i
		}
	}
	if column < 0 {
		return fmt.Errorf("it has no column of processor time in nanoseconds")
	}
	for _, taken := range p.Sample {
		s[place(frames(taken))] += time.Duration(taken.Value[column])
	}
	return nil
}

func (s shares) sum() (all time.Duration) {
	for _, spent := range s {
		all += spent
	}
	return all
}

// frames are the names of the functions of a stack, the innermost first.
func frames(taken *profile.Sample) []string {
	var names []string
	for _, location := range taken.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// The places that are not a package.
const (
	ofDisk       = "disk: writes and fsyncs"
	ofSockets    = "sockets"
	ofScheduling = "wake-ups: goroutines, locks, channels, the poller"
	ofCollection = "collection of garbage"
	ofAllocation = "allocation"
	ofStacks     = "growth of stacks"
	ofRest       = "Go's runtime and library, the rest"
)

// place says where the time of a stack is counted: with Go's runtime where that is at
// work, with the disk or a socket where the kernel is, and else with the innermost package
// that is somebody's own.
func place(stack []string) string {
	if p := ofKernel(stack); p != "" {
		return p
	}
	if p := ofRuntime(stack); p != "" {
		return p
	}
	for _, name := range stack {
		if p := owner(name); p != "" {
			return p
		}
	}
	return ofRest
}

// ofKernel is the place of a stack that is within a system call; "" for another.
func ofKernel(stack []string) string {
	if len(stack) == 0 || !contains(stack[:min(3, len(stack))], "syscall.") {
		return ""
	}
	switch {
	case contains(stack, "runtime.netpoll", "runtime.futex", "runtime.notesleep", "runtime.epoll"):
		return ofScheduling
	case contains(stack, "net.(*", "net.sysSocket"):
		return ofSockets
	case contains(stack, "Fdatasync", "Fsync", "os.(*File).", "unix.Pwrite", "syscall.Pwrite", "unix.Msync", "unix.Ftruncate"):
		return ofDisk
	}
	return ""
}

// ofRuntime is the place of a stack whose innermost functions are of Go's runtime and one
// of which tells what for; "" for another.
func ofRuntime(stack []string) string {
	for _, name := range stack {
		if !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/") && !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/sync.") && !strings.HasPrefix(name, "sync/atomic.") {
			return ""
		}
		for _, rule := range runtimeRules() {
			if contains([]string{name}, rule.names...) {
				return rule.place
			}
		}
	}
	return ""
}

type rule struct {
	place string
	names []string
}

// runtimeRules are in their order: what collects within an allocation is collection.
func runtimeRules() []rule {
	return []rule{
		{ofCollection, []string{"runtime.gc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.markroot", "runtime.scanobject", "runtime.scanblock", "runtime.greyobject", "runtime.wbBufFlush", "runtime.(*sweepLocked)", "runtime.sweepone", "runtime.(*gcWork)"}},
		{ofStacks, []string{"runtime.newstack", "runtime.copystack", "runtime.morestack"}},
		{ofAllocation, []string{"runtime.mallocgc", "runtime.newobject", "runtime.makeslice", "runtime.growslice", "runtime.makechan", "runtime.makemap", "runtime.malg"}},
		{ofScheduling, []string{"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m", "runtime.goready", "runtime.ready", "runtime.wakep", "runtime.startm", "runtime.futex", "runtime.notesleep", "runtime.notewakeup", "runtime.netpoll",
			"runtime.chansend", "runtime.chanrecv", "runtime.selectgo", "runtime.sem", "runtime.lock", "runtime.unlock", "runtime.goexit0", "runtime.newproc", "runtime.gopark", "runtime.usleep", "runtime.osyield", "runtime.mstart", "runtime.entersyscall", "runtime.exitsyscall",
			"runtime.closechan", "runtime.sysmon", "runtime.resettimer", "runtime.(*timer", "sync.(*Mutex)", "sync.(*RWMutex)", "sync.(*Cond)", "sync.(*WaitGroup)", "internal/sync.(*Mutex)"}},
	}
}

// contains says whether one of the names begins with, or holds, one of the parts.
func contains(names []string, parts ...string) bool {
	for _, name := range names {
		for _, part := range parts {
			if strings.Contains(name, part) {
				return true
			}
		}
	}
	return false
}

// owner is the package that a function is of, as it is shown; "" for one of Go's library
// that is not shown by itself.
func owner(function string) string {
	path := packageOf(function)
	switch {
	case path == "main":
		return "the measuring itself, or the floor"
	case strings.HasPrefix(path, "github.com/flowrun/flowrun/"):
		return strings.TrimPrefix(path, "github.com/flowrun/flowrun/")
	case strings.HasPrefix(path, "go.etcd.io/bbolt"):
		return "bbolt"
	case strings.HasPrefix(path, "google.golang.org/grpc"), strings.HasPrefix(path, "golang.org/x/net/http2"), path == "net/http":
		return "gRPC and HTTP/2"
	case strings.HasPrefix(path, "google.golang.org/protobuf"):
		return "protobuf"
	case strings.HasPrefix(path, "encoding/json"):
		return "JSON"
	case strings.Contains(path, "."):
		return path
	}
	return ""
}

// packageOf is the path of the package of a function: a/b.c/d.(*T).m is of a/b.c/d.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/")
	dot := strings.Index(function[slash+1:], ".")
	if bracket := strings.Index(function, "["); bracket >= 0 && bracket < slash { // of a type argument
		return packageOf(function[:bracket])
	}
	if dot < 0 {
		return function
	}
	return function[:slash+1+dot]
}
