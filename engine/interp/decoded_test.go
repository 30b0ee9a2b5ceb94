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
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// rowsOf is an answer of n small objects.
func rowsOf(n int) json.RawMessage {
	return json.RawMessage(`{"rows":[` + strings.Repeat(`{"n":1},`, n-1) + `{"n":2}]}`)
}

// TestIssue13_02OutputsThatAreTooLargeToReadFailTheStep: one that reads them, not
// the one that they are of. Runs of older programs go on as they did.
func TestIssue13_02OutputsThatAreTooLargeToReadFailTheStep(t *testing.T) {
	const large, small = 400_000, 1000
	type reading struct {
		rows, version int
		expression    string
		want          runs.Status
	}
	readings := suitesize.Part(t, []reading{ // each takes its time
		{large, interp.Version, "len(steps.a.outputs.rows)", runs.RunFailed},
		{large, interp.Version, "len(steps.a.outputs.rows ?? [])", runs.RunFailed},
		{large, interp.Version, "len(steps.a.outputs)", runs.RunFailed},
		{large, interp.Version, "len(steps.a)", runs.RunFailed},
		{large, interp.Version, "len(values(steps))", runs.RunFailed},
		{large, interp.Version, `len(steps["a"].outputs.rows)`, runs.RunFailed},
		{large, interp.Version, "steps.a.status", runs.RunSucceeded},
		{large, 3, "len(steps.a.outputs.rows)", runs.RunSucceeded},
	})
	readings = append(readings, []reading{
		{small, interp.Version, "len(steps.a.outputs.rows)", runs.RunSucceeded},
		{small, interp.Version, "steps.a?.outputs?.rows[999].n", runs.RunSucceeded},
		{small, interp.Version, `steps["a"]["outputs"]["rows"][0].n`, runs.RunSucceeded},
		{small, interp.Version, "let s = steps; s.a.outputs.rows[0].n", runs.RunSucceeded},
		{small, interp.Version, "let s = steps.a; s.outputs.rows[0].n", runs.RunSucceeded},
		{small, interp.Version, `len(toJSON(steps.a)) > 100`, runs.RunSucceeded},
		{small, interp.Version, `len(filter(values(steps), #.outputs.rows[0].n == 1))`, runs.RunSucceeded},
	}...)
	for _, c := range readings {
		w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil), enginetest.Let("b", "n", "${{ "+c.expression+" }}"))
		for _, floor := range []int64{0, 1} { // with room for decoded answers, and with none
			if c.rows == large && floor > 0 {
				continue // the same, and it takes its time
			}
			m := newMachine(t, w)
			m.KeepDecoded(floor)
			apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: c.version}})
			apply(t, m, journal.Event{Kind: journal.Completed, Path: "a", Completed: &runs.Completed{Output: rowsOf(c.rows)}})
			status, _ := m.Status()
			if status != c.want {
				t.Errorf("%s of %d rows, version %d: the run is %s, want %s: %v", c.expression, c.rows, c.version, status, c.want, m.Error())
			}
			if failure := m.Error(); c.want == runs.RunFailed && failure != nil && (failure.Reason != quota.ReasonLimit || failure.Step != "b") {
				t.Errorf("%s: it fails with %+v", c.expression, failure)
			}
		}
	}
}

// TestDecodedOutputsAreReadAnew: what was dropped for want of room is the same when
// it is read again.
func TestDecodedOutputsAreReadAnew(t *testing.T) {
	steps := []plan.Step{}
	for i := range 4 {
		steps = append(steps, enginetest.Do(fmt.Sprintf("a%d", i), "svc.read", nil))
	}
	sum := "steps.a0.outputs.rows[0].n + steps.a1.outputs.rows[1].n + steps.a2.outputs.rows[2].n + steps.a3.outputs.rows[9999].n"
	steps = append(steps, enginetest.Let("b", "n", "${{ "+sum+" }}"), enginetest.Let("c", "n", "${{ steps.b.outputs.n + "+sum+" }}"))
	m := newMachine(t, enginetest.Output(enginetest.Workflow(steps...), "n", "${{ steps.c.outputs.n }}"))
	m.KeepDecoded(1)
	start(t, m)
	for i := range 4 {
		apply(t, m, journal.Event{Kind: journal.Completed, Path: fmt.Sprintf("a%d", i), Completed: &runs.Completed{Output: rowsOf(10_000)}})
	}
	if got := string(m.Outputs()["n"]); got != "10" {
		t.Errorf("the sum is %s: %v", got, m.Error())
	}
}
