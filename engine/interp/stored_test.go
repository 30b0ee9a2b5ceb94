package interp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// rowsAnswer is what a step gives that stores so many rows.
func rowsAnswer(rows int) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"value":[`)
	for i := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"note":%q}`, i, strings.Repeat("note ", 10))
	}
	b.WriteString("]}")
	return json.RawMessage(b.String())
}

// storedMachine is a run of a version whose step `a` has given rows, and the commands
// that followed.
func storedMachine(t *testing.T, w *plan.Workflow, version, rows int) (*interp.Machine, []journal.Command) {
	t.Helper()
	m := newMachine(t, w)
	begun := apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: version}})
	for _, command := range begun {
		if command.Kind == journal.CommandCall {
			return m, apply(t, m, journal.Event{Kind: journal.Completed, Path: command.Path, Completed: &runs.Completed{Output: rowsAnswer(rows)}})
		}
	}
	t.Fatal("nothing is called")
	return nil, nil
}

// TestIssue17StoredListsByVersion: a run keeps to how its version counted, so that its
// journal of then leads to the same end.
func TestIssue17StoredListsByVersion(t *testing.T) {
	const rows = "steps.a.outputs.value"
	for expression, reason := range map[string]string{
		"filter(" + rows + ", .id > 10)":                                                "the result is too large (at most 256 KiB)",
		"len(filter(" + rows + ", .id in 1..9000))":                                     "",
		"let ids = map(" + rows + ", .id); len(filter(" + rows + ", not (.id in ids)))": "the expression takes too many steps (at most 100000)",
		"map(" + rows + ", {{id: .id, note: .note}})":                                   "the result is too large (at most 256 KiB)",
	} {
		w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil), enginetest.Let("b", "v", "${{ "+expression+" }}"))
		m, _ := storedMachine(t, w, interp.Version, 9_000)
		if status, _ := m.Status(); reason != "" && status != runs.RunSucceeded {
			t.Errorf("%s: %v", expression, m.Error())
		}
		old, _ := storedMachine(t, w, 7, 9_000)
		if status, _ := old.Status(); reason != "" && (status != runs.RunFailed || !strings.HasSuffix(old.Error().Message, reason)) {
			t.Errorf("%s of version 7: %s %v, want %s", expression, status, old.Error(), reason)
		}
	}
}

// TestIssue17LimitsOfThePlan: what flowrun.yaml set when the plan was made holds for
// expressions and loops of the run.
func TestIssue17LimitsOfThePlan(t *testing.T) {
	for _, limits := range []*plan.Limits{nil, {ExpressionSteps: 2_000_000, ExpressionResult: 4 << 20, LoopItems: 20_000}} {
		w := enginetest.Workflow(
			enginetest.Do("a", "svc.read", nil),
			enginetest.Let("b", "v", `${{ map(1..60000, "abcd") }}`),
			enginetest.With(enginetest.Let("c", "v", `${{ count(1..1000, any(1..200, # < 0)) }}`), enginetest.Needs("a")),
			enginetest.With(enginetest.Each("d", "${{ steps.a.outputs.value }}", []plan.Step{enginetest.Let("each", "v", "${{ index }}")}), enginetest.Needs("a")),
		)
		w.Limits = limits
		encoded, err := w.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if w, err = plan.Decode(encoded); err != nil {
			t.Fatal(err)
		}
		m, _ := storedMachine(t, w, interp.Version, 12_000)
		for _, step := range m.Steps() {
			wanted := runs.StepSucceeded
			if limits == nil && (step.Path == "b" || step.Path == "c" || step.Path == "d") {
				wanted = runs.StepFailed
			}
			if step.Status != wanted && !strings.Contains(step.Path, "[") {
				t.Errorf("with %+v step %s is %s: %v", limits, step.Path, step.Status, step.Error)
			}
			if step.Error != nil && !strings.Contains(step.Error.Hint.Text, "in flowrun.yaml raises it, up to") {
				t.Errorf("step %s says %s", step.Path, step.Error.Hint.Text)
			}
		}
	}
}

// TestIssue17ALetOfStoredListsHasNoText of its own: who wants it is given it, and views
// say how long it is.
func TestIssue17ALetOfStoredListsHasNoText(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil), enginetest.Let("b", "v", "${{ filter(steps.a.outputs.value, .id >= 10) }}"), enginetest.Let("c", "v", "${{ filter(steps.b.outputs.v, .id < 12) }}"))
	m, _ := storedMachine(t, w, interp.Version, 9_000)
	whole, short := m.Steps(), m.StepsInShort()
	var outputs struct {
		V []struct{ ID int }
	}
	if err := json.Unmarshal(whole[1].Outputs, &outputs); err != nil || len(outputs.V) != 8_990 || outputs.V[0].ID != 10 {
		t.Errorf("the whole of it: %v, %d rows", err, len(outputs.V))
	}
	if n := int64(len(whole[1].Outputs)); short[1].Outputs != nil || short[1].OutputsBytes < n/2 || short[1].OutputsBytes > 2*n {
		t.Errorf("in short: %d bytes, of %d", short[1].OutputsBytes, n)
	}
	if want := `{"v":[{"id":10,"note":"` + strings.Repeat("note ", 10) + `"},{"id":11,"note":"` + strings.Repeat("note ", 10) + `"}]}`; string(short[2].Outputs) != want {
		t.Errorf("what is short is there: %s", short[2].Outputs)
	}
}
