//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/tasks/taskssim"
)

const ledgerWorkflow = `flowrun: v1
name: ledger
inputs: {fail: {type: boolean, default: false}, product: {type: string, default: automations}}
steps:
  - id: ledger
    uses: tasks.usage_history
    with: {product: "${{ inputs.product }}"}
    paginate: {max_pages: 50}
    incremental: {cursor: ledger}
  - uses: core.assert
    with: {that: "${{ not inputs.fail }}"}
outputs:
  new: ${{ map(steps.ledger.outputs.items, get(#, "note")) }}
`

// TestRule13RunsReadOnlyWhatIsNew: the watermark of the service's ledger moves
// with the success of a run alone.
func TestRule13RunsReadOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	sim := taskssim.New(taskssim.Options{})
	server := httptest.NewServer(sim)
	defer server.Close()
	p := &ledgerProject{t: t, binary: buildBinary(t), dir: t.TempDir()}
	write(t, p.dir, "flowrun.yaml", fmt.Sprintf("connections:\n  tasks:\n    plugin: tasks\n    config: {base_url: %q, token: \"${{ secrets.T }}\"}\n    rate: 1000/1s\n", server.URL))
	write(t, p.dir, "ledger.yaml", ledgerWorkflow)
	at := time.Now().Add(time.Hour)

	if got := p.run(0); len(got) < 100 {
		t.Fatalf("the first run read %d entries, want all", len(got))
	}
	if got := p.run(0); len(got) != 0 {
		t.Errorf("nothing is new, and the second run read %v", got)
	}
	sim.AddRun(at, "one")
	sim.AddRun(at, "two") // of the same moment
	p.run(5, "-i", "fail=true")
	failed := p.newest()
	if got := p.run(0); strings.Join(got, " ") != "two one" {
		t.Errorf("after a failed run %v were read", got)
	}
	for i := range 120 { // over several pages
		sim.AddRun(at.Add(time.Duration(i+1)*time.Second), fmt.Sprint(i))
	}
	if got := p.run(0); len(got) != 120 || got[0] != "119" || got[119] != "0" {
		t.Errorf("%d entries are new: %v", len(got), got)
	}

	_, problems := p.flowrun(10, "runs", "resume", failed)
	if !strings.Contains(problems, "the cursor `ledger` has moved since run "+failed+" read it") || !strings.Contains(problems, "--discard-writes") {
		t.Errorf("resume says %s", problems)
	}
	p.flowrun(5, "runs", "resume", failed, "--discard-writes") // it fails again as it must, and writes nothing
	if got := p.run(0); len(got) != 0 {
		t.Errorf("after that %v are new", got)
	}

	p.run(0, "-i", "product=other")
	logs, _ := p.flowrun(0, "runs", "logs", p.newest())
	if !strings.Contains(logs, "other parameters") {
		t.Errorf("no warning of a new cursor: %s", logs)
	}
	sim.AddRun(at.Add(time.Hour), "late")
	if got := p.run(0); strings.Join(got, " ") != "late" {
		t.Errorf("the old cursor was not kept: %v", got)
	}
	cursors, _ := p.flowrun(0, "state", "cursors", "ledger", "-o", "json")
	var page struct {
		Items []struct{ Name, Watermark, Run string }
	}
	if err := json.Unmarshal([]byte(cursors), &page); err != nil || len(page.Items) != 1 || page.Items[0].Name != "ledger" || page.Items[0].Run != p.newest() {
		t.Errorf("cursors are %s (%v)", cursors, err)
	}
	p.flowrun(0, "state", "reset", "ledger", "ledger")
	if got := p.run(0); len(got) < 200 {
		t.Errorf("after a reset %d entries were read, want all", len(got))
	}
}

// ledgerProject is a project with its binary.
type ledgerProject struct {
	t           *testing.T
	binary, dir string
}

// flowrun runs a command and wants its exit code.
func (p *ledgerProject) flowrun(want int, args ...string) (out, problems string) {
	p.t.Helper()
	out, problems, got := flowrunHere(p.t, p.binary, p.dir, []string{"FLOWRUN_SECRET_T=token"}, args...)
	if got != want {
		p.t.Fatalf("flowrun %v exits %d, want %d\n%s%s", args, got, want, out, problems)
	}
	return out, problems
}

// run runs the workflow and returns the notes of what it read.
func (p *ledgerProject) run(want int, flags ...string) []string {
	p.t.Helper()
	out, _ := p.flowrun(want, append([]string{"run", "ledger.yaml", "-o", "json"}, flags...)...)
	var result struct{ Outputs struct{ New []string } }
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		p.t.Fatalf("run printed %s: %v", out, err)
	}
	return result.Outputs.New
}

func (p *ledgerProject) newest() string {
	p.t.Helper()
	out, _ := p.flowrun(0, "runs", "--limit", "1", "-o", "json")
	return firstID(out)
}
