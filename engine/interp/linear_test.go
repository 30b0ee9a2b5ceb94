package interp_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
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

// drive answers every call at once.
func drive(t testing.TB, w *plan.Workflow) {
	program, err := interp.Compile(w)
	if err != nil {
		t.Fatal(err)
	}
	m := program.NewMachine()
	at := enginetest.Begin()
	answer := &runs.Completed{Output: json.RawMessage(`{"n":1}`)}
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
	if status, _ := m.Status(); status != runs.RunSucceeded {
		t.Fatalf("the run is %s: %v", status, m.Error())
	}
}

// TestS2lMemoryGrowsLinearly is about the shape: what is made for each step must
// not depend on how many steps there are. Its time is the benchmarks' matter.
func TestS2lMemoryGrowsLinearly(t *testing.T) {
	for name, make := range map[string]func(int) *plan.Workflow{"in sequence": sequence, "fanned out": fanOut} {
		t.Run(name, func(t *testing.T) {
			bytes := func(n int) uint64 {
				workflow := make(n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				drive(t, workflow)
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			small, large := bytes(300), bytes(3000)
			t.Logf("300: %d bytes, 3000: %d bytes, per step %d", small, large, large/3000)
			if large > 15*small {
				t.Errorf("300 steps make %d bytes, 3000 make %d", small, large)
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
