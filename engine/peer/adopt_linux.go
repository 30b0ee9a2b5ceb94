package peer

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gather is how long ended children are gathered before they are looked at.
const gather = 20 * time.Millisecond

// Adopt makes this process the parent of all that descend from it and have lost
// theirs: such a process can be told from others by that, whatever it does. What ends
// is waited for until stop is called; children that this process has started itself
// are left to whoever waits for them.
func Adopt() (stop func(), err error) {
	// Go holds a descriptor of each child that it waits for: without them (before
	// Linux 5.4) ours could not be told from others.
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	_ = unix.Close(self)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ended:
			case <-stopped:
				return
			}
			select {
			case <-time.After(gather):
			case <-stopped:
				return
			}
			reap(os.Getpid())
		}
	}()
	return func() {
		signal.Stop(ended)
		close(stopped)
		<-done
	}, nil
}

// reap waits for the adopted children that have ended.
func reap(self int) {
	var orphans []int
	for _, pid := range children(self) {
		if stat, err := ReadStat(pid); err == nil && stat.State == "Z" && stat.Parent == self {
			orphans = append(orphans, pid)
		}
	}
	if len(orphans) == 0 {
		return
	}
	set := heldChildren()
	for _, pid := range orphans {
		if set[pid] {
			continue
		}
		for {
			if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.EINTR) {
				break
			}
		}
	}
}

// children are those of all threads; where the kernel does not list them, all
// processes.
func children(self int) (pids []int) {
	if pids, listed := childrenOf(self); listed {
		return pids
	}
	names, _ := os.ReadDir("/proc")
	for _, name := range names {
		if pid, err := strconv.Atoi(name.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// heldChildren are the processes of which this one holds a descriptor: somebody here
// has started them and waits, or will.
func heldChildren() map[int]bool {
	set := map[int]bool{}
	infos, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, info := range infos {
		data, err := os.ReadFile(info)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			if text, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
				if pid, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil {
					set[pid] = true
				}
			}
		}
	}
	return set
}
