package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// engineGroup is the name of the group that the engine itself moves into: a group that
// hands controllers down holds no processes.
const engineGroup = "engine"

// groupPrefix begins the names of the groups of plugins.
const groupPrefix = "plugin."

// System is what Open asks of its surroundings.
type System struct {
	Marked func(dir string) bool   // the group was handed to who runs in it
	Ours   func(pid int) bool      // the process is this one, or descends from it
	Alive  func(owner string) bool // the engine of that name lives
	Owner  string                  // the name of this engine: PID.START
}

// Tree is the group that was handed to this engine. Safe for concurrent use.
type Tree struct {
	dir   string
	owner string
}

// Open takes the group that this engine runs in, when it was handed to it and nobody
// else is in it: it moves the engine into a group below, hands the controllers down and
// removes what dead engines have left. The error says why plugins get no groups. A second
// Open of the same process is as good as the first.
func Open(own string, s System) (*Tree, error) {
	dir := own
	switch parent := filepath.Dir(own); {
	case own == "":
		return nil, errors.New("there is no cgroup v2 that shows the group of flowrun")
	case filepath.Base(own) == engineGroup && s.Marked(parent):
		dir = parent // it has moved already
	case !s.Marked(own):
		return nil, fmt.Errorf("%s was not handed to flowrun (systemd: Delegate=memory pids)", own)
	}
	if missing := lacking(dir); len(missing) > 0 {
		return nil, fmt.Errorf("%s has no controller of %s (systemd: Delegate=memory pids)", dir, strings.Join(missing, " and "))
	}
	if err := moveEngine(dir, s.Ours); err != nil {
		return nil, err
	}
	if err := write(filepath.Join(dir, "cgroup.subtree_control"), "+memory +pids"); err != nil {
		return nil, fmt.Errorf("hand controllers down: %w", err)
	}
	t := &Tree{dir: dir, owner: s.Owner}
	t.sweep(s.Alive)
	return t, nil
}

// lacking are the controllers that are needed and not there.
func lacking(dir string) (missing []string) {
	data, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	for _, name := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(data)), name) {
			missing = append(missing, name)
		}
	}
	return missing
}

// moveEngine moves the processes of a group into one below it, when all of them are ours.
func moveEngine(dir string, ours func(pid int) bool) error {
	inside, err := processes(dir)
	if err != nil {
		return err
	}
	for _, pid := range inside {
		if !ours(pid) {
			return fmt.Errorf("%s is not flowrun's alone: process %d is in it", dir, pid)
		}
	}
	leaf := filepath.Join(dir, engineGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a group below its own: %w", readOnly(err))
	}
	for _, pid := range inside {
		if err := write(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid)); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("move process %d: %w", pid, err)
		}
	}
	return nil
}

// readOnly says what makes groups read-only where systemd runs flowrun.
func readOnly(err error) error {
	if errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w (systemd: ProtectControlGroups=no)", err)
	}
	return err
}

// sweep ends and removes the groups of engines that are gone.
func (t *Tree) sweep(alive func(owner string) bool) {
	entries, _ := os.ReadDir(t.dir)
	for _, entry := range entries {
		owner, ok := ownerOf(entry.Name())
		if !ok || owner == t.owner || alive(owner) {
			continue
		}
		At(filepath.Join(t.dir, entry.Name())).Remove()
	}
}

// ownerOf reads plugin.PID.START.ID.NAME.
func ownerOf(name string) (owner string, ok bool) {
	rest, ok := strings.CutPrefix(name, groupPrefix)
	parts := strings.SplitN(rest, ".", 4)
	if !ok || len(parts) != 4 {
		return "", false
	}
	return parts[0] + "." + parts[1], true
}

// Dir is the folder of the group that was handed to the engine.
func (t *Tree) Dir() string { return t.dir }

// Limits bound a group.
type Limits struct {
	Memory int64 // bytes; negative = no limit
	Tasks  int   // processes and their threads; negative = no limit
}

// Make makes the group of a process that is started next. id keeps it apart from other
// processes of the plugin.
func (t *Tree) Make(plugin, id string, l Limits) (*Group, error) {
	dir := filepath.Join(t.dir, groupPrefix+t.owner+"."+id+"."+plugin)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	g := &Group{dir: dir, limits: l}
	if err := g.open(); err != nil {
		g.Remove()
		return nil, err
	}
	return g, nil
}

// write writes a file that is there.
func write(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// processes lists the processes of a group.
func processes(dir string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("list the processes of a group: %w", err)
	}
	var found []int
	for field := range strings.FieldsSeq(string(data)) {
		if pid, err := strconv.Atoi(field); err == nil {
			found = append(found, pid)
		}
	}
	return found, nil
}

// removeTime is how long a group may take to become empty after its processes were
// killed; one that hangs in the kernel is left to the next engine.
const (
	removeTime = 2 * time.Second
	removeTick = 2 * time.Millisecond
)
