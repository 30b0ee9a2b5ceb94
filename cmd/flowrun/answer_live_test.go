//go:build linux

package main_test

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

const answeredWorkflow = `flowrun: v1
name: clean
steps:
  - id: ask
    uses: core.approve
    with:
      message: "Remove a label from 3 tasks that nobody has touched for a year?"
      form:
        label: {type: string, enum: [stale, waiting], default: waiting}
        limit: {type: integer, minimum: 1, description: "how many at most"}
  - id: tell
    uses: core.log
    with: {text: "${{ steps.ask.outputs.label }} ${{ steps.ask.outputs.limit }}"}
  - id: sure
    uses: core.approve
    with: {message: "Tell everybody?"}
    on_error: {denied: continue}
  - id: last
    uses: core.log
    run_if: any
    with: {text: "${{ steps.sure.status }}"}
`

// typed is a terminal in which keys are typed when something is shown.
func (term *terminal) typed(t *testing.T) func(shown, keys string) {
	return func(shown, keys string) {
		t.Helper()
		term.await(t, shown)
		term.mu.Lock()
		term.shown.Reset()
		term.mu.Unlock()
		if _, err := io.WriteString(term.master, keys); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAQuestionIsAnsweredInTheLiveView: at any width the question, its form and the command
// stand there; what does not fit is told, and the run goes on after the answer. Who answered
// stands in the run as with `runs approve`.
func TestAQuestionIsAnsweredInTheLiveView(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for _, columns := range []uint16{40, 80, 200} {
		dir := t.TempDir()
		write(t, dir, "clean.yaml", answeredWorkflow)
		screen := openTerminal(t, columns, 40)
		before := screen.modes(t)
		command := screen.start(t, binary, dir, "run", "clean.yaml")
		answer := screen.typed(t)
		answer(`(?s)\? ask: Remove a label.*label: one of stale, waiting.*limit: an integer.*flowrun runs approve .*y fills in the form`, "y")
		answer(`(?s)label: one of.*› waiting`, "st\r")
		answer(`(?s)limit: an integer.*how many at most`, "0\r")
		answer(`(?s)› 0.*at least 1|(?s)› 0.*1`, "\x1512\r")
		answer(`(?s)approved ask.*\? sure: Tell everybody\?.*y approves`, "n")
		answer(`why not\?`, "not today\r")
		screen.await(t, `rejected sure`)
		if err := command.Wait(); err != nil {
			t.Fatalf("%d columns: %v\n%s", columns, err, screen.text())
		}
		if after := screen.modes(t); after != before {
			t.Error("the terminal is not as it was")
		}
		stdout, _ := codeOf(t, 0, binary, dir, "runs", "show", "last", "-o", "json")
		var run struct {
			Steps map[string]struct {
				Outputs  json.RawMessage
				Decision struct {
					By, Comment    string
					Rejected, Held bool
				}
			}
		}
		if err := json.Unmarshal([]byte(stdout), &run); err != nil {
			t.Fatal(err)
		}
		ask, sure := run.Steps["ask"], run.Steps["sure"].Decision
		if string(ask.Outputs) != `{"label":"stale","limit":12}` || ask.Decision.By == "" || ask.Decision.Held || ask.Decision.Rejected {
			t.Errorf("%d columns: the answer is %s, %+v", columns, ask.Outputs, ask.Decision)
		}
		if !sure.Rejected || sure.Comment != "not today" || sure.By != ask.Decision.By {
			t.Errorf("%d columns: the rejection is %+v", columns, sure)
		}
	}
}

// TestTheFormOfAQuestionIsEdited: e opens the form as YAML in $VISUAL; what is wrong in it is
// told and edited again, and y takes it.
func TestTheFormOfAQuestionIsEdited(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "clean.yaml", answeredWorkflow)
	write(t, dir, "editor", "#!/bin/sh\n[ -e first ] || { touch first; cp \"$1\" seen; exec sed -i 's/^limit:.*/limit: many/' \"$1\"; }\nexec sed -i 's/^limit:.*/limit: 30/; s/^label:.*/label: stale/' \"$1\"\n")
	if err := os.Chmod(dir+"/editor", 0o700); err != nil {
		t.Fatal(err)
	}
	screen := openTerminal(t, 80, 40)
	command := screen.start(t, "/usr/bin/env", dir, "VISUAL="+dir+"/editor", binary, "run", "clean.yaml")
	answer := screen.typed(t)
	answer(`e opens it in an editor`, "e")
	answer(`(?s)limit:.*integer.*many.*e opens it in an editor`, "e")
	answer(`(?s)label = stale.*limit = 30.*y approves with these`, "y")
	answer(`\? sure: Tell everybody\?(.|\s)*y approves`, "y")
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, screen.text())
	}
	stdout, _ := codeOf(t, 0, binary, dir, "runs", "logs", "last")
	if !strings.Contains(stdout, "stale 30") || !strings.Contains(stdout, "succeeded") {
		t.Errorf("the run logs %s", stdout)
	}
	seen, err := os.ReadFile(dir + "/seen")
	if err != nil || !strings.Contains(string(seen), "# how many at most\n# an integer; at least 1\nlimit:\n") || !strings.Contains(string(seen), `label: "waiting"`) {
		t.Errorf("the editor got %s (%v)", seen, err)
	}
}

// TestAQuestionIsAnsweredWhereItIsWatched: in `runs watch` beside a server, and that of a
// sub-workflow in the view of its parent. An answer from elsewhere takes the question away.
func TestAQuestionIsAnsweredWhereItIsWatched(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "workflows: [.]\n")
	write(t, dir, "clean.yaml", answeredWorkflow)
	write(t, dir, "parent.yaml", "flowrun: v1\nname: parent\nsteps:\n  - {id: sub, uses: ./clean.yaml}\n")
	serveExamples(t, binary, dir)
	codeOf(t, 0, binary, dir, "run", "parent.yaml", "--detach")
	child := newestRun(t, binary, dir, "clean")
	screen := openTerminal(t, 80, 40)
	command := screen.start(t, binary, dir, "runs", "watch", "-w", "parent")
	answer := screen.typed(t)
	answer(`(?s)\? ask: Remove a label.*`+child+`.*y fills in the form`, "")
	codeOf(t, 0, binary, dir, "runs", "approve", child, "--form", "limit=3")
	answer(`(?s)\? sure: Tell everybody\?.*y approves`, "y")
	screen.await(t, "approved sure")
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, screen.text())
	}
}
