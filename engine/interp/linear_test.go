package interp_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// sequence is n steps, each with a condition on the one before.
func sequence(n int) *plan.Workflow {
	steps := []plan.Step{enginetest.Do("s0", "svc.read", nil)}
	for i := 1; i < n; i++ {
		condition := fmt.Sprintf("steps.s%d.outputs.n > 0", i-1)
		steps = append(steps, enginetest.Do(fmt.Sprintf("s%d", i), "svc.read", nil, enginetest.If(condition)))
	}
	w := enginetest.Workflow()
	for i := range steps { // linked here: the general way looks at all pairs
		if i > 0 {
			steps[i].Needs = []string{steps[i-1].ID}
		}
	}
	w.Steps = steps
	return w
}

func fanOut(n int) *plan.Workflow {
	return enginetest.Workflow(enginetest.Each("each", fmt.Sprintf("${{ 1..%d }}", n), []plan.Step{
		enginetest.Do("get", "svc.read", map[string]any{"value": "${{ item }}"}),
	}, enginetest.Parallel(16), enginetest.Collect("${{ steps.get.outputs.n }}")))
}

// drive answers every call at once and returns how long the Machine took.
func drive(t testing.TB, w *plan.Workflow) time.Duration {
	program, err := interp.Compile(w)
	if err != nil {
		t.Fatal(err)
	}
	m := program.NewMachine()
	at := enginetest.Begin()
	answer := &plan.Completed{Output: json.RawMessage(`{"n":1}`)}
	began := time.Now()
	commands, err := m.Apply(journal.Event{Kind: journal.Started, At: at, Start: &journal.Start{RunID: "r", Inputs: json.RawMessage(`{}`)}})
	for queue := commands; len(queue) > 0; queue = queue[1:] {
		if err != nil {
			t.Fatal(err)
		}
		if queue[0].Kind != journal.CommandCall {
			continue
		}
		commands, err = m.Apply(journal.Event{Kind: journal.Completed, At: at, Path: queue[0].Path, Completed: answer})
		m.Changes()
		queue = append(queue, commands...)
	}
	took := time.Since(began)
	if status, _ := m.Status(); status != plan.RunSucceeded {
		t.Fatalf("the run is %s: %v", status, m.Error())
	}
	return took
}

// TestS2lTimeGrowsLinearly is about the shape, not the speed: ten times the
// work may take thirty times as long on a busy machine, a hundred means that
// something walks over all steps.
func TestS2lTimeGrowsLinearly(t *testing.T) {
	for name, make := range map[string]func(int) *plan.Workflow{"in sequence": sequence, "fanned out": fanOut} {
		t.Run(name, func(t *testing.T) {
			best := func(n int) time.Duration {
				least := time.Hour
				for range 5 {
					least = min(least, drive(t, make(n)))
				}
				return least
			}
			small, large := best(300), best(3000)
			t.Logf("300: %s, 3000: %s, per step %s", small, large, large/3000)
			if large > 30*small {
				t.Errorf("300 steps take %s, 3000 take %s", small, large)
			}
		})
	}
}

func BenchmarkStepInSequence(b *testing.B) {
	w := sequence(1000)
	for b.Loop() {
		drive(b, w)
	}
}
