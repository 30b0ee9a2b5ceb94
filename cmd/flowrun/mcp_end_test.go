package main_test

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/internal/testcommand"
)

// sleeping is a project with a workflow that sleeps so long.
func sleeping(t *testing.T, length string) (dir, binary string) {
	t.Helper()
	dir, binary = t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "workflows: [nap.yaml]\n")
	write(t, dir, "nap.yaml", "flowrun: v1\nname: nap\nsteps:\n  - {id: nap, uses: core.sleep, with: {for: "+length+"}}\n  - {id: up, let: {text: up}}\n")
	return dir, binary
}

// A client that ends while a run goes on does not end the run: the program stays for it.
func TestIssue16_2_ARunOutlivesItsClient(t *testing.T) {
	t.Parallel()
	dir, binary := sleeping(t, "1s")
	a := newAssistant(t, binary, dir, false, "--allow", "run")
	var run shownRun
	a.call("run", map[string]any{"workflow": "nap", "wait_s": 0}, &run)
	if run.Status == "succeeded" || !strings.Contains(run.Next, "run_show") {
		t.Errorf("the run is %+v", run)
	}
	if err := a.session.Close(); err != nil {
		t.Error(err)
	}
	if out, code := flowrunIn(t, binary, dir, "runs", "show", run.Run); code != 0 || !strings.Contains(out, "succeeded") {
		t.Errorf("%d: %s", code, out)
	}
}

// A terminated program leaves its runs to be resumed, and says so.
func TestIssue16_2_ATerminatedServerLeavesItsRuns(t *testing.T) {
	t.Parallel()
	dir, binary := sleeping(t, "100h")
	command := exec.CommandContext(t.Context(), binary, "mcp", "--allow", "run")
	command.Dir = dir
	said := new(testcommand.Buffer)
	command.Stderr = said
	a := speak(t, "", &mcp.CommandTransport{Command: command}, false)
	var run shownRun
	a.call("run", map[string]any{"workflow": "nap", "wait_s": 0}, &run)
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = a.session.Close() // it waits for the program
	if code := command.ProcessState.ExitCode(); code != 143 || !strings.Contains(said.String(), "run "+run.Run+" is left to be resumed") {
		t.Errorf("it ends with %d and says\n%s", code, said)
	}
	again := newAssistant(t, binary, dir, false)
	again.call("run_show", map[string]any{"run": run.Run}, &run)
	if !strings.Contains(run.Next, "flowrun runs resume "+run.Run) {
		t.Errorf("the run is %+v", run)
	}
}

// What is no message ends the program with what was wrong, and nothing else on stdout.
func TestIssue16_2_WhatIsNoMessageEndsTheServer(t *testing.T) {
	t.Parallel()
	dir, binary := sleeping(t, "1s")
	for name, input := range map[string]string{"garbage": "garbage\n", "a message of 5 MiB": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5<<20) + `"}` + "\n"} {
		command := exec.CommandContext(t.Context(), binary, "mcp", "--allow", "run")
		command.Dir, command.Stdin = dir, strings.NewReader(input)
		var stdout, stderr strings.Builder
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err == nil || stdout.String() != "" || !strings.Contains(stderr.String(), "error: speak MCP: ") || strings.Contains(stderr.String(), "panic") {
			t.Errorf("%s: %v, %q, %.500s", name, err, stdout.String(), stderr.String())
		}
	}
}

// Calls come at a time, while the store is taken and given back: each is answered.
func TestIssue16_2_ManyCallsAtATime(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "workflows: [hello.yaml]\n")
	write(t, dir, "hello.yaml", "flowrun: v1\nname: hello\nsteps: [{id: s, let: {text: hello}}]\n")
	a := newAssistant(t, binary, dir, false, "--allow", "run")
	var calls sync.WaitGroup
	for range 6 {
		for tool, arguments := range map[string]map[string]any{
			"run": {"workflow": "hello"}, "validate": {"text": "flowrun: v1\nname: x\nsteps: [{id: s, let: {n: 1}}]\n"}, "workflows": {}, "plan": {"workflow": "hello"}, "explain": {"topic": "core.approve"},
		} {
			calls.Go(func() {
				result, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
				if err != nil || result.IsError {
					t.Errorf("%s: %v %s", tool, err, textOf(result))
				}
			})
		}
	}
	calls.Wait()
	if err := a.session.Close(); err != nil {
		t.Error(err)
	}
	if out, code := flowrunIn(t, binary, dir, "runs", "list"); code != 0 || strings.Count(out, "succeeded") != 6 {
		t.Errorf("%d: %s", code, out)
	}
}
