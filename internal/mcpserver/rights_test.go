package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/internal/web/guard"
)

// What a caller may do follows the scope, within what the project lets assistants do.
func TestRightsFollowScopeAndSettings(t *testing.T) {
	for _, c := range []struct {
		scope        guard.Scope
		noRun, allow bool
		run, approve bool
	}{
		{"", false, true, false, false},
		{guard.Viewer, false, true, false, false},
		{guard.Operator, false, false, true, false},
		{guard.Operator, false, true, true, true},
		{guard.Operator, true, true, false, true},
		{guard.Admin, true, false, false, false},
		{guard.Admin, false, true, true, true},
	} {
		rights := RightsOf(c.noRun, c.allow)(guard.Caller{ID: "t", Scope: c.scope})
		if (rights.NoRun == "") != c.run || (rights.NoApprove == "") != c.approve || rights.Texts {
			t.Errorf("%+v: %+v", c, rights)
		}
	}
}

// A tool that nobody allowed is not listed; a call of it says why, and does nothing.
func TestWhatIsNotAllowedIsNoTool(t *testing.T) {
	p := newProject(t, Rights{NoRun: "for a reason", NoApprove: "for another"}, true, map[string]string{"greet.yaml": greet})
	list, err := p.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is listed", tool.Name)
		}
	}
	p.refused("run", `{"workflow": "greet", "inputs": {"who": "Ada"}}`, "run is not allowed: for a reason")
	p.refused("approve", `{"run": "x", "step": "s", "decision": "approve"}`, "approve is not allowed: for another")
	p.refused("run_show", `{}`, "nothing has run here yet")
	if len(p.asked) > 0 {
		t.Errorf("a person was asked %q", p.asked)
	}
	if _, err := p.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "no_such_tool"}); err == nil || strings.Contains(err.Error(), "reason") {
		t.Errorf("a tool that is none: %v", err)
	}
	prompt, err := p.session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "write_workflow", Arguments: map[string]string{"goal": "greet"}})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "nothing is started from here") {
		t.Errorf("write_workflow: %v %+v", err, prompt)
	}
}

const ask = `flowrun: v1
name: ask
steps:
  - {id: sure, uses: core.approve, with: {message: "Sure?"}}
outputs: {done: true}
`

func TestADecisionIsAskedFor(t *testing.T) {
	p := newProject(t, everything, true, map[string]string{"ask.yaml": ask})
	var run runView
	p.call("run", `{"workflow": "ask"}`, &run)
	waits := slices.IndexFunc(run.Steps, func(step runStep) bool { return step.Path == "sure" && step.Status == "waiting" })
	if run.Status != "waiting" || waits < 0 || !strings.Contains(run.Next, "a step waits for a person") {
		t.Errorf("run answers %+v", run)
	}
	decide := func(decision string) string {
		return arguments(t, "run", run.Run, "step", "sure", "decision", decision, "comment", "since it is right")
	}
	p.answer = func() *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }
	p.refused("approve", decide("approve"), "the person declined")
	p.answer = func() *mcp.ElicitResult { return &mcp.ElicitResult{Action: "accept"} }
	p.refused("approve", arguments(t, "run", run.Run, "step", "none", "decision", "approve"), "none")
	p.refused("approve", decide("maybe"), "maybe")
	var out approveOutput
	p.call("approve", decide("approve"), &out)
	if out.Run != run.Run || out.Decision != "approve" || !out.AskedPerson {
		t.Errorf("approve answers %+v", out)
	}
	p.refused("approve", decide("reject"), "") // it has been decided
	if asked := p.asked[len(p.asked)-1]; !strings.Contains(asked, "Reject the step sure of run "+run.Run) {
		t.Errorf("the person was asked %q", asked)
	}
}

// A call that is given up leaves its run to go on.
func TestACallThatIsGivenUpLeavesItsRun(t *testing.T) {
	p := newProject(t, everything, false, map[string]string{"nap.yaml": "flowrun: v1\nname: nap\nsteps:\n  - {id: nap, uses: core.sleep, with: {for: 100h}}\n"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: json.RawMessage(`{"workflow": "nap", "wait_s": 600}`)})
		done <- err
	}()
	var run runView
	for run.Run == "" { // until it has begun
		result, err := p.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_show", Arguments: json.RawMessage(`{"workflow": "nap"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if !result.IsError {
			if err := json.Unmarshal([]byte(textOf(result)), &run); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a call that was given up is answered")
	}
	p.call("run_show", arguments(t, "run", run.Run), &run)
	if run.Status != "waiting" && run.Status != "running" {
		t.Errorf("the run is %+v", run)
	}
}
