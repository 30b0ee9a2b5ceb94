//go:build linux

package main_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// killerProject is a project with the plugin that kills the engine.
func killerProject(t *testing.T, binary string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	buildKiller(t, dir)
	write(t, dir, "flowrun.yaml", "limits: {sandbox: \"off\"} # it kills the engine, which the sandbox prevents\nplugins:\n  killer: {source: ./killer}\n")
	return dir
}

func buildKiller(t *testing.T, dir string, linkerFlags ...string) {
	t.Helper()
	flags := "-ldflags=" + strings.Join(append([]string{"-s -w"}, linkerFlags...), " ")
	if err := testbuild.Program(filepath.Join(dir, "killer"), "./testdata/killer", flags); err != nil {
		t.Fatal(err)
	}
}

// durable is what the tests read of `-o json`.
type durable struct {
	Run struct {
		ID, Status, Paused string
		Undriven           bool
	}
	Error *struct{ Kind, Reason, Message, Hint, Step, Applied string }
	Steps map[string]struct {
		Status  string
		Crashes int
		Outputs json.RawMessage
	}
	Plugins []struct{ Plugin, Version, Digest, Contract string }
}

func readDurable(t *testing.T, text string) durable {
	t.Helper()
	var result durable
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatalf("read %q: %v", text, err)
	}
	return result
}

// killed reports whether a command ended by SIGKILL.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == -1
}

// lastRun returns the id of the newest run, with what the list says of it.
func lastRun(t *testing.T, binary, dir string) (id string, undriven bool) {
	t.Helper()
	stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "list", "--limit", "1", "-o", "json")
	var page struct {
		Items []struct {
			ID       string
			Undriven bool
		}
	}
	if jsonErr := json.Unmarshal([]byte(stdout), &page); err != nil || jsonErr != nil || len(page.Items) != 1 {
		t.Fatalf("list: %v, %v\n%s%s", err, jsonErr, stdout, stderr)
	}
	return page.Items[0].ID, page.Items[0].Undriven
}

// TestP6ACallThatKillsTheEngineIsParkedAfterFiveCrashes: the call kills the engine
// each time that it is sent. The steps beside it go on, and a resume afterwards
// counts anew.
func TestP6ACallThatKillsTheEngineIsParkedAfterFiveCrashes(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir := killerProject(t, binary)
	write(t, dir, "w.yaml", `flowrun: v1
name: w
steps:
  - {id: poison, needs: [], uses: killer.read, with: {file: `+filepath.Join(dir, "ledger")+`}}
  - {id: after, needs: [poison], uses: core.log, with: {text: never}}
  - id: others
    needs: []
    foreach: ${{ 1..40 }}
    max_parallel: 1
    steps: [{id: nap, uses: killer.nap}]
`)
	_, stderr, err := flowrunProcess(t, binary, dir, "run", "w.yaml", "-o", "json")
	if !killed(err) {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	id, undriven := lastRun(t, binary, dir)
	if !undriven {
		t.Error("the list does not say that nobody drives the killed run")
	}
	if stdout, _, _ := flowrunProcess(t, binary, dir, "runs", "list"); !strings.Contains(stdout, "running (interrupted)") {
		t.Errorf("the list shows\n%s", stdout)
	}
	for crash := 2; crash <= 5; crash++ {
		stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", id, "-o", "json")
		if !killed(err) {
			t.Fatalf("resume before crash %d: %v\n%s%s", crash, err, stdout, stderr)
		}
	}
	stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", id, "-o", "json")
	if exitOf(err) != 8 {
		t.Fatalf("resume after 5 crashes: %v, want exit 8\n%s%s", err, stdout, stderr)
	}
	got := readDurable(t, stdout)
	if got.Run.Status != "paused" || got.Run.Paused != "crash_loop" || got.Steps["poison"].Crashes != 5 {
		t.Errorf("the run is %s (%s), its step has %d crashes", got.Run.Status, got.Run.Paused, got.Steps["poison"].Crashes)
	}
	if got.Error == nil || got.Error.Step != "poison" || got.Error.Reason != "crash_loop" ||
		!strings.Contains(got.Error.Message, "5 times") || !strings.Contains(got.Error.Hint, "runs cancel "+id) {
		t.Errorf("the error is %+v", got.Error)
	}
	if got.Steps["others"].Status != "succeeded" || got.Steps["after"].Status == "succeeded" {
		t.Errorf("beside it: others %s, after %s", got.Steps["others"].Status, got.Steps["after"].Status)
	}

	// Once more: it counts anew, and goes on when the call spares the engine.
	if stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", id, "-o", "json"); !killed(err) {
		t.Fatalf("a resume of the parked step: %v\n%s%s", err, stdout, stderr)
	}
	write(t, dir, "ledger.spare", "")
	stdout, stderr, err = flowrunProcess(t, binary, dir, "runs", "resume", id, "-o", "json")
	if err != nil || readDurable(t, stdout).Run.Status != "succeeded" {
		t.Errorf("the last resume: %v\n%s%s", err, stdout, stderr)
	}
}

