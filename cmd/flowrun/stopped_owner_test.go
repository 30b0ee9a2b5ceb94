//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAStoreWhoseOwnerHangsIsNamed stops the process that holds the lock: what
// comes after it ends with 73 and says whom to look at.
func TestAStoreWhoseOwnerHangsIsNamed(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "nap.yaml", "flowrun: v1\nname: nap\nsteps:\n  - {uses: core.sleep, with: {for: 1h}}\n")
	owner := exec.Command(binary, "run", "nap.yaml", "--state", "state")
	owner.Dir = dir
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = owner.Process.Kill()
		_ = owner.Wait() // killed
	})
	var said struct{ PID int }
	for deadline := time.Now().Add(2 * time.Minute); said.PID == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the owner wrote no owner.json")
		}
		if data, err := os.ReadFile(filepath.Join(dir, "state", "owner.json")); err == nil {
			_ = json.Unmarshal(data, &said) // half-written: look again
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "state", "flowrun.db")); err == nil {
			break // a folder without has no runs, whoever owns it
		}
		if time.Now().After(deadline) {
			t.Fatal("the owner made no store")
		}
	}
	if err := owner.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", owner.Process.Pid))
		if _, state, _ := strings.Cut(string(stat), ") "); err == nil && strings.HasPrefix(state, "T") {
			break // the signal is on its way until then
		}
		if time.Now().After(deadline) {
			t.Fatalf("the owner is not stopped: %s, %v", stat, err)
		}
	}
	_, stderr, err := flowrun(t, binary, dir, "runs", "list", "--state", "state")
	if exitOf(err) != 73 {
		t.Errorf("runs list: %v, want exit 73", err)
	}
	for _, want := range []string{"flowrun.db", fmt.Sprint(said.PID)} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not name %s", stderr, want)
		}
	}
}
