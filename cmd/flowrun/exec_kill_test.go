//go:build linux

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A command that tells of its start and waits for a word that only the second start gets.
const slowCommand = `#!/bin/sh
echo "$$" >> started
while [ ! -e go ]; do sleep 0.01; done
echo done
`

const slowProject = `plugins: {exec: {grants: {commands: [./slow.sh, sleep], paths: [./work]}}}
connections:
  exec:
    plugin: exec
    config:
      commands:
        slow: {argv: [./slow.sh], cwd: ./work, stdin: none, effect: EFFECT}
`

// TestAKilledCommandIsRepeatedAsItsEffectSays kills the engine in the middle of a command:
// nothing of it is left, one of effect once parks the run, and one that may be repeated is.
func TestAKilledCommandIsRepeatedAsItsEffectSays(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for effect, action := range map[string]string{"once": "exec.run", "idempotent": "exec.apply", "read": "exec.read"} {
		t.Run(effect, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "work"), 0o755); err != nil { //nolint:gosec // the command's folder
				t.Fatal(err)
			}
			write(t, dir, "flowrun.yaml", strings.Replace(slowProject, "EFFECT", effect, 1))
			write(t, dir, "slow.yaml", "flowrun: v1\nname: slow\nsteps:\n  - {id: slow, uses: "+action+", with: {command: slow}}\noutputs: {text: \"${{ steps.slow.outputs.text }}\"}\n")
			write(t, dir, "slow.sh", slowCommand)
			if err := os.Chmod(filepath.Join(dir, "slow.sh"), 0o755); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
			run := exec.Command(binary, "run", "slow.yaml")
			run.Dir, run.Stderr = dir, os.Stderr
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			first := startedCommands(t, dir, 1)[0]
			if err := run.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = run.Wait() // it was killed
			for alive(first) {
				if t.Context().Err() != nil {
					t.Fatalf("the command %s outlives the killed engine", first)
				}
				time.Sleep(5 * time.Millisecond)
			}
			write(t, filepath.Join(dir, "work"), "go", "")
			runID := onlyRun(t, binary, dir)
			output, code := flowrunIn(t, binary, dir, "runs", "resume", runID, "-o", "json")
			started := startedCommands(t, dir, 1)
			if effect == "once" {
				if code != 8 || len(started) != 1 || !strings.Contains(output, `"status":"paused"`) || !strings.Contains(output, "unknown_outcome") {
					t.Errorf("exit code %d, started %v\n%s", code, started, output)
				}
				return
			}
			if code != 0 || len(started) != 2 || !strings.Contains(output, `"text":"done\n"`) {
				t.Errorf("exit code %d, started %v\n%s", code, started, output)
			}
		})
	}
}

// startedCommands waits until so many commands have told their numbers.
func startedCommands(t *testing.T, dir string, least int) []string {
	t.Helper()
	for {
		raw, _ := os.ReadFile(filepath.Join(dir, "work", "started")) // it is not there yet
		if pids := strings.Fields(string(raw)); len(pids) >= least && strings.HasSuffix(string(raw), "\n") {
			return pids
		}
		if t.Context().Err() != nil {
			t.Fatal("the command does not start")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// alive reports that a process is there and has not ended.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// onlyRun is the id of the one run of a store.
func onlyRun(t *testing.T, binary, dir string) string {
	t.Helper()
	output, code := flowrunIn(t, binary, dir, "runs", "list", "-o", "json")
	var list struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(output), &list); err != nil || code != 0 || len(list.Items) != 1 {
		t.Fatalf("exit code %d, %v\n%s", code, err, output)
	}
	return list.Items[0].ID
}
