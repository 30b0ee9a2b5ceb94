//go:build linux

package shutdown

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const fragileSteps = `flowrun: v1
name: fragile
steps:
  - id: tries
    foreach: ${{ 1..5 }}
    as: n
    max_parallel: 1
    steps: [{uses: worker.fragile, with: {ledger: %[1]q, key: try}, retry: {attempts: 1}, on_error: continue}]
  - {id: last, uses: worker.fragile, with: {ledger: %[1]q, key: last}, retry: {attempts: 1}}
`

// TestP18AnOpenCircuitIsSaidAndResumedAfter: a plugin that crashed five times is
// not started again at once. The step says so and when it is tried again; a resume
// goes on with it once it is mended.
func TestP18AnOpenCircuitIsSaidAndResumedAfter(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.write("fragile.yaml", fmt.Sprintf(fragileSteps, p.ledger))
	if err := os.WriteFile(p.ledger+".broken", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := p.start("run", "fragile.yaml", "-o", "json")
	code, err := run.end(time.Minute)
	var result struct {
		Run   struct{ ID string }
		Error struct {
			Kind, Message, Reason string
			RetryAfter            float64 `json:"retry_after_s"`
		}
	}
	if err != nil || code != 5 || json.Unmarshal(run.stdout.Bytes(), &result) != nil {
		t.Fatalf("exit %d, %v\n%s", code, err, run.said())
	}
	for _, want := range []string{"plugin worker: it crashed 5 times in 10 minutes and is not started again before ", "exit status 9"} {
		if !strings.Contains(result.Error.Message, want) {
			t.Errorf("the step says %q, want %q in it", result.Error.Message, want)
		}
	}
	if result.Error.Reason != "circuit_open" || result.Error.Kind != "unavailable" || result.Error.RetryAfter < 300 {
		t.Errorf("the error is %+v", result.Error)
	}
	if err := os.Remove(p.ledger + ".broken"); err != nil {
		t.Fatal(err)
	}
	resume := p.start("runs", "resume", result.Run.ID, "-o", "json")
	if code, err := resume.end(30 * time.Second); err != nil || code != 0 {
		t.Errorf("resume: exit %d, %v\n%s", code, err, resume.said())
	}
	if got := p.count()["end last"]; got != 1 {
		t.Errorf("the last step ended %d times, want 1", got)
	}
}
