package workflows_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// decide answers a step that waits for a person.
func decide(t *testing.T, e *engine.Engine, run, step string, act engine.Act, form map[string]workspace.Input) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := e.Decide(t.Context(), run, step, act, engine.DecideRequest{By: "robin", Form: form})
		var early *fault.ConflictError
		switch {
		case err == nil:
			return
		case !errors.As(err, &early) || time.Now().After(deadline):
			t.Fatalf("%s %s: %v", act, step, err)
		}
	}
}

func approving(t *testing.T, form map[string]workspace.Input) func(*engine.Engine, string) {
	return func(e *engine.Engine, run string) { decide(t, e, run, "approve", engine.ActApprove, form) }
}

func rejecting(t *testing.T) func(*engine.Engine, string) {
	return func(e *engine.Engine, run string) { decide(t, e, run, "approve", engine.ActReject, nil) }
}

// mustSucceed returns the outputs of a run that succeeded.
func mustSucceed(t *testing.T, result *runs.Result) map[string]json.RawMessage {
	t.Helper()
	if result.Run.Status != runs.RunSucceeded {
		t.Fatalf("%s ended as %s: %v", result.Run.Workflow, result.Run.Status, result.Error)
	}
	return result.Outputs
}

func setState(t *testing.T, e *engine.Engine, workflow, name, value string) {
	t.Helper()
	if _, err := e.SetState(t.Context(), memory.StateRequest{Workflow: workflow, Name: name, Value: workspace.Input{JSON: json.RawMessage(value)}}); err != nil {
		t.Fatal(err)
	}
}

func TestDNSDriftTellsWhatChanged(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	inputs := map[string]workspace.Input{"domains": {JSON: json.RawMessage(`["golang.org"]`)}, "types": {JSON: json.RawMessage(`["A","MX"]`)}}
	run := func() map[string]json.RawMessage {
		return mustSucceed(t, endIn(t, e, "dns-drift.yaml", inputs, nil))
	}
	if outputs := run(); decode[int](t, outputs["asked"]) != 2 || len(decode[[]any](t, outputs["changes"])) != 0 {
		t.Errorf("the first run only remembers: %s", outputs["changes"])
	}
	if changes := decode[[]any](t, run()["changes"]); len(changes) != 0 {
		t.Errorf("nothing has changed: %v", changes)
	}
	items, err := e.State(t.Context(), "dns-drift", "seen")
	if err != nil {
		t.Fatal(err)
	}
	seen := decode[map[string][]string](t, items[0].Value)
	now := seen["golang.org A"]
	seen["golang.org A"] = []string{"192.0.2.66"}
	changed, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	setState(t, e, "dns-drift", "seen", string(changed))
	type change struct {
		Records string   `json:"records"`
		Gone    []string `json:"gone"`
		Came    []string `json:"came"`
	}
	changes := decode[[]change](t, run()["changes"])
	if len(changes) != 1 || changes[0].Records != "golang.org A" || len(changes[0].Gone) != 1 || changes[0].Gone[0] != "192.0.2.66" || len(changes[0].Came) != len(now) {
		t.Errorf("changes %+v", changes)
	}
	if again := decode[[]any](t, run()["changes"]); len(again) != 0 {
		t.Errorf("a change is told once: %v", again)
	}
}

func TestReferrerSpike(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	quiet := mustSucceed(t, endIn(t, e, "referrer-spike.yaml", nil, nil))
	if decode[bool](t, quiet["spike"]) {
		t.Error("a spike without anything to compare with")
	}
	setState(t, e, "referrer-spike", "counts", `[9, 8, 10]`)
	spike := mustSucceed(t, endIn(t, e, "referrer-spike.yaml", nil, nil))
	if !decode[bool](t, spike["spike"]) || decode[string](t, spike["referrer"]) == "" || decode[float64](t, spike["usual"]) != 9 {
		t.Errorf("outputs %s %s %s", spike["spike"], spike["referrer"], spike["usual"])
	}
	items, err := e.State(t.Context(), "referrer-spike", "counts")
	if err != nil {
		t.Fatal(err)
	}
	if counts := decode[[]int](t, items[0].Value); len(counts) != 4 {
		t.Errorf("counts %v", counts)
	}
}

