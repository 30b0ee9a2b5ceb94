package main_test

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bearer sends a token with each request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// overHTTP speaks with the server at an address.
func overHTTP(t *testing.T, version, address, token string, person bool) *assistant {
	t.Helper()
	return speak(t, version, &mcp.StreamableClientTransport{Endpoint: address + "/mcp", HTTPClient: &http.Client{Transport: bearer{token}}}, person)
}

func newToken(t *testing.T, binary, dir, name, scope string) string {
	t.Helper()
	command := exec.Command(binary, "tokens", "create", name, "--scope", scope)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

const askFirst = `flowrun: v1
name: ask-first
steps:
  - {id: ask, uses: core.approve, with: {message: "Shall it?"}}
  - {id: done, let: {text: done}}
outputs: {text: "${{ steps.done.outputs.text }}"}
`

// TestIssue16_2_OverHTTPATokenDecides: without one, or with the scope viewer, nothing is
// started; an operator runs what the project holds, and decides where the project lets
// assistants do so.
func TestIssue16_2_OverHTTPATokenDecides(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} { // the newest has no sessions
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			tokensDecide(t, version)
		})
	}
}

func tokensDecide(t *testing.T, version string) {
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "server: {mcp: {allow: [run, approve]}}\nworkflows: [ask.yaml]\n")
	write(t, dir, "ask.yaml", askFirst)
	address := serveExamples(t, binary, dir)
	viewer, operator := newToken(t, binary, dir, "eyes", "viewer"), newToken(t, binary, dir, "hands", "operator")

	for name, authorization := range map[string]string{"no token": "", "a wrong token": "Bearer frt_wrong", "another scheme": "Basic " + operator} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"workflow":"ask-first"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized || response.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
	}
	eyes := overHTTP(t, version, address, viewer, true)
	for _, tool := range eyes.tools() {
		if tool == "run" || tool == "approve" {
			t.Errorf("a viewer has the tool %s", tool)
		}
	}
	eyes.refused("run", map[string]any{"workflow": "ask-first"}, "it needs a token of the scope operator, and this one has viewer")
	eyes.refused("approve", map[string]any{"run": "x", "step": "ask", "decision": "approve"}, "scope operator")
	var plan planned
	eyes.call("plan", map[string]any{"workflow": "ask-first"}, &plan)
	if len(plan.Steps) != 2 {
		t.Errorf("planned %+v", plan)
	}
	eyes.refused("run_show", map[string]any{}, "nothing has run here yet")

	hands := overHTTP(t, version, address, operator, true)
	hands.refused("run", map[string]any{"text": askFirst, "plan_id": plan.PlanID}, "workflows of its project alone")
	var run shownRun
	hands.call("run", map[string]any{"workflow": "ask-first"}, &run)
	if run.Status != "waiting" || !run.AskedPerson || !strings.Contains(run.Next, "waits for a person") {
		t.Errorf("the run is %+v", run)
	}
	eyes.refused("approve", map[string]any{"run": run.Run, "step": "ask", "decision": "approve"}, "scope operator")
	var decided struct{ Status string }
	hands.call("approve", map[string]any{"run": run.Run, "step": "ask", "decision": "approve", "comment": "it may"}, &decided)
	if len(hands.asked) != 2 || !strings.Contains(hands.asked[1], "Approve the step ask of run "+run.Run) {
		t.Errorf("a person was asked %q", hands.asked)
	}
	out, code := flowrunIn(t, binary, dir, "runs", "watch", run.Run)
	if code != 0 {
		t.Errorf("the run ends with %d: %s", code, out)
	}
	events, _ := flowrunIn(t, binary, dir, "runs", "show", run.Run, "-o", "json")
	if !strings.Contains(events, "token hands from 127.0.0.1") {
		t.Errorf("nobody knows who it was: %s", events)
	}
	eyes.call("run_show", map[string]any{"run": run.Run}, &run)
	if run.Status != "succeeded" || run.Outputs["text"] != "done" {
		t.Errorf("the run is %+v", run)
	}
	list, _ := flowrunIn(t, binary, dir, "runs", "list", "-o", "json")
	if n := strings.Count(list, `"id":`); n != 1 {
		t.Errorf("%d runs began: %s", n, list)
	}
}

