package pluginhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine/peer"
	"github.com/flowrun/flowrun/engine/pluginhost/cgroup"
	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

// What a plugin takes of the machine. Where this process was handed a control group, each
// plugin starts in one of its own, and the kernel holds its memory and its tasks. Where it
// was not, they are watched (crowd.go). It is decided once.

// threadsEach is how many threads a process is given in the limits of tasks.
const threadsEach = 16

// OwnControlGroup returns the folder of a process's control group (cgroup v2), from the
// texts of /proc/PID/cgroup and /proc/PID/mountinfo; "" = there is none.
func OwnControlGroup(groups, mounts string) string { return cgroup.Own(groups, mounts) }

// openGroups decides whether plugins get control groups.
func (h *Host) openGroups() confine.Part {
	tree, err := cgroup.Open(h.options.ControlGroup, cgroup.System{
		Marked: cgroup.Marked, Owner: ownerName(os.Getpid()),
		Ours: func(pid int) bool {
			child, err := peer.ChildOf(pid, os.Getpid())
			return pid == os.Getpid() || err == nil && child != 0
		},
		Alive: func(owner string) bool {
			pid, _, _ := strings.Cut(owner, ".")
			number, err := strconv.Atoi(pid)
			return err == nil && ownerName(number) == owner
		},
	})
	if err == nil {
		err = h.tryGroup(tree)
	}
	if err != nil {
		return confine.Part{Name: PartResources, Why: err.Error() + "; memory and processes are watched instead"}
	}
	h.groups = tree
	h.options.Log.Info("each plugin runs in a control group of its own", "below", tree.Dir())
	return confine.Part{Name: PartResources, Held: true}
}

// ownerName is PID.START of a process; "" = it is gone.
func ownerName(pid int) string {
	start, ok := processStart(pid)
	if !ok {
		return ""
	}
	return strconv.Itoa(pid) + "." + start[strings.LastIndexByte(start, '/')+1:]
}

// tryGroup starts what is not there in a group, as plugins are started: what is refused
// then is the program, not the group.
func (h *Host) tryGroup(tree *cgroup.Tree) error {
	const pass = 1
	group, err := tree.Make("trial", "0", cgroup.Limits{Memory: -1, Tasks: -1})
	if err != nil {
		return err
	}
	defer group.Remove()
	none := filepath.Join(h.options.StateDir, "plugins", "none")
	rules := &confine.Rules{Pass: pass, IntoGroup: true, Paths: []confine.Path{{Name: os.DevNull, Rights: confine.Read | confine.Write}}}
	_, err = h.spawn.start(&exec.Cmd{Path: none, Args: []string{none}, SysProcAttr: processAttributes(pass, group.Folder())}, rules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, syscall.ENOSYS) {
		return fmt.Errorf("start a process in a control group: clone3: %w (systemd: RestrictNamespaces=no)", err)
	}
	return fmt.Errorf("start a process in a control group: %w", err)
}

// makeGroup makes the group of a process; nil = plugins get none.
func (h *Host) makeGroup(u *unit, id string) (*cgroup.Group, error) {
	if h.groups == nil {
		return nil, nil
	}
	limits := cgroup.Limits{Memory: u.limits().Memory, Tasks: h.options.Limits.Processes}
	if limits.Tasks > 0 {
		limits.Tasks *= threadsEach
	}
	return h.groups.Make(u.source.Name, id, limits)
}

// limits are those of the host with what the plugin was granted.
func (u *unit) limits() Limits {
	limits := u.host.options.Limits
	if u.source.Memory > 0 {
		limits.Memory = u.source.Memory
	}
	return limits
}

// crowd lists what a plugin has started: all of its group, however it left its tree.
func (r *processRunner) crowd(pid int, now time.Time) []int {
	if r.group == nil {
		return family(pid, r.unit.host.table.read(now))
	}
	return slices.DeleteFunc(r.group.Processes(), func(other int) bool { return other == pid })
}

// blame finds out what the kernel has ended a plugin for.
func (r *processRunner) blame() {
	events := r.group.Events()
	switch {
	case events.OutOfMemory:
		r.end(tooMuchMemory(r.limits.Memory, r.limits.Memory), nil)
	case events.Refused:
		r.end(r.tooManyTasks(), nil)
	case events.Starved:
		r.mu.Lock()
		r.starved = true
		r.mu.Unlock()
	}
}

func (r *processRunner) tooManyTasks() string {
	tasks := r.limits.Processes * threadsEach
	return fmt.Sprintf("it was %d processes and threads, %d are allowed", tasks, tasks)
}
