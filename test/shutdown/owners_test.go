//go:build linux

package shutdown

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
)

const briefCall = `flowrun: v1
name: brief
steps:
  - {uses: worker.read, with: {ledger: %q, key: x, ms: 60}}
`

// TestP16TwoProcessesAtOneStore start at the same moment: one holds the lock, the
// other acts through it, and both runs succeed. FLOWRUN_OWNER_STARTS=1000 is the
// full size.
func TestP16TwoProcessesAtOneStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.write("brief.yaml", fmt.Sprintf(briefCall, p.ledger))
	starts := suitesize.Of(t, "FLOWRUN_OWNER_STARTS", 8)
	for n := range starts {
		for _, problem := range p.race("", "") {
			t.Errorf("start %d: %s", n, problem)
		}
	}
	if got, want := p.count()["end x"], 2*starts; got != want {
		t.Errorf("%d calls ended, want %d", got, want)
	}
}

// TestP16ControlTwoStoresHaveTwoOwners: the suite counts owners as it should.
func TestP16ControlTwoStoresHaveTwoOwners(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.write("brief.yaml", fmt.Sprintf(briefCall, p.ledger))
	if problems := p.race("one", "two"); len(problems) == 0 {
		t.Error("two owners were not noticed")
	} else {
		t.Logf("noticed: %s", problems[0])
	}
}

// race starts two processes at the same moment and counts the holders of the
// store's lock while they work.
func (p *place) race(states ...string) (problems []string) {
	var processes []*process
	for _, state := range states {
		args := []string{"run", "brief.yaml", "-o", "json"}
		if state != "" {
			args = append(args, "--state", state)
		}
		processes = append(processes, p.start(args...))
	}
	holders, most := map[int]bool{}, 0
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			now := p.holders()
			for range 2 { // the kernel's list is not read at one moment: two must be there three times
				if len(now) > 1 {
					again := p.holders()
					now = slices.DeleteFunc(now, func(pid int) bool { return !slices.Contains(again, pid) })
				}
			}
			most = max(most, len(now))
			for _, pid := range now {
				holders[pid] = true
			}
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	for i, c := range processes {
		code, err := c.end(30 * time.Second)
		var result struct{ Run struct{ Status string } }
		if err != nil || code != 0 || json.Unmarshal(c.stdout.Bytes(), &result) != nil || result.Run.Status != "succeeded" {
			problems = append(problems, fmt.Sprintf("process %d: exit %d, %v\n%s", i, code, err, c.said()))
		}
	}
	close(stop)
	<-stopped
	if most != 1 || len(holders) == 0 {
		problems = append(problems, fmt.Sprintf("%d processes held the lock at a time, want 1 (%v)", most, holders))
	}
	return problems
}

// holders are the processes that hold the lock of a store of the place.
func (p *place) holders() (pids []int) {
	inodes := map[string]bool{}
	for _, pattern := range []string{".flowrun/state/flowrun.db", "*/flowrun.db"} {
		files, _ := filepath.Glob(filepath.Join(p.dir, pattern)) // the patterns are good ones
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				if stat, ok := info.Sys().(*syscall.Stat_t); ok {
					inodes[strconv.FormatUint(stat.Ino, 10)] = true
				}
			}
		}
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line) // 1: FLOCK ADVISORY WRITE 123 08:01:456 0 EOF
		if len(fields) < 6 || fields[1] != "FLOCK" {
			continue
		}
		if inode := fields[5][strings.LastIndexByte(fields[5], ':')+1:]; inodes[inode] {
			if pid, err := strconv.Atoi(fields[4]); err == nil && !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
