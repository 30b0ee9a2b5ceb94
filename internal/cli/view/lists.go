package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Plugins prints plugins, one a line, with those that can't be described.
func (p Page) Plugins(out io.Writer, plugins []workspace.PluginInfo) {
	list(out, []string{"PLUGIN", "VERSION", "ACTIONS", "SOURCE", "ABOUT"}, plugins, func(plugin workspace.PluginInfo) []string {
		about := firstLine(plugin.Doc)
		if plugin.Error != "" {
			about = "error: " + firstLine(plugin.Error)
		} else if !plugin.Missing.Empty() {
			about += " (not granted: " + plugin.Missing.String() + ")"
		}
		return []string{plugin.Name, term.Clean(plugin.Version), fmt.Sprint(plugin.Actions), term.Clean(plugin.Source), term.Clean(about)}
	})
}

// Actions prints actions, one a line, with the fields of their inputs.
func (p Page) Actions(out io.Writer, actions []*plan.Action) {
	list(out, []string{"ACTION", "EFFECT", "INPUTS", "ABOUT"}, actions, func(action *plan.Action) []string {
		return []string{action.FullName(), string(action.Effect), term.Truncate(inputNames(action.Input), 50), term.Clean(firstLine(action.Doc))}
	})
}

// inputNames lists the fields of an action's input, required ones with `!`.
func inputNames(schema json.RawMessage) string {
	var object struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &object) != nil || len(object.Properties) == 0 {
		return ""
	}
	var names []string
	for _, name := range objectKeys(object.Properties) {
		if slices.Contains(object.Required, name) {
			name += "!"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// objectKeys returns the keys of a JSON object in written order.
func objectKeys(raw json.RawMessage) []string {
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	var keys []string
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return keys
		}
		key, _ := token.(string)
		keys = append(keys, key)
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return keys
		}
	}
	return keys
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Events prints stored records, one a line.
func (p Page) Events(out io.Writer, records []workspace.Event) {
	list(out, []string{"SEQ", "TIME", "EVENT", "STEP", "DETAILS"}, records, p.eventRow)
}

func (p Page) eventRow(record workspace.Event) []string {
	event := record.Event
	var details []string
	switch {
	case event.Failed != nil:
		details = append(details, errorLine(event.Failed))
	case event.Pending != nil:
		details = append(details, "pending: "+event.Pending.Message)
	case event.Completed != nil && event.Completed.Cached:
		details = append(details, "cached")
	}
	details = append(details, recoveryDetails(event.Interrupted, event.Unsent, event.Outcome)...)
	if event.Replan != nil {
		details = append(details, "plan "+event.Replan.PlanHash[:min(12, len(event.Replan.PlanHash))])
	}
	if event.By != "" {
		details = append(details, "by "+event.By)
	}
	for i, command := range record.Commands {
		if i == 3 {
			details = append(details, fmt.Sprintf("… %d more", len(record.Commands)-i))
			break
		}
		details = append(details, strings.TrimSpace("→ "+string(command.Kind)+" "+command.Path))
	}
	return []string{
		fmt.Sprint(record.Seq), p.Times.Clock(event.At), string(event.Kind), term.Clean(event.Path),
		term.Truncate(term.Clean(strings.Join(details, ", ")), 100),
	}
}

// recoveryDetails says what a stop of the engine left behind, and what a plugin
// said of a lost call.
func recoveryDetails(interrupted, unsent []string, outcome *runs.Outcome) []string {
	var details []string
	if len(interrupted) > 0 {
		details = append(details, "in flight at a crash: "+strings.Join(interrupted, " "))
	}
	if len(unsent) > 0 {
		details = append(details, "never sent: "+strings.Join(unsent, " "))
	}
	if outcome != nil {
		text := "outcome " + string(outcome.Applied)
		if outcome.Applied == "" {
			text += string(runs.AppliedUnknown)
		}
		if outcome.Note != "" {
			text += " (" + outcome.Note + ")"
		}
		details = append(details, text)
	}
	return details
}
