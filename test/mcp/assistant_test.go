package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seen is what testdata/node/client.mjs prints.
type seen struct {
	Tools            []string
	Valid            bool
	Wrong            int
	Explained        string
	Found, Workflows int
	Planned          string
	Tested           struct{ Passed int }
	Run              struct {
		Error, Status string
		Outputs       map[string]any
		AskedPerson   bool `json:"asked_person"`
	}
	Guide, Templates, Prompt int
	Shown                    string
	Logs                     int
	Asked                    []string
}

// client runs the client of the SDK for TypeScript, which holds answers to the tools'
// schemas.
func (p *project) client(environ []string, args ...string) seen {
	p.Helper()
	script, err := filepath.Abs("testdata/node/client.mjs")
	if err != nil {
		p.Fatal(err)
	}
	command := exec.CommandContext(p.Context(), "node", append([]string{script}, args...)...)
	command.Dir = p.dir
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + os.TempDir()}, environ...)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		p.Fatalf("the client ends with %v: %s\n%s", err, out, &said)
	}
	var s seen
	if err := json.Unmarshal(out, &s); err != nil {
		p.Fatalf("%v in %s", err, out)
	}
	return s
}

// check holds what the client saw to what is there; runs says that it may start runs.
func (s seen) check(t *testing.T, tools int, runs bool) {
	t.Helper()
	if len(s.Tools) != tools || !s.Valid || s.Wrong == 0 || s.Explained != "action" || s.Found == 0 || s.Workflows != 1 || s.Planned == "" || s.Tested.Passed != 1 || s.Guide < 5000 || s.Templates != 4 || s.Prompt != 1 {
		t.Errorf("the client saw %+v", s)
	}
	switch {
	case runs && (s.Run.Status != "succeeded" || s.Run.Outputs["text"] != "hello" || !s.Run.AskedPerson || s.Shown != "succeeded" || len(s.Asked) != 1):
		t.Errorf("the run is %+v, then %q; a person was asked %q", s.Run, s.Shown, s.Asked)
	case !runs && (!strings.Contains(s.Run.Error, "run is not allowed") || len(s.Asked) != 0):
		t.Errorf("who may only read runs %+v; a person was asked %q", s.Run, s.Asked)
	}
}

func greeting(t *testing.T) *project {
	t.Helper()
	p := newProject(t)
	p.write("flowrun.yaml", "workflows: [hello.yaml]\n")
	p.write("hello.yaml", "flowrun: v1\nname: hello\nsteps: [{id: s, let: {text: hello}}]\noutputs: {text: \"${{ steps.s.outputs.text }}\"}\n")
	p.write("hello.test.yaml", "flowrun_test: v1\nworkflow: hello.yaml\ncases: [{name: says hello, expect: {status: succeeded, outputs: {text: hello}}}]\n")
	return p
}

// The client of the SDK for TypeScript drives flowrun over stdio.
func TestIssue16_2_TheClientOfOthersOverStdio(t *testing.T) {
	t.Parallel()
	p := greeting(t)
	p.client(nil, p.flowrun, "mcp").check(t, 8, false)
	p.client(nil, p.flowrun, "mcp", "--allow", "run").check(t, 9, true)
}

// The same over HTTP, with tokens.
func TestIssue16_2_TheClientOfOthersOverHTTP(t *testing.T) {
	t.Parallel()
	p := greeting(t)
	serve := exec.CommandContext(t.Context(), p.flowrun, "serve", "--listen", "127.0.0.1:0")
	serve.Dir, serve.WaitDelay = p.dir, time.Minute
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	stderr, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait() // ended by the signal
	})
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		if _, after, found := strings.Cut(lines.Text(), "flowrun serves "); found {
			address, _, _ = strings.Cut(after, " ")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	for scope, tools := range map[string]int{"viewer": 8, "operator": 9} {
		command := exec.CommandContext(t.Context(), p.flowrun, "tokens", "create", scope, "--scope", scope)
		command.Dir = p.dir
		token, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		p.client([]string{"TOKEN=" + strings.TrimSpace(string(token))}, address+"/mcp").check(t, tools, scope == "operator")
	}
}
