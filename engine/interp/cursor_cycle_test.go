package interp_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestIssue13_08PagesThatGoInACircleEnd: of one, two, three and more cursors, at
// the beginning or later.
func TestIssue13_08PagesThatGoInACircleEnd(t *testing.T) {
	for _, cursors := range [][]string{{"A", "A"}, {"A", "B", "A"}, {"A", "B", "C", "A"}, {"A", "B", "C", "B"}, {"A", "B", "C", "D", "B"}} {
		m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.list", nil, enginetest.Paginate(100, 1000))))
		start(t, m)
		path := "a"
		for i, cursor := range cursors {
			commands := apply(t, m, journal.Event{Kind: journal.Completed, Path: path, Completed: &runs.Completed{
				Output: json.RawMessage(fmt.Sprintf(`{"rows":[%d]}`, i)), NextCursor: cursor,
			}})
			path = fmt.Sprintf("a#page%d", i+2)
			called := false
			for _, command := range commands {
				called = called || command.Kind == journal.CommandCall && command.Path == path
			}
			if last := i == len(cursors)-1; called == last {
				t.Errorf("cursors %q: after %q the next page is asked for: %v", cursors, cursor, called)
			}
		}
		if status, _ := m.Status(); status != runs.RunFailed || m.Error().Reason != "repeated_cursor" {
			t.Errorf("cursors %q: the run is %s, %v", cursors, status, m.Error())
		}
	}
}