// TestRule11ALostCallIsAskedAbout: the engine dies in the middle of `once` calls
// whose plugin can look them up. What was delivered is not delivered again, what
// was not is sent with the same key.
func TestRule11ALostCallIsAskedAbout(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for action, crashes := range map[string]int{"deliver": 1, "lose": 2} {
		t.Run(action, func(t *testing.T) {
			dir := killerProject(t, binary)
			write(t, dir, "w.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: a, uses: killer."+action+", with: {file: "+filepath.Join(dir, "ledger")+"}}\noutputs: {count: \"${{ steps.a.outputs.count }}\"}\n")
			if _, stderr, err := flowrunProcess(t, binary, dir, "run", "w.yaml"); !killed(err) {
				t.Fatalf("run: %v\n%s", err, stderr)
			}
			id, _ := lastRun(t, binary, dir)
			for range crashes - 1 {
				if _, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", id); !killed(err) {
					t.Fatalf("resume: %v\n%s", err, stderr)
				}
			}
			if crashes > 1 {
				write(t, dir, "ledger.spare", "")
			}
			stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", id, "-o", "json")
			if err != nil || !strings.Contains(stdout, `"outputs":{"count":1}`) {
				t.Fatalf("resume: %v\n%s%s", err, stdout, stderr)
			}
			ledger, err := os.ReadFile(filepath.Join(dir, "ledger"))
			if lines := strings.Count(string(ledger), "\n"); err != nil || lines != 1 {
				t.Errorf("%d deliveries (%v):\n%s", lines, err, ledger)
			}
			events, _, err := flowrunProcess(t, binary, dir, "runs", "events", id)
			if err != nil || !strings.Contains(events, "reconciled") || !strings.Contains(events, "in flight at a crash") {
				t.Errorf("events: %v\n%s", err, events)
			}
		})
	}
}

// TestIssue12_22TheQuestionOfALostCallShowsItsWait: the lost call has taken the only
// place that the limiter has in twelve seconds; the question about it waits for the
// next one, and says so, while it waits and afterwards.
func TestIssue12_22TheQuestionOfALostCallShowsItsWait(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir := killerProject(t, binary)
	write(t, dir, "flowrun.yaml", "limits: {sandbox: \"off\"} # it kills the engine, which the sandbox prevents\nplugins:\n  killer: {source: ./killer}\nconnections:\n  killer: {rate: 1/12s}\n")
	write(t, dir, "w.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: a, uses: killer.deliver, with: {file: "+filepath.Join(dir, "ledger")+"}}\n")
	if _, stderr, err := flowrunProcess(t, binary, dir, "run", "w.yaml"); !killed(err) {
		t.Fatalf("run: %v\n%s", err, stderr)
	}
	id, _ := lastRun(t, binary, dir)
	stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", id)
	if err != nil || !strings.Contains(stdout+stderr, "rate limit") {
		t.Fatalf("resume: %v\n%s%s", err, stdout, stderr)
	}
	shown, _, err := flowrunProcess(t, binary, dir, "runs", "show", id, "a")
	if err != nil || !regexp.MustCompile(`(?m)^waited +[0-9.]+m?s of it, for the rate limit$`).MatchString(shown) {
		t.Errorf("show: %v\n%s", err, shown)
	}
	events, _, err := flowrunProcess(t, binary, dir, "runs", "events", id, "-o", "jsonl")
	if err != nil || !regexp.MustCompile(`"kind":"reconciled".*"waits":\[\{"for":"rate limit","from":"[^"]+","until":"[^"]+"\}\]`).MatchString(events) {
		t.Errorf("events: %v\n%s", err, events)
	}
}

// TestAResumeComparesThePlugins: a run goes on with its own revision of a plugin, whatever
// the source is by then; without the copy of it, it is refused.
func TestAResumeComparesThePlugins(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir := killerProject(t, binary)
	write(t, dir, "w.yaml", `flowrun: v1
name: w
inputs: {fail: {type: boolean, default: true}}
steps:
  - {id: a, uses: killer.nap}
  - {id: b, uses: core.assert, with: {that: "${{ not inputs.fail }}"}}
`)
	stdout, stderr, err := flowrunProcess(t, binary, dir, "run", "w.yaml", "-o", "json")
	got := readDurable(t, stdout)
	if exitOf(err) != 5 || len(got.Plugins) != 1 || got.Plugins[0].Version != "1.0.0" || len(got.Plugins[0].Digest) != 64 || len(got.Plugins[0].Contract) != 64 {
		t.Fatalf("run: %v, plugins %+v\n%s", err, got.Plugins, stderr)
	}
	own := filepath.Join(dir, ".flowrun", "state", "plugins", got.Plugins[0].Digest)
	buildKiller(t, dir, "-X main.version=1.0.1")
	for _, other := range []string{"other bytes", "another contract"} {
		if _, stderr, err := flowrunProcess(t, binary, dir, "runs", "resume", got.Run.ID); exitOf(err) != 5 {
			t.Fatalf("resume beside %s: %v\n%s", other, err, stderr)
		}
		if err := testbuild.Program(filepath.Join(dir, "killer"), "./testdata/killer2"); err != nil {
			t.Fatal(err)
		}
	}
	logs, _, err := flowrunProcess(t, binary, dir, "runs", "logs", got.Run.ID)
	if err != nil || strings.Contains(logs, "another one than at the start") {
		t.Errorf("logs: %v\n%s", err, logs)
	}
	if err := os.RemoveAll(own); err != nil {
		t.Fatal(err)
	}
	_, stderr, err = flowrunProcess(t, binary, dir, "runs", "resume", got.Run.ID)
	if exitOf(err) != 11 || !strings.Contains(stderr, "--with-latest") {
		t.Errorf("resume without its copy: %v\n%s", err, stderr)
	}
	_, stderr, err = flowrunProcess(t, binary, dir, "runs", "resume", got.Run.ID, "--with-latest")
	if exitOf(err) != 5 {
		t.Errorf("resume with the file against the new plugin: %v\n%s", err, stderr)
	}
}
