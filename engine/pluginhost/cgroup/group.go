package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Group is the group of one plugin process and of all that it starts. A nil *Group
// stands for none: it holds nothing.
type Group struct {
	dir    string
	limits Limits
	folder *os.File // what the process is started into
	swaps  bool     // what it swaps out is not bounded
}

// open sets the limits. Memory that is used up ends the group as a whole: half a plugin
// is of no use.
func (g *Group) open() error {
	for _, setting := range []struct {
		file, value string
		wanted      bool // the limit is nothing without it
	}{
		{"memory.max", bound(g.limits.Memory), true}, {"pids.max", bound(int64(g.limits.Tasks)), true},
		{"memory.oom.group", "1", false}, {"memory.swap.max", "0", false},
	} {
		switch err := write(filepath.Join(g.dir, setting.file), setting.value); {
		case err == nil:
		case setting.wanted || !errors.Is(err, fs.ErrNotExist): // a kernel without swap, or an old one
			return fmt.Errorf("bound a control group: %w", err)
		case setting.file == "memory.swap.max":
			g.swaps = true
		}
	}
	folder, err := os.Open(g.dir)
	if err != nil {
		return fmt.Errorf("open a control group: %w", err)
	}
	g.folder = folder
	return nil
}

func bound(limit int64) string {
	if limit < 0 {
		return "max"
	}
	return strconv.FormatInt(limit, 10)
}

// Folder is the open folder of the group, which a process is started into. nil = there
// is no group.
func (g *Group) Folder() *os.File {
	if g == nil {
		return nil
	}
	return g.folder
}

// BoundsMemory reports whether the group holds all the memory that its processes use.
func (g *Group) BoundsMemory() bool { return g != nil && !g.swaps }

// Processes lists what is in the group.
func (g *Group) Processes() []int {
	found, _ := processes(g.dir)
	return found
}

// Events is what the kernel has counted of a group.
type Events struct {
	OutOfMemory bool // processes were killed: the group's own memory was used up
	Starved     bool // processes were killed: a group above, or the machine, had no memory left
	Refused     bool // a process or a thread was not made: there were too many
}

// Events reads them; Remove takes them away.
func (g *Group) Events() Events {
	if g == nil {
		return Events{}
	}
	memory, tasks := g.counts("memory.events"), g.counts("pids.events")
	killed := memory["oom_kill"] > 0
	return Events{OutOfMemory: killed && memory["oom"] > 0, Starved: killed && memory["oom"] == 0, Refused: tasks["max"] > 0}
}

// counts reads a file of names and numbers.
func (g *Group) counts(file string) map[string]int64 {
	counts := map[string]int64{}
	data, _ := os.ReadFile(filepath.Join(g.dir, file))
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseInt(value, 10, 64); err == nil {
			counts[name] = number
		}
	}
	return counts
}

// Kill ends all that is in the group, however it got there.
func (g *Group) Kill() {
	if g == nil || write(filepath.Join(g.dir, "cgroup.kill"), "1") == nil {
		return
	}
	for _, pid := range g.Processes() { // Linux before 5.14
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Remove ends all that is in the group and removes it. It can be called again.
func (g *Group) Remove() {
	if g == nil {
		return
	}
	if g.folder != nil {
		_ = g.folder.Close()
	}
	for waited := time.Duration(0); waited < removeTime; waited += removeTick {
		if err := g.remove(); err == nil || errors.Is(err, fs.ErrNotExist) {
			return
		}
		g.Kill()
		time.Sleep(removeTick)
	}
}

// remove removes the group with those below it, which only what runs outside of the
// sandbox can have made.
func (g *Group) remove() error {
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := At(filepath.Join(g.dir, entry.Name())).remove(); err != nil {
				return err
			}
		}
	}
	return syscall.Rmdir(g.dir)
}

// At is the group in a folder that is there, with the limits that it has.
func At(dir string) *Group { return &Group{dir: dir} }
