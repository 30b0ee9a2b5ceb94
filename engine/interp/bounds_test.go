package interp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// timerOf is when the one timer among commands is due.
func timerOf(t *testing.T, commands []journal.Command) time.Time {
	t.Helper()
	for _, command := range commands {
		if command.Timer != nil {
			return command.Timer.At
		}
	}
	t.Fatalf("no timer among %v", paths(commands))
	return time.Time{}
}

func pending(path string, after time.Duration) journal.Event {
	return journal.Event{Kind: journal.Pending, Path: path, Pending: &runs.Pending{RetryAfter: after}}
}

// An answer that is not the last one begins the attempts anew, and is asked for
// again after a second at the earliest.
func TestPollsAreBoundedAndBeginTheAttemptsAnew(t *testing.T) {
	m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.read", nil, enginetest.Retry(3, time.Second))))
	start(t, m)
	wantPaths(t, apply(t, m, failed("a", plan.KindUnavailable)), "timer a!retry2")
	again := apply(t, m, journal.Event{Kind: journal.TimerFired, Path: "a!retry2"})
	if len(again) != 1 || again[0].Call.Attempt != 2 {
		t.Fatalf("the retry is %+v", again)
	}
	if at := timerOf(t, apply(t, m, pending("a", 0))); at != enginetest.Begin().Add(time.Second) {
		t.Errorf("the first poll is due at %s", at)
	}
	polled := apply(t, m, journal.Event{Kind: journal.TimerFired, Path: "a!poll1"})
	if len(polled) != 1 || polled[0].Call.Attempt != 1 {
		t.Errorf("after an answer the call is %+v", polled)
	}
	if at := timerOf(t, apply(t, m, pending("a", time.Hour))); at != enginetest.Begin().Add(time.Hour) {
		t.Errorf("the second poll is due at %s", at)
	}
}

func TestALoopTakesTenThousandItems(t *testing.T) {
	for n, want := range map[int]runs.Status{plan.MaxLoopItems: runs.RunSucceeded, plan.MaxLoopItems + 1: runs.RunFailed} {
		w := enginetest.Workflow(enginetest.Each("l", "${{ inputs.items }}", []plan.Step{enginetest.Let("x", "n", 1)}))
		w.Inputs = json.RawMessage(`{"type":"object","properties":{"items":{"type":"array","items":{}}}}`)
		items, err := json.Marshal(map[string]any{"items": make([]int, n)})
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine(t, w)
		apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: items, Trigger: "manual"}})
		status, _ := m.Status()
		if status != want {
			t.Errorf("with %d items the run is %s, want %s: %v", n, status, want, m.Error())
		}
		if failure := m.Error(); want == runs.RunFailed && (failure == nil || failure.Reason != "limit") {
			t.Errorf("with %d items the run fails with %v", n, failure)
		}
	}
}

// Of the signals that no step waits for yet a thousand are kept, the newest.
func TestEarlySignalsAreBounded(t *testing.T) {
	wait := enginetest.Do("w", "core.wait", map[string]any{"signal": "go"}, enginetest.Form(`{"type":"object","properties":{"n":{"type":"integer"}}}`))
	m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.read", nil), wait))
	start(t, m)
	for n := range 1001 {
		commands := apply(t, m, journal.Event{Kind: journal.Signaled, Signal: &journal.Signal{Name: "go", Payload: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}})
		if dropped := len(commands) > 0; dropped != (n == 1000) {
			t.Fatalf("signal %d gives %v", n, paths(commands))
		}
	}
	apply(t, m, completed("a", `{}`))
	for _, step := range m.Steps() {
		if step.Path == "w" && (step.Status != runs.StepSucceeded || string(step.Outputs) != `{"payload":{"n":1}}`) {
			t.Errorf("the step got %s (%s)", step.Outputs, step.Status)
		}
	}
}

// A question about a lost call is answered by an outcome alone, a call by anything
// but that.
func TestAnswersAreOfTheKindThatWasAskedFor(t *testing.T) {
	m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.ship", nil)))
	start(t, m)
	outcome := func(path string) journal.Event {
		return journal.Event{Kind: journal.Reconciled, Path: path, Outcome: &runs.Outcome{Applied: runs.AppliedFully, Output: json.RawMessage(`{"value":1}`)}}
	}
	wantPaths(t, apply(t, m, outcome("a")))
	wantPaths(t, apply(t, m, journal.Event{Kind: journal.ChildEnded, Path: "a", Child: &journal.Child{RunID: "other"}}))
	wantPaths(t, apply(t, m, failed("a", plan.KindTimeout)), "call a#reconcile")
	wantPaths(t, apply(t, m, completed("a#reconcile", `{"value":2}`)))
	wantPaths(t, apply(t, m, pending("a#reconcile", time.Second)))
	apply(t, m, outcome("a#reconcile"))
	if step := m.Steps()[0]; step.Status != runs.StepSucceeded || string(step.Outputs) != `{"value":1}` {
		t.Errorf("the step is %s with %s", step.Status, step.Outputs)
	}
}

// TestP20TheQuotaOfAJournalIsTheDrivers: `limits.journal` may be larger than 64 MiB.
// Runs of older programs keep the bound that the Machine had.
func TestP20TheQuotaOfAJournalIsTheDrivers(t *testing.T) {
	const steps, size = 5, 16 << 20
	output := json.RawMessage(`{"text":"` + strings.Repeat("x", size) + `"}`)
	for version, want := range map[int]runs.Status{3: runs.RunFailed, interp.Version: runs.RunSucceeded} {
		var all []plan.Step
		for n := range steps {
			all = append(all, enginetest.Do(fmt.Sprintf("s%d", n), "svc.read", nil))
		}
		m := newMachine(t, enginetest.Workflow(all...))
		apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: version}})
		for n := range steps {
			if status, _ := m.Status(); status.Ended() {
				break
			}
			apply(t, m, journal.Event{Kind: journal.Completed, Path: fmt.Sprintf("s%d", n), Completed: &runs.Completed{Output: output}})
		}
		if status, _ := m.Status(); status != want {
			t.Errorf("version %d: %s, want %s: %v", version, status, want, m.Error())
		}
	}
}
