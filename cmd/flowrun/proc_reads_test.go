//go:build linux && (amd64 || arm64)

package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/test/systrace"
)

// A `run` of one step opens at most this many files below /proc: those of its own
// processes, and what the kernel says of the machine as a whole.
const procFiles = 80

// TestARunReadsNoOtherProcesses: what a command reads below /proc does not grow with what
// runs on the machine beside it, in a sandbox and without one (ADR 76).
func TestARunReadsNoOtherProcesses(t *testing.T) {
	for _, sandbox := range []string{"auto", "off"} {
		t.Run(sandbox, func(t *testing.T) {
			binary, dir := buildBinary(t), oneStepProject(t, sandbox)
			opened(t, binary, dir) // describes the plugin
			few := opened(t, binary, dir)
			sleepers(t, 200)
			many := opened(t, binary, dir)
			t.Logf("below /proc: %d files, with 200 processes more %d", few.all, many.all)
			for name, count := range map[string]procCount{"few": few, "many": many} {
				if count.all > procFiles || count.listed > 0 || len(count.others) > 0 {
					t.Errorf("with %s processes: %d files below /proc (at most %d), the list of processes %d times, of others %v", name, count.all, procFiles, count.listed, count.others)
				}
			}
		})
	}
}

// sleepers are processes that do nothing, and belong to this test.
func sleepers(t *testing.T, count int) {
	t.Helper()
	for range count {
		sleeper := exec.Command("sleep", "600")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	}
}

// procCount is what a command opened below /proc.
type procCount struct {
	all    int
	listed int      // how often it listed all processes
	others []string // files of processes that it has not started
}

// opened runs the workflow and counts.
func opened(t *testing.T, binary, dir string) (count procCount) {
	t.Helper()
	before := processes(t)
	tracedRun(t, binary, dir, "one.yaml", func(c *systrace.Call) {
		name, below := strings.CutPrefix(c.Path, "/proc")
		if c.Kind != systrace.Open || !below || name != "" && name[0] != '/' {
			return
		}
		count.all++
		switch pid, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/"); {
		case pid == "":
			count.listed++
		case before[pid]:
			count.others = append(count.others, c.Path)
		}
	})
	if count.all == 0 {
		t.Fatal("nothing below /proc was seen: the count counts nothing")
	}
	return count
}

// tracedRun runs a workflow and shows the calls of the file system.
func tracedRun(t *testing.T, binary, dir, workflow string, see func(*systrace.Call)) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	outcome, err := systrace.Run(t.Context(), systrace.Command{
		Path: binary, Args: []string{binary, "run", workflow}, Dir: dir, Env: append(os.Environ(), "HOME="+dir), Files: []*os.File{null, null, null},
	}, systrace.Handler{Exit: see})
	if errors.Is(err, systrace.ErrRefused) {
		t.Skip(err)
	}
	if err != nil || outcome.Exit != 0 {
		t.Fatalf("the run: %+v, %v", outcome, err)
	}
}

// TestARunOfOneLetChangesFewNames: the names that a run changes in the state
// folder, and how often it waits for the disk, are those that it owes (ADR 76). A new name
// costs more than a commit.
func TestARunOfOneLetChangesFewNames(t *testing.T) {
	binary, dir := buildBinary(t), oneStepProject(t, "auto")
	write(t, dir, "let.yaml", "flowrun: v1\nname: let\nsteps:\n  - {id: one, let: {n: 1}}\n")
	tracedRun(t, binary, dir, "let.yaml", func(*systrace.Call) {}) // makes the store
	var names []string
	syncs := map[string]int{}
	tracedRun(t, binary, dir, "let.yaml", func(c *systrace.Call) {
		switch {
		case c.Err != 0:
		case c.Kind == systrace.Sync:
			syncs[filepath.Base(c.Path)]++
		case c.Kind == systrace.Rename:
			names = append(names, "rename "+filepath.Base(c.Target))
		case c.Kind == systrace.Remove:
			names = append(names, "remove "+filepath.Base(c.Path))
		case c.Kind == systrace.MakeDir:
			names = append(names, "make "+filepath.Base(c.Path))
		}
	})
	for _, name := range names {
		if strings.Contains(name, ".mark") || strings.Contains(name, "pids") || strings.HasPrefix(name, "make") || len(names) > 6 {
			t.Errorf("changed names: %v", names)
			break
		}
	}
	// The run, its end and the close are one commit each at most.
	if db, mark := syncs["flowrun.db"], syncs["flowrun.db.mark"]; len(names) == 0 || db == 0 || db > 6 || mark > 2 {
		t.Errorf("changed names: %v, synced: %v", names, syncs)
	}
}

// processes are those that run now.
func processes(t *testing.T) map[string]bool {
	t.Helper()
	names, err := filepath.Glob("/proc/[1-9]*")
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]bool{}
	for _, name := range names {
		if _, err := strconv.Atoi(filepath.Base(name)); err == nil {
			pids[filepath.Base(name)] = true
		}
	}
	return pids
}
