//go:build linux

package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// codeOf runs flowrun and wants its exit code.
func codeOf(t *testing.T, want int, binary, dir string, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := flowrun(t, binary, dir, args...)
	if got := exitOf(err); got != want {
		t.Fatalf("flowrun %v: exit code %d, want %d\n%s\n%s", args, got, want, stdout, stderr)
	}
	return stdout, stderr
}

// shown is what `runs show -o json` says.
type shown struct {
	Run struct {
		ID, Status string
		Attempt    int
	}
	Outputs map[string]json.RawMessage
	Steps   map[string]struct {
		Status, Wait, Run string
		Error             *struct{ Kind, Message string }
		Decision          *struct {
			By      string
			Comment string
			Held    bool
		}
	}
}

func readShown(t *testing.T, text string) shown {
	t.Helper()
	var s shown
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// newestRun waits for a run of a workflow and returns its id.
func newestRun(t *testing.T, binary, dir, workflow string) string {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		stdout, _, err := flowrunProcess(t, binary, dir, "runs", "list", "--workflow", workflow, "-o", "json")
		if id := firstID(stdout); err == nil && id != "" {
			return id
		}
	}
	t.Fatalf("no run of %s appeared", workflow)
	return ""
}

// start starts flowrun in the background.
func start(t *testing.T, binary, dir string, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	out := new(strings.Builder)
	command := exec.Command(binary, args...)
	command.Dir, command.Stdout = dir, out
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() })
	return command, out
}

const besideWorkflow = `flowrun: v1
name: beside
steps:
  - id: each
    foreach: ["a b/c", "d[e]?"]
    as: x
    key: ${{ x }}
    max_parallel: 2
    steps:
      - id: ask
        uses: core.approve
        with: {message: "${{ x }}?", form: {n: {type: integer, default: 1}}}
    collect: ${{ steps.ask.outputs.n }}
  - {id: busy, needs: [], uses: core.sleep, with: {for: 3s}}
outputs: {each: "${{ steps.each.outputs.items }}"}
`

// TestApproveBesideARunningOwner: the process that drives the run goes on at once
// when another command approves.
func TestApproveBesideARunningOwner(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "workflows: [.]\n")
	write(t, dir, "beside.yaml", besideWorkflow)
	owner, out := start(t, binary, dir, "run", "beside.yaml", "-o", "json")
	id := newestRun(t, binary, dir, "beside")
	for _, step := range []string{"each[a b/c].ask", "each[d%5Be%5D?].ask"} {
		_, stderr := codeOf(t, 0, binary, dir, "runs", "approve", id, step, "--form", "n=20")
		if !strings.Contains(stderr, "runs watch") {
			t.Errorf("approve %s says %s", step, stderr)
		}
	}
	codeOf(t, 10, binary, dir, "runs", "approve", id, "each[a b/c].ask")
	if err := owner.Wait(); err != nil {
		t.Fatalf("the owner: %v\n%s", err, out)
	}
	result := readShown(t, out.String())
	if result.Run.Status != "succeeded" || string(result.Outputs["each"]) != "[20,20]" {
		t.Errorf("the owner printed %s", out)
	}
	if d := result.Steps["each[a b/c].ask"].Decision; d == nil || d.By == "" || d.Held {
		t.Errorf("the decision is %+v", d)
	}
}

// TestApproveWhenTheOwnerIsGone: the decision is durable, nothing is done by it
// before a resume, and it is done once.
func TestApproveWhenTheOwnerIsGone(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "flowrun.yaml", "workflows: [.]\nnotify: {ops: {command: [sh, -c, \"cat >> told.txt\"]}}\n")
	write(t, dir, "gone.yaml", `flowrun: v1
name: gone
steps:
  - {id: busy, needs: [], uses: core.sleep, with: {for: 1s}}
  - id: ask
    needs: []
    uses: core.approve
    with: {message: "go?"}
  - uses: core.notify
    with: {to: ops, text: approved}
`)
	owner, _ := start(t, binary, dir, "run", "gone.yaml")
	id := newestRun(t, binary, dir, "gone")
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // killed
	stdout, _ := codeOf(t, 0, binary, dir, "runs", "approve", id, "ask", "--comment", "fine", "-o", "json")
	if !strings.Contains(stdout, `"held":true`) {
		t.Errorf("approve printed %s", stdout)
	}
	time.Sleep(1200 * time.Millisecond) // nobody drives it: not even a timer that is due
	if _, err := os.Stat(dir + "/told.txt"); err == nil {
		t.Fatal("the run went on without a resume")
	}
	before, _ := codeOf(t, 0, binary, dir, "runs", "show", id, "-o", "json")
	if d := readShown(t, before).Steps["ask"].Decision; d == nil || !d.Held {
		t.Errorf("before the resume: %s", before)
	}
	after, _ := codeOf(t, 0, binary, dir, "runs", "resume", id, "-o", "json")
	if d := readShown(t, after).Steps["ask"].Decision; d == nil || d.Held || d.Comment != "fine" {
		t.Errorf("after the resume: %s", after)
	}
	told, err := os.ReadFile(dir + "/told.txt")
	if err != nil || strings.Count(string(told), `"text":"approved"`) != 1 {
		t.Errorf("told %q (%v)", told, err)
	}
}

