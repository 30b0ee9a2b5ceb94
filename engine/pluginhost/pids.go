package pluginhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// pidEntry is a live plugin process and the host that owns it. Start times
// keep a process apart from a later one with its pid (docs/reliability.md, P7).
type pidEntry struct {
	Plugin string    `json:"plugin"`
	PID    int       `json:"pid"`
	Start  string    `json:"start"`
	Mark   string    `json:"mark"` // is in the environment of what it started
	Since  time.Time `json:"since"`
	Host   int       `json:"host"`
	HostAt string    `json:"host_start"`
	TMP    string    `json:"tmp"` // private folders, removed with the process
	Socket string    `json:"socket"`
}

// pidRecord is StateDir/plugins/pids.json.
type pidRecord struct{ path string }

func (r pidRecord) add(p *process, pid int, now time.Time) error {
	start, ok := processStart(pid)
	if !ok {
		return nil // it has ended already
	}
	host := os.Getpid()
	hostAt, _ := processStart(host)
	return updateJSON(r.path, func(entries *[]pidEntry) {
		*entries = append(*entries, pidEntry{
			Plugin: p.unit.source.Name, PID: pid, Start: start, Mark: p.mark, Since: now.UTC(),
			Host: host, HostAt: hostAt, TMP: p.folders.tmp, Socket: p.folders.socket,
		})
	})
}

func (r pidRecord) remove(pid int, mark string) error {
	return updateJSON(r.path, func(entries *[]pidEntry) {
		*entries = slices.DeleteFunc(*entries, func(e pidEntry) bool { return e.PID == pid && e.Mark == mark })
	})
}

// orphans takes the entries whose host is gone out of the record. Where there is none, as
// nearly always, nothing is written.
func (r pidRecord) orphans() ([]pidEntry, error) {
	var recorded []pidEntry
	if err := readJSON(r.path, &recorded); err != nil || !slices.ContainsFunc(recorded, pidEntry.isLost) {
		return nil, err
	}
	var lost []pidEntry
	err := updateJSON(r.path, func(entries *[]pidEntry) {
		*entries = slices.DeleteFunc(*entries, func(e pidEntry) bool {
			if !e.isLost() {
				return false
			}
			lost = append(lost, e)
			return true
		})
	})
	return lost, err
}

// isLost reports whether the host of a plugin is gone.
func (e pidEntry) isLost() bool {
	start, ok := processStart(e.Host)
	return !ok || start != e.HostAt
}

// ReapOrphans kills the plugin processes that a killed host left behind, with
// their children, waits until they are gone, at most two seconds, removes their
// folders, and returns how many processes there were.
// Call it before runs are resumed. Hosts that are alive keep their plugins.
func (h *Host) ReapOrphans(ctx context.Context) (int, error) {
	if err := h.ready(); err != nil {
		return 0, err
	}
	lost, err := h.pids.orphans()
	if err != nil {
		return 0, fmt.Errorf("reap orphaned plugins: %w", err)
	}
	victims := map[int]string{}
	for _, entry := range lost {
		if start, ok := processStart(entry.PID); ok && start == entry.Start {
			victims[entry.PID] = start
			_ = syscall.Kill(-entry.PID, syscall.SIGKILL)
		}
	}
	for _, pid := range markedProcesses(lost) {
		if start, ok := processStart(pid); ok {
			victims[pid] = start
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, orphanGrace)
	defer cancel()
	err = awaitGone(bounded, victims)
	for _, entry := range lost {
		h.removeLeftFolders(entry)
	}
	return len(victims), err
}

// markedProcesses finds what lost plugins have started and what outlived them: what is
// of their group still, or carries their mark. The machine is read for it, where a host
// was killed and only then: what it left belongs to nobody.
func markedProcesses(lost []pidEntry) []int {
	var found []int
	var marks, starts []string
	for _, entry := range lost {
		if entry.Mark != "" {
			marks, starts = append(marks, entry.Mark), append(starts, entry.Start)
		}
		if _, ok := processStart(entry.PID); !ok { // else that pid may be another's by now
			found = append(found, confinedIn(entry.PID)...)
		}
	}
	if len(marks) == 0 {
		return found
	}
	return append(found, markedBy(notOlder(starts), marks...)...)
}

// orphanGrace is how long killed orphans are waited for (docs/reliability.md, P7): one
// that is still there then hangs in the kernel and can do nothing new.
const orphanGrace = 2 * time.Second

func awaitGone(ctx context.Context, victims map[int]string) error {
	for pid, start := range victims {
		for {
			if now, ok := processStart(pid); !ok || now != start {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for orphaned plugin process %d to end: %w", pid, ctx.Err())
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return nil
}

func pidRecordIn(dir string) pidRecord { return pidRecord{path: filepath.Join(dir, "pids.json")} }
