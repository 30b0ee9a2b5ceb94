package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost/cgroup"
	"github.com/flowrun/flowrun/engine/pluginhost/confine"
	"github.com/flowrun/flowrun/engine/runs"
)

// ownGroup is the group that these tests run in.
func ownGroup(t *testing.T) string {
	t.Helper()
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return cgroup.Own(string(groups), string(mounts))
}

// groupWorld is a host whose plugins get control groups, or a skip.
func groupWorld(t *testing.T, limits Limits) *world {
	t.Helper()
	limits.Grace = 300 * time.Millisecond
	w := newWorld(t, "good", func(o *Options) { o.ControlGroup, o.Limits = ownGroup(t), limits })
	if part := resources(w.host); !part.Held {
		if os.Getenv("FLOWRUN_CGROUP") == "required" {
			t.Fatalf("no control group: %s", part.Why)
		}
		t.Skipf("SKIPPED: plugins get no control group here (make cgroup runs it in a virtual machine): %s", part.Why)
	}
	return w
}

func resources(h *Host) confine.Part {
	parts := h.Confinement()
	return parts[slices.IndexFunc(parts, func(part confine.Part) bool { return part.Name == PartResources })]
}

// long makes a call that may take its time.
func (w *world) long(action string, size int) *runs.Error {
	w.t.Helper()
	answer := w.host.Call(context.Background(), runs.Request{
		Action: "evil." + action, RunID: "run-1", Step: "a", Operation: "a", Attempt: 1, Timeout: 2 * time.Minute,
		Input: json.RawMessage(fmt.Sprintf(`{"size":%d}`, size)),
	}, Connection{Name: "main"}, nil)
	return answer.Failed
}

// groupOf is the folder of the plugin's group, "" = it has none.
func (w *world) groupOf() string {
	u := w.host.plugins["evil"].inForce
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.process == nil || u.process.group == nil {
		return ""
	}
	return u.process.group.Folder().Name()
}

// groupsLeft lists the groups of plugins that are there.
func groupsLeft(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(ownGroup(t)), "plugin.*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantLimit(t *testing.T, failure *runs.Error, says string) {
	t.Helper()
	if failure == nil || failure.Reason != ReasonLimit || !strings.Contains(failure.Message, says) {
		t.Errorf("failed: %+v; want reason limit and %q", failure, says)
	}
}

const mebibyte = 1 << 20

// TestIssue13_04_TheGroupBoundsMemory: a plugin that takes 2 GiB ends with the limit's
// name, and nothing watches. Control: with neither group nor watch it gets them.
func TestIssue13_04_TheGroupBoundsMemory(t *testing.T) {
	w := groupWorld(t, Limits{Memory: 256 * mebibyte})
	if failure := w.long("use", 64); failure != nil {
		t.Fatalf("64 MiB: %v", failure)
	}
	u := w.host.plugins["evil"].inForce
	u.mu.Lock()
	runner := u.process.runner
	u.mu.Unlock()
	if !runner.group.BoundsMemory() {
		t.Error("the group does not bound what is swapped out")
	}
	wantLimit(t, w.long("use", 2048), "killed by flowrun: it used 256 MiB of memory, 256 MiB are allowed")
	if most := runner.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10; most > 256+64 { // its code is the host's memory
		t.Errorf("it had %d MiB", most)
	}
	if failure := w.long("echo", 1); failure != nil {
		t.Errorf("the next call: %v", failure)
	}
	control := newWorld(t, "good", nil)
	if failure := control.long("use", 2048); failure != nil {
		t.Errorf("control: without a group: %v", failure)
	}
}

// TestIssue13_04_TheGroupBoundsTasks: threads, which the count of processes does not see.
func TestIssue13_04_TheGroupBoundsTasks(t *testing.T) {
	w := groupWorld(t, Limits{Memory: -1, Processes: 8})
	wantLimit(t, w.long("threads", 400), "killed by flowrun: it was 128 processes and threads, 128 are allowed")
	control := newWorld(t, "good", func(o *Options) { o.Limits.Processes = -1 })
	if failure := control.long("threads", 400); failure != nil {
		t.Errorf("control: without a group: %v", failure)
	}
}

// TestIssue13_04_TheGroupEndsForks: 10,000 forks end in their own step, and nothing of
// them is left. Control: without a group and a count they go on.
func TestIssue13_04_TheGroupEndsForks(t *testing.T) {
	w := groupWorld(t, Limits{})
	wantLimit(t, w.long("forks", 10_000), "are allowed")
	if left := sleepers(); left > 0 {
		t.Errorf("%d processes are left", left)
	}
	if failure := w.long("echo", 1); failure != nil {
		t.Errorf("the next call: %v", failure)
	}
	control := newWorld(t, "good", func(o *Options) { o.Limits.Processes = -1 })
	if failure := control.long("forks", 200); failure != nil {
		t.Errorf("control: without a group: %v", failure)
	}
	if made := sleepers(); made < 200 {
		t.Errorf("control: %d processes were made", made)
	}
}

// sleepers counts the processes that forks have made.
func sleepers() (found int) {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, entry := range entries {
		if data, err := os.ReadFile(entry); err == nil && strings.HasPrefix(string(data), "/bin/sleep\x00"+"60") {
			found++
		}
	}
	return found
}

