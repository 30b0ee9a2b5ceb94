package interp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// A run that began before keeps to what it did: its journal holds what followed.
func TestIssue15_2_NarrowedSchemasOfRunsOfBefore(t *testing.T) {
	large := `{"n":7,"value":"` + strings.Repeat("x", 9<<20) + `"}` // too large to be decoded when it comes
	for _, output := range []string{`{"n":7}`, large} {
		for version, want := range map[int]runs.Status{5: runs.RunSucceeded, interp.Version: runs.RunFailed} {
			m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.read", nil, enginetest.Form(`{"type":"object","properties":{"n":{"maximum":3,"type":"integer"}}}`), enginetest.Retry(1, 0))))
			apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", Interpreter: version}})
			apply(t, m, completed("a", output))
			if status, _ := m.Status(); status != want {
				t.Errorf("version %d, %d bytes: %s, want %s: %v", version, len(output), status, want, m.Error())
			}
		}
	}
}
