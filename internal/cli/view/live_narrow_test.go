package view

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

const copiedID = "01k8zq4c0vdx3y6t7k9m2n5p8r"

// TestALiveViewNeverCutsWhatOneCopies: at 40, 80 and 200 columns the run's id stands in one
// piece, and the letters of each path are all there, in order.
func TestALiveViewNeverCutsWhatOneCopies(t *testing.T) {
	paths := []string{"fetch", "domains[a-rather-long-name.example.com].whois", "each[" + strings.Repeat("x", 90) + "].ask"}
	for _, width := range []int{20, 40, 80, 200} {
		live, _ := newTestLive(width, 30)
		run := runs.Run{ID: copiedID, Workflow: "a-workflow-with-a-long-name", Status: runs.RunRunning, StartedAt: start}
		live.Apply(engine.Update{Kind: engine.UpdateRun, RunID: run.ID, Run: &run})
		for _, path := range paths {
			step := runs.Step{Path: path, Status: runs.StepWaiting, Wait: string(runs.WaitApproval), Uses: "core.approve"}
			live.model.apply(engine.Update{Kind: engine.UpdateStep, RunID: run.ID, Step: &step})
			live.model.row(path)
		}
		live.Tick(start.Add(time.Second))
		lines := live.lines()
		if width > len(copiedID) && !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, copiedID) }) {
			t.Errorf("width %d: no line has the whole id:\n%s", width, strings.Join(lines, "\n"))
		}
		letters := strings.NewReplacer("\n", "", " ", "").Replace(strings.Join(lines, "\n"))
		for _, r := range live.model.rows {
			if !strings.Contains(letters, r.step.Path) {
				t.Errorf("width %d: %s is cut:\n%s", width, r.step.Path, strings.Join(lines, "\n"))
			}
		}
		for _, line := range lines {
			if width > len(copiedID) && term.Width(line) > width-1 {
				t.Errorf("width %d: a line is wider: %q", width, line)
			}
		}
	}
}

func choices(n int) []runs.Run {
	var items []runs.Run
	for i := range n {
		run := runs.Run{ID: fmt.Sprintf("01k8zq4c0vdx3y6t7k9m2n5%03d", i), Workflow: "weekly-review", Status: runs.RunSucceeded, Trigger: "manual", StartedAt: start.Add(-time.Duration(i) * time.Hour)}
		if i%5 == 3 {
			run.Workflow, run.Status = "digest", runs.RunFailed
		}
		items = append(items, run)
	}
	return items
}

func press(c *Chooser, keys ...term.Key) (chosen *runs.Run, over bool) {
	for _, key := range keys {
		if chosen, over = c.Press(key); over {
			break
		}
	}
	return chosen, over
}

// TestAChooserFiltersAndMoves: what is typed leaves those that have each word of it, the
// arrows move within them, Enter takes the marked one and Esc none.
func TestAChooserFiltersAndMoves(t *testing.T) {
	size := func() (int, int) { return 80, 24 }
	chooser := func() *Chooser {
		return NewChooser(new(bytes.Buffer), size, term.Style{}, "run to show", choices(30), start)
	}
	for name, test := range map[string]struct {
		keys []term.Key
		want int // -1 = none
	}{
		"the first":          {[]term.Key{term.KeyEnter}, 0},
		"the third":          {[]term.Key{term.KeyDown, term.KeyDown, term.KeyDown, term.KeyUp, term.KeyEnter}, 2},
		"not above":          {[]term.Key{term.KeyUp, term.KeyEnter}, 0},
		"not below":          {[]term.Key{term.KeyPageDown, term.KeyPageDown, term.KeyPageDown, term.KeyPageDown, term.KeyEnter}, 29},
		"by words":           {[]term.Key{"F", "a", "i", "l", " ", "d", "i", term.KeyDown, term.KeyEnter}, 8},
		"taken back":         {[]term.Key{"x", term.KeyBackspace, term.KeyEnter}, 0},
		"cleared":            {[]term.Key{"x", "y", term.KeyClear, term.KeyDown, term.KeyEnter}, 1},
		"by its ending":      {[]term.Key{"0", "1", "7", term.KeyEnter}, 17},
		"left":               {[]term.Key{term.KeyEscape}, -1},
		"nothing to be left": {[]term.Key{"z", "z", "z", term.KeyEnter, term.KeyEscape}, -1},
	} {
		chosen, over := press(chooser(), test.keys...)
		if !over || (chosen == nil) != (test.want < 0) || chosen != nil && chosen.ID != choices(30)[test.want].ID {
			t.Errorf("%s: %+v, %v", name, chosen, over)
		}
	}
}

func TestAChooserFitsTheTerminal(t *testing.T) {
	for width, want := range map[int][]string{
		40: {
			"run to show: ▏", "  weekly…  succeeded  0s ago  …9m2n5000", "› weekly…  succeeded  1h ago  …9m2n5001", "2 of 2 · type to filter, ↑ ↓, Enter, E…",
		},
		80: {
			"run to show: ▏", "  weekly-review  succeeded  0s ago  01k8zq4c0vdx3y6t7k9m2n5000", "› weekly-review  succeeded  1h ago  01k8zq4c0vdx3y6t7k9m2n5001",
			"2 of 2 · type to filter, ↑ ↓, Enter, Esc",
		},
	} {
		c := NewChooser(new(bytes.Buffer), func() (int, int) { return width, 24 }, term.Style{}, "run to show", choices(2), start)
		press(c, term.KeyDown)
		if diff := cmp.Diff(want, c.lines()); diff != "" {
			t.Errorf("width %d (-want +got)\n%s", width, diff)
		}
	}
	c := NewChooser(new(bytes.Buffer), func() (int, int) { return 80, 8 }, term.Style{}, "run to show", choices(30), start)
	press(c, slices.Repeat([]term.Key{term.KeyDown}, 12)...)
	lines := c.lines()
	if len(lines) != 7 || !strings.HasPrefix(lines[5], "› ") {
		t.Errorf("of 8 rows:\n%s", strings.Join(lines, "\n"))
	}
}
