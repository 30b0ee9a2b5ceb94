//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testcommand"
)

// TestAnEvilPluginFailsItsOwnStepOnly (P18): every fault ends its step with a
// named kind in bounded time, while a run of a healthy plugin goes on in the
// same engine.
func TestAnEvilPluginFailsItsOwnStepOnly(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	for _, plugin := range []string{"evil", "healthy"} {
		buildEvil(t, dir, plugin)
	}
	write(t, dir, "flowrun.yaml", "plugins:\n  evil: {source: ./evil}\n  healthy: {source: ./healthy}\n")
	write(t, dir, "healthy.yaml", `flowrun: v1
name: healthy
steps:
  - id: naps
    foreach: ${{ 1..400 }}
    as: n
    max_parallel: 1
    steps: [{uses: healthy.nap}]
`)
	healthy := exec.Command(binary, "run", "healthy.yaml", "-o", "json")
	healthy.Dir = dir
	var said strings.Builder
	var trouble testcommand.Buffer
	healthy.Stdout, healthy.Stderr = &said, &trouble
	if err := healthy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = healthy.Process.Kill() }) // has ended unless the test failed

	wants := map[string]string{
		"crash": "crashed", "panics": "internal", "hang": "timeout", "huge": "", "shout": "internal", "lie": "unexpected_response",
	}
	for action, kind := range wants {
		file := action + ".yaml"
		timeout := "2m"
		if kind == "timeout" {
			timeout = "2s"
		}
		write(t, dir, file, fmt.Sprintf("flowrun: v1\nname: w\nsteps:\n  - {id: s, uses: evil.%s, timeout: %s, retry: {attempts: 1}}\n", action, timeout))
		stdout, stderr, err := flowrunProcess(t, binary, dir, "run", file, "-o", "json")
		var result struct {
			Error struct{ Kind, Message string }
		}
		if jsonErr := json.Unmarshal([]byte(stdout), &result); jsonErr != nil || err == nil {
			t.Errorf("%s: %v, %v\n%s%s", action, err, jsonErr, stdout, stderr)
			continue
		}
		// How 100 MB fail hangs on who notices first: the memory limit or the size limit.
		if got := result.Error.Kind; got != kind && (kind != "" || got != "crashed" && got != "unexpected_response" && got != "invalid") {
			t.Errorf("%s failed with kind %q (%.200s), want %q", action, got, result.Error.Message, kind)
		}
		if len(stdout) > 1<<20 {
			t.Errorf("%s printed %d bytes", action, len(stdout))
		}
	}
	write(t, dir, "flood.yaml", "flowrun: v1\nname: w\nsteps: [{id: s, uses: evil.flood}]\n")
	if _, stderr, err := flowrunProcess(t, binary, dir, "run", "flood.yaml", "-o", "json"); err != nil || len(stderr) > 40<<20 {
		t.Errorf("flood: %v, %d bytes of log", err, len(stderr))
	}

	if err := healthy.Wait(); err != nil || !strings.Contains(said.String(), `"succeeded"`) {
		t.Errorf("the healthy run: %v\n%.500s\n%s", err, said.String(), trouble.String())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".flowrun/state/plugins/sock/*")); len(left) > 0 {
		t.Errorf("sockets of plugins are left: %v", left)
	}
	stdout, stderr, err := flowrunProcess(t, binary, dir, "runs", "list", "--status", "failed")
	if err != nil || strings.Count(stdout, "failed") < len(wants) {
		t.Errorf("the store afterwards: %v\n%s%s", err, stdout, stderr)
	}
}
