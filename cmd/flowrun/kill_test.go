//go:build linux

package main_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// record is what the test reads of a stored event.
type record struct {
	Event struct {
		Kind  string `json:"kind"`
		Path  string `json:"path"`
		Start *struct {
			RunID string `json:"run_id"`
		} `json:"start"`
	} `json:"event"`
}

// TestAKilledRunGoesOnWhereItStopped kills the engine in the middle of the
// domain watch. No plugin may survive, and the resumed run must not ask again
// for a domain that was shown as done.
func TestAKilledRunGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	dir := t.TempDir()
	config := startSandbox(t, binary, dir)
	workflow, err := filepath.Abs("../../workflows/domain-expiry-watch.yaml")
	if err != nil {
		t.Fatal(err)
	}

	run := exec.Command(binary, "run", "--config", config, workflow, "-o", "jsonl")
	run.Dir = dir
	output, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	runID, shown := readUntilDone(t, output, 25)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // killed: its error is expected

	deadline := time.Now().Add(30 * time.Second) // at once, but for the machine's load
	for len(pluginProcesses(t, binary)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("plugins outlive the killed engine: %v", pluginProcesses(t, binary))
		}
		time.Sleep(10 * time.Millisecond)
	}

	resume := exec.Command(binary, "runs", "resume", runID, "--config", config, "-o", "json")
	resume.Dir, resume.Stderr = dir, os.Stderr
	answer, err := resume.Output()
	if err != nil {
		t.Fatalf("resume: %v\n%s", err, answer)
	}
	var result struct {
		Run struct{ Status string }
	}
	if err := json.Unmarshal(answer, &result); err != nil || result.Run.Status != "succeeded" {
		t.Fatalf("resume printed %s (%v)", answer, err)
	}

	counts := requestCounts(t, config)
	for _, domain := range shown {
		if got := counts["/api/v1/whois/"+domain]; got != 1 {
			t.Errorf("%s was shown as done before the kill and asked for %d times", domain, got)
		}
	}
	if len(counts) < 80 {
		t.Errorf("%d domains were asked for, want 80", len(counts))
	}
}

// readUntilDone reads stored events until n lookups have completed.
func readUntilDone(t *testing.T, output io.Reader, n int) (runID string, domains []string) {
	t.Helper()
	item := regexp.MustCompile(`\[([^\]]+)\]\.`)
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		if r.Event.Start != nil {
			runID = r.Event.Start.RunID
		}
		if match := item.FindStringSubmatch(r.Event.Path); match != nil && r.Event.Kind == "completed" {
			domains = append(domains, match[1])
		}
		if len(domains) >= n {
			return runID, domains
		}
	}
	t.Fatalf("the run ended after %d of %d lookups: %v", len(domains), n, lines.Err())
	return "", nil
}

// pluginProcesses lists the living processes of this binary that serve plugins.
func pluginProcesses(t *testing.T, binary string) []string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		data, err := os.ReadFile(entry)
		if err != nil {
			continue // ended meanwhile
		}
		line := strings.ReplaceAll(string(data), "\x00", " ")
		if strings.HasPrefix(line, binary) && strings.Contains(line, "plugins serve") {
			found = append(found, entry+": "+line)
		}
	}
	return found
}

// requestCounts asks the simulator of netinfo what it was asked, by path.
func requestCounts(t *testing.T, config string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	match := baseURL.FindStringSubmatch(string(text))
	if match == nil {
		t.Fatalf("no base_url of netinfo in %s", text)
	}
	response, err := http.Get(match[1] + "/_sim/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var journal struct {
		Counts map[string]int `json:"counts"`
	}
	if err := json.NewDecoder(response.Body).Decode(&journal); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for path, count := range journal.Counts {
		if strings.HasPrefix(path, "/api/v1/whois/") {
			counts[path] = count
		}
	}
	return counts
}
