package view

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// shownValue is how much of a value stands in a table.
const shownValue = 60

// State prints the values of a workflow's state, one a line.
func (p Page) State(out io.Writer, items []memory.StateItem) {
	list(out, []string{"NAME", "VALUE", "CHANGED", "BY"}, items, func(item memory.StateItem) []string {
		by := who(item.By, item.Run)
		switch {
		case item.Default:
			by = "default"
		case item.Type == "":
			by += ", not declared any more"
		}
		return []string{term.Clean(item.Name), term.Truncate(term.Clean(string(item.Value)), shownValue), p.shortTime(item.At, "-"), by}
	})
}

// StateOfAll prints values of several workflows, one a line.
func (p Page) StateOfAll(out io.Writer, items []memory.StateItem) {
	list(out, []string{"WORKFLOW", "NAME", "VALUE", "CHANGED"}, items, func(item memory.StateItem) []string {
		return []string{term.Clean(item.Workflow), term.Clean(item.Name), term.Truncate(term.Clean(string(item.Value)), shownValue), p.shortTime(item.At, "-")}
	})
}

// PluginStates prints what plugins keep, one scope a line.
func (p Page) PluginStates(out io.Writer, states []services.PluginState) {
	list(out, []string{"PLUGIN", "SCOPE", "KEYS", "SIZE", "OF", "USED"}, states, func(state services.PluginState) []string {
		return []string{term.Clean(state.Plugin), term.Clean(state.Scope), fmt.Sprint(state.Keys), Size(state.Bytes), Size(state.MaxBytes), p.shortTime(state.UsedAt, "-")}
	})
}

// Cursors prints stored cursors, one a line.
func (p Page) Cursors(out io.Writer, items []memory.CursorItem) {
	list(out, []string{"WORKFLOW", "CURSOR", "OF", "WATERMARK", "CHANGED", "BY"}, items, func(item memory.CursorItem) []string {
		return []string{
			term.Clean(item.Workflow), term.Clean(item.Name), term.Clean(item.Identity[:min(len(item.Identity), 8)]),
			term.Truncate(term.Clean(item.Watermark), shownValue), p.shortTime(item.At, "-"), who(item.By, item.Run),
		}
	})
}

// StateChanges prints the history of a value, one change a line.
func (p Page) StateChanges(out io.Writer, changes []memory.StateChange) {
	list(out, []string{"CHANGED", "VALUE", "BY"}, changes, func(change memory.StateChange) []string {
		value := term.Truncate(term.Clean(string(change.Value)), shownValue)
		if change.Reset {
			value = "(reset)"
		}
		return []string{p.Times.Short(change.At), value, who(change.By, change.Run)}
	})
}

// shortTime is a time in a table, none where there is no time.
func (p Page) shortTime(at *time.Time, none string) string {
	if at == nil {
		return none
	}
	return p.Times.Short(*at)
}

// who names the person or the run.
func who(by, run string) string {
	if run != "" {
		return "run " + term.Clean(run)
	}
	return cmp.Or(term.Clean(by), "-")
}
