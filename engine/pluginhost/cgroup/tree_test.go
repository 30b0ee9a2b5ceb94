package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folder makes a folder that looks like a control group; nothing in it acts.
func folder(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// handed makes a group that was handed to process 7.
func handed(t *testing.T, files map[string]string) (dir string, s System) {
	t.Helper()
	dir = folder(t, filepath.Join(t.TempDir(), "flowrun.service"), map[string]string{
		"cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "7\n", "cgroup.subtree_control": "",
	})
	folder(t, dir, files)
	folder(t, filepath.Join(dir, engineGroup), map[string]string{"cgroup.procs": ""})
	return dir, System{
		Marked: func(group string) bool { return group == dir },
		Ours:   func(pid int) bool { return pid == 7 || pid == 70 },
		Alive:  func(owner string) bool { return owner == "8.88" },
		Owner:  "7.77",
	}
}

// TestIssue13_04_TheGroupIsTakenWhenItWasHandedOver and when nobody else is in it: then the
// engine moves into a leaf, and controllers are handed down.
func TestIssue13_04_TheGroupIsTakenWhenItWasHandedOver(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		change func(dir string, s *System) (own string)
		why    string // "" = it is taken
		moved  string // what was written last to the leaf
	}{
		"alone":             {moved: "7"},
		"with its children": {files: map[string]string{"cgroup.procs": "7\n70\n"}, moved: "70"},
		"moved already": {files: map[string]string{"cgroup.procs": ""}, change: func(dir string, _ *System) string {
			return filepath.Join(dir, engineGroup)
		}},
		"not handed over": {change: func(dir string, s *System) string {
			s.Marked = func(string) bool { return false }
			return dir
		}, why: "was not handed to flowrun"},
		"a leaf of somebody else": {change: func(dir string, s *System) string {
			s.Marked = func(string) bool { return false }
			return filepath.Join(dir, engineGroup)
		}, why: "engine was not handed to flowrun"},
		"a group below one that was handed to another": {change: func(dir string, _ *System) string {
			return folder(t, filepath.Join(dir, "init.scope"), nil)
		}, why: "init.scope was not handed to flowrun"},
		"no cgroup v2":    {change: func(string, *System) string { return "" }, why: "there is no cgroup v2"},
		"a stranger":      {files: map[string]string{"cgroup.procs": "7\n9\n"}, why: "not flowrun's alone: process 9 is in it"},
		"no memory":       {files: map[string]string{"cgroup.controllers": "pids\n"}, why: "has no controller of memory ("},
		"no controllers":  {files: map[string]string{"cgroup.controllers": ""}, why: "has no controller of memory and pids"},
		"a similar one":   {files: map[string]string{"cgroup.controllers": "memory_x pids\n"}, why: "has no controller of memory"},
		"nothing to list": {change: func(dir string, _ *System) string { _ = os.Remove(filepath.Join(dir, "cgroup.procs")); return dir }, why: "list the processes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := handed(t, c.files)
			own := dir
			if c.change != nil {
				own = c.change(dir, &s)
			}
			tree, err := Open(own, s)
			moved, enabled := read(t, filepath.Join(dir, engineGroup, "cgroup.procs")), read(t, filepath.Join(dir, "cgroup.subtree_control"))
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) {
					t.Errorf("error %v, want %q", err, c.why)
				}
				if moved+enabled != "" {
					t.Errorf("moved %q and handed down %q all the same", moved, enabled)
				}
				return
			}
			if err != nil || tree.Dir() != dir {
				t.Fatalf("%v, error %v", tree, err)
			}
			if moved != c.moved || enabled != "+memory +pids" {
				t.Errorf("moved %q, handed down %q", moved, enabled)
			}
		})
	}
}

