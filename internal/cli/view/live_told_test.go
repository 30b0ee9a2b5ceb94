package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

func unavailable(attempt int) *runs.Error {
	return &runs.Error{Kind: plan.KindUnavailable, Message: "refused", Attempt: attempt}
}

// TestPlainTellsARetryOnce: that the next attempt begins was said with the end of the one
// before; the run is not said to wait for it.
func TestPlainTellsARetryOnce(t *testing.T) {
	var out bytes.Buffer
	plain := NewPlain(&out, term.Style{}, Times{})
	plain.Tick(start)
	plain.Apply(runUpdate(runs.RunRunning))
	step := runs.Step{Path: "_2", Uses: "netinfo.whois", Status: runs.StepRunning, Attempts: 1, StartedAt: &start}
	for attempt := 1; attempt < 3; attempt++ {
		step.Status, step.Attempts, step.Error, step.Wait, step.Until = runs.StepRunning, attempt, nil, "", nil
		plain.Apply(stepUpdate(step))
		plain.Apply(runUpdate(runs.RunRunning))
		step.Status, step.Error, step.Wait, step.Until = runs.StepRetrying, unavailable(attempt), fmt.Sprintf("retry %d of 3", attempt+1), after(time.Second)
		plain.Apply(stepUpdate(step))
		plain.Apply(runUpdate(runs.RunWaiting))
	}
	ask := runs.Step{Path: "ask", Uses: runs.CoreApprove, Status: runs.StepWaiting, Wait: string(runs.WaitApproval)}
	plain.Apply(runUpdate(runs.RunRunning))
	plain.Apply(stepUpdate(ask))
	plain.Apply(runUpdate(runs.RunWaiting))
	plain.Close()
	want := `14:03:00 run 01x watch: running
14:03:00 _2 (netinfo.whois) running
14:03:00 _2 (netinfo.whois) retrying · waiting (retry 2 of 3, next 14:03:01) · unavailable: refused
14:03:00 _2 (netinfo.whois) retrying · waiting (retry 3 of 3, next 14:03:01) · attempt 2 · unavailable: refused
14:03:00 ask waiting (approval)
14:03:00 run 01x watch: waiting
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// TestLiveTellsAllThatFailed: each failed step of an item has a line above the block, once;
// the steps that failed stay in a low terminal, and at the end all steps are left.
func TestLiveTellsAllThatFailed(t *testing.T) {
	live, out := newTestLive(80, 10)
	live.Apply(runUpdate(runs.RunRunning))
	for i := range 12 {
		status := runs.StepRunning
		if i == 11 {
			status = runs.StepFailed
		}
		live.Apply(stepUpdate(runs.Step{Path: fmt.Sprintf("step%02d", i), Status: status, Error: unavailable(1)}))
	}
	for range 2 {
		live.Apply(stepUpdate(runs.Step{Path: "step01[a].get", Status: runs.StepFailed, Error: unavailable(3)}))
	}
	live.Tick(start)
	if n := strings.Count(out.String(), "✗ step01[a].get  failed · unavailable: refused"); n != 1 {
		t.Errorf("a failed step of an item is told %d times:\n%s", n, out)
	}
	if lines := strings.Join(live.lines(), "\n"); !strings.Contains(lines, "✗ step11") || !strings.Contains(lines, "more steps") {
		t.Errorf("the failed step has no room:\n%s", lines)
	}
	out.Reset()
	live.Close()
	for i := range 12 {
		if name := fmt.Sprintf("step%02d ", i); strings.Count(out.String(), name) != 1 {
			t.Errorf("%s is not left once:\n%s", name, out)
		}
	}
}