const parentWorkflow = `flowrun: v1
name: parent
steps:
  - id: child
    uses: ./lib/child.yaml
    with: {n: 20}
outputs: {value: "${{ steps.child.outputs.value }}"}
`

// TestAnApprovalInASubWorkflow: the parent's command ends with 8, the child is
// approved, and a resume of the parent finds it.
func TestAnApprovalInASubWorkflow(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	mkdir(t, dir, "lib")
	write(t, dir, "flowrun.yaml", "workflows: [.]\n")
	write(t, dir, "parent.yaml", parentWorkflow)
	write(t, dir, "lib/child.yaml", `flowrun: v1
name: child
inputs: {n: {type: integer}}
steps:
  - id: ask
    uses: core.approve
    with: {message: "${{ inputs.n }}?", form: {m: {type: integer}}}
outputs: {value: "${{ inputs.n + steps.ask.outputs.m }}"}
`)
	_, stderr := codeOf(t, 8, binary, dir, "run", "parent.yaml")
	child, parent := newestRun(t, binary, dir, "child"), newestRun(t, binary, dir, "parent")
	if !strings.Contains(stderr, "runs show "+child) {
		t.Errorf("the run says %s", stderr)
	}
	codeOf(t, 0, binary, dir, "runs", "approve", child, "ask", "--form", "m=22")
	stdout, _ := codeOf(t, 0, binary, dir, "runs", "resume", parent, "-o", "json")
	result := readShown(t, stdout)
	if string(result.Outputs["value"]) != "42" || result.Steps["child"].Run != child {
		t.Errorf("the resume printed %s", stdout)
	}
}

// TestASubWorkflowSurvivesAKill: the resumed parent finds the same child, which
// goes on where it stopped.
func TestASubWorkflowSurvivesAKill(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	mkdir(t, dir, "lib")
	write(t, dir, "flowrun.yaml", "workflows: [.]\nnotify: {ops: {command: [sh, -c, \"cat >> told.txt\"]}}\n")
	write(t, dir, "parent.yaml", parentWorkflow)
	write(t, dir, "lib/child.yaml", `flowrun: v1
name: child
inputs: {n: {type: integer}}
steps:
  - uses: core.notify
    with: {to: ops, text: begun}
  - uses: core.sleep
    with: {for: 1s}
outputs: {value: "${{ inputs.n + 1 }}"}
`)
	owner, _ := start(t, binary, dir, "run", "parent.yaml")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(dir + "/told.txt"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the child did not begin")
		}
	}
	time.Sleep(200 * time.Millisecond) // its answer becomes durable
	_ = owner.Process.Kill()
	_ = owner.Wait()
	child, parent := newestRun(t, binary, dir, "child"), newestRun(t, binary, dir, "parent")
	stdout, _ := codeOf(t, 0, binary, dir, "runs", "resume", parent, "-o", "json")
	result := readShown(t, stdout)
	if string(result.Outputs["value"]) != "21" || result.Steps["child"].Run != child || newestRun(t, binary, dir, "child") != child {
		t.Errorf("the resume printed %s", stdout)
	}
	told, _ := os.ReadFile(dir + "/told.txt")
	if strings.Count(string(told), `"text":"begun"`) != 1 {
		t.Errorf("the child began more than once: %s", told)
	}
}