// TestIssue13_04_ThePluginCanNotChangeItsGroup. Control: this process, of the same user,
// can.
func TestIssue13_04_ThePluginCanNotChangeItsGroup(t *testing.T) {
	w := groupWorld(t, Limits{Memory: 256 * mebibyte})
	w.ok("echo", `{}`)
	dir := w.groupOf()
	if dir == "" || len(groupsLeft(t)) != 1 {
		t.Fatalf("its group is %q, there are %v", dir, groupsLeft(t))
	}
	inside, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	pid := fmt.Sprint(w.host.Status("evil").PID)
	if err != nil || strings.TrimSpace(string(inside)) != pid {
		t.Errorf("in the group: %q, %v; want %s", inside, err, pid)
	}
	parts := w.host.Confinement()
	if !parts[slices.IndexFunc(parts, func(part confine.Part) bool { return part.Name == confine.PartFiles })].Held {
		t.Log("SKIPPED: without Landlock it can")
	} else if got := w.ok("group", `{"text":"`+dir+`"}`)["text"]; got != "" {
		t.Errorf("it could change: %s", got)
	}
	for file, want := range map[string]string{"memory.max": "268435456", "pids.max": "1024", "memory.oom.group": "1", "memory.swap.max": "0"} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err == nil && strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if err := w.host.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if left := groupsLeft(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	control := filepath.Join(filepath.Dir(ownGroup(t)), "control")
	if err := os.Mkdir(control, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := reach(control); !strings.Contains(got, "memory.max pids.max") || !strings.Contains(got, "a new group") {
		t.Errorf("control: this process could change: %s", got)
	}
	restore(t, control)
}

// restore puts this process back where reach took it from, and the group away.
func restore(t *testing.T, control string) {
	t.Helper()
	parent := filepath.Dir(control)
	if err := os.WriteFile(filepath.Join(parent, "engine", "cgroup.procs"), fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory +pids"), 0o600); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{filepath.Join(control, "below"), control} {
		if err := syscall.Rmdir(dir); err != nil {
			t.Error(err)
		}
	}
}

// TestIssue13_04_AGroupOfADeadEngineIsEnded with what lives in it, at the next start.
func TestIssue13_04_AGroupOfADeadEngineIsEnded(t *testing.T) {
	groupWorld(t, Limits{}) // this process is in its leaf
	stale := filepath.Join(filepath.Dir(ownGroup(t)), "plugin.999999.1.x.evil")
	if err := os.Mkdir(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	folder, err := os.Open(stale)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	left := exec.Command("/bin/sleep", "61")
	left.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd()), Setsid: true}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	groupWorld(t, Limits{})
	if err := left.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("what lived in it ended with %v", err)
	}
	if got := groupsLeft(t); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

// TestIssue13_04_WithoutDelegationNothingIsTouched: no group is made, this process stays
// where it is, plugins start, and the part says why it is not held.
func TestIssue13_04_WithoutDelegationNothingIsTouched(t *testing.T) {
	own := ownGroup(t)
	w := newWorld(t, "good", func(o *Options) {
		o.ControlGroup, o.Sandbox = filepath.Join(t.TempDir(), "session-1.scope"), SandboxRequire
	})
	part := resources(w.host)
	if part.Held || !strings.Contains(part.Why, "was not handed to flowrun") || !strings.HasSuffix(part.Why, "memory and processes are watched instead") {
		t.Errorf("%+v", part)
	}
	if failure := w.host.CheckSandbox(); failure != nil {
		t.Skipf("SKIPPED: this system holds not what is required: %v", failure)
	}
	w.ok("echo", `{}`)
	if now := ownGroup(t); now != own || w.groupOf() != "" {
		t.Errorf("this process was in %s and is in %s; the plugin's group is %q", own, now, w.groupOf())
	}
	off := newWorld(t, "good", func(o *Options) { o.ControlGroup, o.Sandbox = own, SandboxOff })
	if part := resources(off.host); part.Held || part.Why != "`limits.sandbox` is off" {
		t.Errorf("off: %+v", part)
	}
}

// TestIssue13_04_TheCauseOfAnEndIsTold: what the kernel has counted, in the words of the
// watch; and memory that was missing beside the plugin is not laid at its door.
func TestIssue13_04_TheCauseOfAnEndIsTold(t *testing.T) {
	w := newWorld(t, "good", nil)
	for name, c := range map[string]struct {
		memory, pids, says string
		killed             bool
	}{
		"memory":  {memory: "oom 1\noom_kill 2\n", says: "killed by flowrun: it used 256 MiB of memory, 256 MiB are allowed", killed: true},
		"tasks":   {pids: "max 2\n", says: "killed by flowrun: it was 128 processes and threads, 128 are allowed", killed: true},
		"starved": {memory: "oom 0\noom_kill 2\n", says: "killed by the system: no memory was left"},
		"neither": {memory: "oom 0\noom_kill 0\n", pids: "max 0\n", says: "exit status 0"},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{"memory.events": c.memory, "pids.events": c.pids} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := &processRunner{
			process: &process{group: cgroup.At(dir), output: newOutput(w.host.options, w.host.gate, "evil")},
			limits:  Limits{Memory: 256 * mebibyte, Processes: 8}, reaped: true,
		}
		r.blame()
		if got := r.ending(); !strings.HasPrefix(got, c.says) || r.wasKilled() != c.killed {
			t.Errorf("%s: %q, killed: %v", name, got, r.wasKilled())
		}
	}
}
