//go:build linux

package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const watchWorkflow = `flowrun: v1
name: watch
steps:
  - id: watch
    foreach: ${{ 1..20 }}
    as: n
    max_parallel: 2
    steps:
      - id: whois
        uses: netinfo.whois
        with: {domain: "${{ 'domain-' + string(n) + '.org' }}", missing_ok: true}
    collect: {found: "${{ steps.whois.outputs.found }}"}
outputs: {count: "${{ len(steps.watch.outputs.items) }}"}
`

// TestAClientTakesOverWhenTheOwnerIsKilled: two clients wait for runs that the
// first process drives. When it dies, one of them takes the store and both runs
// end well.
func TestAClientTakesOverWhenTheOwnerIsKilled(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	config := startSandbox(t, binary, dir)
	setFault(t, config, `{"path": "/api/v1/whois/**", "delay_ms": 100, "count": -1}`)
	write(t, dir, "watch.yaml", watchWorkflow)
	type client struct {
		*exec.Cmd
		out, problems strings.Builder
	}
	start := func() *client {
		c := &client{Cmd: exec.Command(binary, "run", "watch.yaml", "--config", config, "-o", "json")}
		c.Dir, c.Stdout, c.Stderr = dir, &c.out, &c.problems
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	owner := start()
	awaitCalls(t, config, 1)
	clients := []*client{start(), start()}
	awaitCalls(t, config, 20)
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed
	for _, c := range clients {
		if err := c.Wait(); err != nil {
			t.Fatalf("client: %v\n%s", err, c.problems.String())
		}
		var result struct {
			Run     struct{ Status string }
			Outputs struct{ Count int }
		}
		if err := json.Unmarshal([]byte(c.out.String()), &result); err != nil || result.Run.Status != "succeeded" || result.Outputs.Count != 20 {
			t.Errorf("client printed %s (%v)", c.out.String(), err)
		}
	}
	if left := pluginProcesses(t, binary); len(left) > 0 {
		t.Errorf("plugins are alive after the last process ended: %v", left)
	}
}

// TestTooManyRequestsSlowEveryRunAndLoseNone: the service refuses eight requests
// of two runs that share an owner.
func TestTooManyRequestsSlowEveryRunAndLoseNone(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	config := startSandbox(t, binary, dir)
	setFault(t, config, `{"path": "/api/v1/whois/**", "status": 429, "retry_after": "1", "nth": 5, "count": 8}`)
	write(t, dir, "watch.yaml", watchWorkflow)
	began := time.Now()
	done := make(chan error, 2)
	for range 2 {
		run := exec.Command(binary, "run", "watch.yaml", "--config", config, "-o", "json")
		run.Dir = dir
		go func() {
			output, err := run.Output()
			if err == nil && !strings.Contains(string(output), `"count":20`) {
				err = errors.New("it lost lookups: " + string(output))
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("both ended after %s: nobody waited for what the service asked", took)
	}
}

// TestAFullDiskHasItsOwnExitCode holds every file below 20, then 200 KiB: no
// store can be made, then no run be stored. What is there stays readable.
func TestAFullDiskHasItsOwnExitCode(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "small.yaml", "flowrun: v1\nname: small\nsteps:\n  - {let: {a: 1}}\n")
	write(t, dir, "large.yaml", `flowrun: v1
name: large
steps:
  - foreach: ${{ 1..500 }}
    as: n
    steps:
      - {uses: core.log, with: {text: "${{ repeat('x', 4000) }}"}}
`)
	limited := func(kib int, workflow string) (int, string) {
		run := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -f %d; exec "$0" run %s --state state`, 2*kib, workflow), binary)
		run.Dir = dir
		output, err := run.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return run.ProcessState.ExitCode(), string(output)
	}
	if code, said := limited(10, "small.yaml"); code != 75 || !strings.Contains(said, "flowrun.db") {
		t.Errorf("no room for a store: exit %d, want 75\n%s", code, said)
	}
	if _, stderr, err := flowrun(t, binary, dir, "run", "small.yaml", "--state", "state"); err != nil {
		t.Fatalf("with room again: %v\n%s", err, stderr)
	}
	if code, said := limited(100, "large.yaml"); code != 75 || !strings.Contains(said, "no space") {
		t.Errorf("no room for a run: exit %d, want 75\n%s", code, said)
	}
	stdout, stderr, err := flowrun(t, binary, dir, "runs", "list", "--state", "state")
	if err != nil || !strings.Contains(stdout, "small") {
		t.Errorf("after the full disk: %v\n%s%s", err, stdout, stderr)
	}
}

// TestADamagedStoreOrKeyHasItsOwnExitCode, and is not touched.
func TestADamagedStoreOrKeyHasItsOwnExitCode(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	tests := map[string]struct {
		spoil func(state string) error
		code  int
		says  string
	}{
		"truncated": {func(state string) error { return os.Truncate(filepath.Join(state, "flowrun.db"), 20000) }, 76, "truncated"},
		"garbage": {func(state string) error {
			return os.WriteFile(filepath.Join(state, "flowrun.db"), []byte(strings.Repeat("garbage ", 9000)), 0o600)
		}, 76, "corrupt"},
		"empty": {func(state string) error { return os.Truncate(filepath.Join(state, "flowrun.db"), 0) }, 76, "corrupt"},
		"key":   {func(state string) error { return os.WriteFile(filepath.Join(state, "key"), []byte("x"), 0o600) }, 76, "key"},
		"folder": {func(state string) error {
			path := filepath.Join(state, "flowrun.db")
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, 74, "flowrun.db"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "small.yaml", "flowrun: v1\nname: small\nsteps:\n  - {let: {a: 1}}\n")
			if _, stderr, err := flowrun(t, binary, dir, "run", "small.yaml", "--state", "state"); err != nil {
				t.Fatalf("first run: %v\n%s", err, stderr)
			}
			if err := tt.spoil(filepath.Join(dir, "state")); err != nil {
				t.Fatal(err)
			}
			_, stderr, err := flowrun(t, binary, dir, "run", "small.yaml", "--state", "state")
			if exitOf(err) != tt.code || !strings.Contains(stderr, tt.says) {
				t.Errorf("%v, want exit %d\n%s", err, tt.code, stderr)
			}
		})
	}
}

// setFault arms a fault of netinfo's simulator.
func setFault(t *testing.T, config, fault string) {
	t.Helper()
	response, err := http.Post(simulator(t, config)+"/_sim/faults", "application/json", strings.NewReader(fault))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("set fault %s: %s", fault, response.Status)
	}
}

// simulator returns the address of netinfo's simulator.
func simulator(t *testing.T, config string) string {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	match := baseURL.FindStringSubmatch(string(text))
	if match == nil {
		t.Fatalf("no base_url of netinfo in %s", text)
	}
	return match[1]
}

// awaitCalls waits until the simulator was asked for whois n times in all.
func awaitCalls(t *testing.T, config string, n int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		total := 0
		for _, count := range requestCounts(t, config) {
			total += count
		}
		if total >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d calls, want %d", total, n)
		}
	}
}