// TestCancelingTheParentCancelsTheChild: the child's finally runs, and a resume of
// the parent goes on with the same child.
func TestCancelingTheParentCancelsTheChild(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	mkdir(t, dir, "lib")
	write(t, dir, "flowrun.yaml", "workflows: [.]\n")
	write(t, dir, "parent.yaml", parentWorkflow)
	write(t, dir, "lib/child.yaml", `flowrun: v1
name: child
inputs: {n: {type: integer}}
steps:
  - id: nap
    uses: core.sleep
    with: {for: 2s}
outputs: {value: "${{ inputs.n }}"}
finally:
  - uses: core.log
    with: {text: "child ${{ run.status }}"}
`)
	owner, out := start(t, binary, dir, "run", "parent.yaml", "-o", "json")
	child := newestRun(t, binary, dir, "child")
	parent := newestRun(t, binary, dir, "parent")
	codeOf(t, 0, binary, dir, "runs", "cancel", parent)
	_ = owner.Wait() // exit code 6
	if got := readShown(t, out.String()); got.Run.Status != "canceled" || got.Steps["child"].Status != "canceled" {
		t.Errorf("the parent printed %s", out)
	}
	logs, _ := codeOf(t, 0, binary, dir, "runs", "logs", child)
	if !strings.Contains(logs, "child canceled") {
		t.Errorf("the child's log: %s", logs)
	}
	stdout, _ := codeOf(t, 0, binary, dir, "runs", "resume", parent, "-o", "json")
	if got := readShown(t, stdout); string(got.Outputs["value"]) != "20" || got.Steps["child"].Run != child {
		t.Errorf("the resume printed %s", stdout)
	}
}

var tasksURL = regexp.MustCompile(`(?s)plugin: tasks.*?(http://127\.0\.0\.1:[0-9]+)`)

// TestResolveAnUnknownOutcome: the answer to a write is lost. on_unknown decides,
// and what a person says is recorded, sends nothing, and holds at the resume.
func TestResolveAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	config := startSandbox(t, binary, dir)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	service := tasksURL.FindStringSubmatch(string(text))[1]
	lose := func() {
		response, err := http.Post(service+"/_sim/faults", "application/json",
			strings.NewReader(`{"path": "/api/v1/labels/shared/remove", "drop": "before", "count": 1}`))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	labels := []string{"client-x", "client-y", "review", "wating", "waiting"} // each can be removed once
	workflow := func(policy string) {
		write(t, dir, "write.yaml", `flowrun: v1
name: write
inputs: {label: {type: string}}
steps:
  - id: remove
    uses: tasks.label_remove
    with: {body: {name: "${{ inputs.label }}"}}
    on_unknown: `+policy+`
  - id: after
    run_if: any
    let: {status: "${{ steps.remove.status }}"}
outputs: {status: "${{ steps.after.outputs?.status }}"}
`)
	}
	run := func(want int) shown {
		lose()
		label := labels[0]
		labels = labels[1:]
		stdout, _ := codeOf(t, want, binary, dir, "run", "write.yaml", "-i", "label="+label, "--config", config, "-o", "json")
		return readShown(t, stdout)
	}
	resolve := func(id string, flags ...string) {
		stdout, stderr := codeOf(t, 0, binary, dir, append([]string{"runs", "resolve", id, "remove", "--config", config}, flags...)...)
		if !strings.Contains(stdout, "resolved remove") || !strings.Contains(stderr, "runs resume") {
			t.Errorf("resolve says %s %s", stdout, stderr)
		}
	}
	resume := func(id string) shown {
		stdout, _ := codeOf(t, 0, binary, dir, "runs", "resume", id, "--config", config, "-o", "json")
		return readShown(t, stdout)
	}
	workflow("fail")
	if got := run(5); got.Steps["remove"].Error == nil || got.Steps["remove"].Error.Kind != "unknown_outcome" {
		t.Errorf("on_unknown: fail gave %+v", got)
	}
	workflow("retry")
	if got := run(0); got.Steps["remove"].Status != "succeeded" {
		t.Errorf("on_unknown: retry gave %+v", got)
	}
	workflow("ask")
	for _, c := range []struct{ flag, status string }{{"--did-not", "succeeded"}, {"--happened", "succeeded"}, {"--skip", "skipped"}} {
		paused := run(8)
		if paused.Run.Status != "paused" || paused.Steps["remove"].Status != "unknown" {
			t.Fatalf("on_unknown: ask gave %+v", paused)
		}
		resolve(paused.Run.ID, c.flag)
		codeOf(t, 10, binary, dir, "runs", "resolve", paused.Run.ID, "remove", "--skip", "--config", config)
		if got := resume(paused.Run.ID); got.Steps["remove"].Status != c.status || got.Run.Status != "succeeded" {
			t.Errorf("%s gave %+v", c.flag, got)
		}
	}
}

func mkdir(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(dir+"/"+name, 0o755); err != nil {
		t.Fatal(err)
	}
}