// A token that is removed ends what speaks with it, also in the middle of a session.
func TestIssue16_2_ASessionEndsWithItsToken(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "workflows: [ask.yaml]\n")
	write(t, dir, "ask.yaml", askFirst)
	address := serveExamples(t, binary, dir)
	a := overHTTP(t, "2025-11-25", address, newToken(t, binary, dir, "hands", "operator"), false)
	var list struct{ Workflows []any }
	a.call("workflows", nil, &list)
	if len(list.Workflows) != 1 {
		t.Errorf("the workflows are %+v", list)
	}
	a.refused("approve", map[string]any{"run": "x", "step": "ask", "decision": "approve"}, "`server: {mcp: {allow: [run, approve]}}` of flowrun.yaml is the person's to set")
	if out, code := flowrunIn(t, binary, dir, "tokens", "rm", "hands"); code != 0 {
		t.Fatal(out)
	}
	if result, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"workflow": "ask-first"}}); err == nil {
		t.Errorf("run answers %s", textOf(result))
	}
	if out, _ := flowrunIn(t, binary, dir, "runs", "list"); bytes.Contains([]byte(out), []byte("ask-first")) {
		t.Errorf("a run began: %s", out)
	}
}

// Beside a server the stdio side asks it, and leaves it the store.
func TestIssue16_2_OverStdioBesideAServer(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "workflows: [ask.yaml]\n")
	write(t, dir, "ask.yaml", askFirst)
	serveExamples(t, binary, dir)
	a := newAssistant(t, binary, dir, false, "--allow", "run,approve")
	var run shownRun
	a.call("run", map[string]any{"workflow": "ask-first"}, &run)
	if run.Status != "waiting" || run.AskedPerson {
		t.Errorf("the run is %+v", run)
	}
	a.call("approve", map[string]any{"run": run.Run, "step": "ask", "decision": "approve"}, &struct{}{})
	if out, code := flowrunIn(t, binary, dir, "runs", "watch", run.Run); code != 0 {
		t.Errorf("the run ends with %d: %s", code, out)
	}
	if out, _ := flowrunIn(t, binary, dir, "runs", "show", run.Run, "-o", "json"); !strings.Contains(out, "assistant scripted of ") {
		t.Errorf("nobody knows who it was: %s", out)
	}
}

// Without a server the stdio side holds the store while its run goes on, and gives it
// back when only a person can let the run go on; what a person decides goes on with it.
func TestIssue16_2_OverStdioTheStoreIsHeldForARunAlone(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "workflows: [ask.yaml]\n")
	write(t, dir, "ask.yaml", askFirst)
	a := newAssistant(t, binary, dir, false, "--allow", "run,approve")
	var run shownRun
	a.call("run", map[string]any{"workflow": "ask-first"}, &run)
	address := serveExamples(t, binary, dir) // it waits for who holds the store for good
	if address == "" {
		t.Error("no server")
	}
	a.call("approve", map[string]any{"run": run.Run, "step": "ask", "decision": "approve"}, &struct{}{})
	if out, code := flowrunIn(t, binary, dir, "runs", "watch", run.Run); code != 0 {
		t.Errorf("the run ends with %d: %s", code, out)
	}
}

// What a person decides of a run that nobody drives goes on with the run.
func TestIssue16_2_OverStdioADecisionGoesOnWithTheRun(t *testing.T) {
	t.Parallel()
	dir, binary := t.TempDir(), buildBinary(t)
	write(t, dir, "flowrun.yaml", "workflows: [ask.yaml]\n")
	write(t, dir, "ask.yaml", askFirst)
	if out, code := flowrunIn(t, binary, dir, "run", "ask.yaml", "--no-wait"); code != 8 {
		t.Fatalf("run exits with %d: %s", code, out)
	}
	a := newAssistant(t, binary, dir, true, "--allow", "approve")
	var run shownRun
	a.call("run_show", map[string]any{}, &run)
	a.call("approve", map[string]any{"run": run.Run, "step": "ask", "decision": "approve"}, &struct{}{})
	if len(a.asked) != 1 {
		t.Errorf("a person was asked %q", a.asked)
	}
	if err := a.session.Close(); err != nil { // it waits for the program, which waits for its run
		t.Error(err)
	}
	if out, code := flowrunIn(t, binary, dir, "runs", "show", run.Run); code != 0 || !strings.Contains(out, "succeeded") {
		t.Errorf("%d: %s", code, out)
	}
}