// Whoever was invited is never invited again; who was refused is asked about again.
func TestOnboardFromDirectory(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	inputs := map[string]workspace.Input{"most": {Text: "5"}, "invite_existing": {Text: "true"}}
	run := func(act func(*engine.Engine, string)) *runs.Result {
		return endIn(t, e, "onboard-from-directory.yaml", inputs, act)
	}
	if refused := run(rejecting(t)); refused.Run.Status != runs.RunFailed || refused.Error == nil || refused.Error.Kind != plan.KindDenied {
		t.Fatalf("a refusal ends as %s: %v", refused.Run.Status, refused.Error)
	}
	first := decode[[]string](t, mustSucceed(t, run(approving(t, nil)))["invited"])
	second := decode[[]string](t, mustSucceed(t, run(approving(t, nil)))["invited"])
	if len(first) != 5 || len(second) != 5 {
		t.Fatalf("invited %v, then %v", first, second)
	}
	for i := range first {
		if first[i] == second[i] {
			t.Errorf("%s was invited twice", first[i])
		}
	}
}

func TestOffboardCleanup(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	if refused := endIn(t, e, "offboard-cleanup.yaml", nil, rejecting(t)); refused.Run.Status != runs.RunFailed {
		t.Fatalf("a refusal ends as %s", refused.Run.Status)
	}
	outputs := mustSucceed(t, endIn(t, e, "offboard-cleanup.yaml", nil, approving(t, nil)))
	if deleted := decode[[]string](t, outputs["deleted"]); decode[int](t, outputs["left"]) == 0 || len(deleted) != 1 || deleted[0] != "user009@example.com" {
		t.Errorf("left %s, deleted %v", outputs["left"], deleted)
	}
	again := mustSucceed(t, endIn(t, e, "offboard-cleanup.yaml", nil, nil))
	if deleted := decode[[]string](t, again["deleted"]); len(deleted) != 0 {
		t.Errorf("deleted twice: %v", deleted)
	}
}

// The second run exports only what was booked since the first.
func TestSpendGuard(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	budget := func(amount string) map[string]workspace.Input {
		return map[string]workspace.Input{"budget": {Text: amount}}
	}
	first := mustSucceed(t, endIn(t, e, "spend-guard.yaml", budget("1000000"), nil))
	if decode[int](t, first["new_entries"]) == 0 || string(first["checkout"]) != "null" {
		t.Errorf("%s new entries, checkout %s", first["new_entries"], first["checkout"])
	}
	second := mustSucceed(t, endIn(t, e, "spend-guard.yaml", budget("1000000"), nil))
	if got := decode[int](t, second["new_entries"]); got != 0 {
		t.Errorf("%d entries were exported twice", got)
	}
	over := mustSucceed(t, endIn(t, e, "spend-guard.yaml", budget("0.01"), approving(t, nil)))
	if string(over["checkout"]) == "null" {
		t.Error("the approved top-up gave no checkout")
	}
	refused := mustSucceed(t, endIn(t, e, "spend-guard.yaml", budget("0.01"), rejecting(t)))
	if string(refused["checkout"]) != "null" {
		t.Errorf("a refused top-up was sent: %s", refused["checkout"])
	}
}

func TestLabelHygiene(t *testing.T) {
	t.Parallel()
	e := openEngine(t)
	form := map[string]workspace.Input{"old": {Text: "waiting"}, "new": {Text: "blocked"}}
	outputs := mustSucceed(t, endIn(t, e, "label-hygiene.yaml", nil, approving(t, form)))
	if unknown := decode[[]string](t, outputs["unknown"]); len(unknown) == 0 || decode[string](t, outputs["renamed"]) != "waiting" {
		t.Errorf("unknown %v, renamed %s", unknown, outputs["renamed"])
	}
	kept := mustSucceed(t, endIn(t, e, "label-hygiene.yaml", nil, rejecting(t)))
	if string(kept["renamed"]) != "null" {
		t.Errorf("a refused rename was sent: %s", kept["renamed"])
	}
}