// TestIssue13_04_GroupsOfDeadEnginesAreRemoved and no others.
func TestIssue13_04_GroupsOfDeadEnginesAreRemoved(t *testing.T) {
	dir, s := handed(t, nil)
	for _, name := range []string{"plugin.6.66.a.tasks", "plugin.7.76.a.tasks", "plugin.7.77.a.tasks", "plugin.8.88.a.tasks", "plugin.odd", "other"} {
		folder(t, filepath.Join(dir, name), nil)
	}
	folder(t, filepath.Join(dir, "plugin.6.66.b.tasks", "below"), nil)
	if _, err := Open(dir, s); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() {
			left = append(left, entry.Name())
		}
	}
	slices.Sort(left)
	if diff := cmp.Diff([]string{"engine", "other", "plugin.7.77.a.tasks", "plugin.8.88.a.tasks", "plugin.odd"}, left); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestIssue13_04_LimitsOfAGroup are written as the kernel reads them, and what this kernel
// does not have is told from what must be there.
func TestIssue13_04_LimitsOfAGroup(t *testing.T) {
	all := []string{"memory.max", "memory.swap.max", "memory.oom.group", "pids.max"}
	for name, c := range map[string]struct {
		limits  Limits
		without string
		want    string
		fails   bool
		bounds  bool
	}{
		"both":         {limits: Limits{Memory: 2 << 30, Tasks: 1024}, want: "2147483648 0 1 1024", bounds: true},
		"none":         {limits: Limits{Memory: -1, Tasks: -16}, want: "max 0 1 max", bounds: true},
		"no swap":      {limits: Limits{Memory: 1, Tasks: 1}, without: "memory.swap.max", want: "1  1 1"},
		"an old one":   {limits: Limits{Memory: 1, Tasks: 1}, without: "memory.oom.group", want: "1 0  1", bounds: true},
		"no memory":    {limits: Limits{Memory: 1, Tasks: 1}, without: "memory.max", fails: true},
		"no processes": {limits: Limits{Memory: 1, Tasks: 1}, without: "pids.max", fails: true},
	} {
		dir := t.TempDir()
		for _, file := range all {
			if file != c.without {
				folder(t, dir, map[string]string{file: ""})
			}
		}
		g := &Group{dir: dir, limits: c.limits}
		if err := g.open(); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if c.fails {
			continue
		}
		_ = g.Folder().Close()
		var got []string
		for _, file := range all {
			got = append(got, read(t, filepath.Join(dir, file)))
		}
		if text := strings.Join(got, " "); text != c.want || g.BoundsMemory() != c.bounds {
			t.Errorf("%s: %q, bounds memory: %v", name, text, g.BoundsMemory())
		}
	}
}

// TestIssue13_04_EventsOfAGroup tell its own limit from that of the service or the machine.
func TestIssue13_04_EventsOfAGroup(t *testing.T) {
	for name, c := range map[string]struct {
		memory, pids string
		want         Events
	}{
		"quiet":      {memory: "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n", pids: "max 0\n"},
		"its own":    {memory: "max 90\noom 1\noom_kill 3\n", pids: "max 0\n", want: Events{OutOfMemory: true}},
		"from above": {memory: "max 0\noom 0\noom_kill 1\n", pids: "max 0\n", want: Events{Starved: true}},
		"reclaimed":  {memory: "max 90\noom 1\noom_kill 0\n"},
		"too many":   {pids: "max 4\n", want: Events{Refused: true}},
	} {
		g := &Group{dir: folder(t, t.TempDir(), map[string]string{"memory.events": c.memory, "pids.events": c.pids})}
		if got := g.Events(); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if (*Group)(nil).Events() != (Events{}) || (*Group)(nil).Folder() != nil || (*Group)(nil).BoundsMemory() {
		t.Error("no group holds something")
	}
}

func TestIssue13_04_ProcessesOfAGroup(t *testing.T) {
	dir := folder(t, t.TempDir(), map[string]string{"cgroup.procs": strconv.Itoa(12) + "\n13\n"})
	if got := (&Group{dir: dir}).Processes(); !slices.Equal(got, []int{12, 13}) {
		t.Errorf("%v", got)
	}
}
