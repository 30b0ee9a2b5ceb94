package view

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// fieldsOf are the fields of what a step asks.
func fieldsOf(step runs.Step) []workspace.FormField {
	if len(step.Form) == 0 {
		return nil
	}
	fields, _ := workspace.FormOf(step.Form) // who takes the answer tells what is wrong with it
	return slices.DeleteFunc(fields, func(field workspace.FormField) bool { return field.Name == "" })
}

// formYAML is the form of a step for an editor: each field with what it takes, and its
// default.
func formYAML(step runs.Step) string {
	var text strings.Builder
	for _, line := range term.WrapWords(term.Clean(step.Path+": "+step.Message), 78) {
		fmt.Fprintf(&text, "# %s\n", line)
	}
	text.WriteString("# Save the form and leave the editor; then y approves. An empty file takes nothing.\n")
	for _, field := range fieldsOf(step) {
		text.WriteByte('\n')
		if field.Doc != "" {
			for _, line := range term.WrapWords(term.Clean(field.Doc), 78) {
				fmt.Fprintf(&text, "# %s\n", line)
			}
		}
		fmt.Fprintf(&text, "# %s\n", fieldTakes(field))
		switch {
		case field.Default != nil:
			fmt.Fprintf(&text, "%s: %s\n", field.Name, field.Default)
		case field.Required:
			fmt.Fprintf(&text, "%s:\n", field.Name)
		default:
			fmt.Fprintf(&text, "# %s:\n", field.Name)
		}
	}
	return text.String()
}

// readForm reads what formYAML has become. The error says all that is wrong.
func readForm(step runs.Step, text string) (map[string]workspace.Input, error) {
	given, problems := workspace.ReadInputs("form", []byte(text))
	var wrong []string
	for _, problem := range problems {
		wrong = append(wrong, fmt.Sprintf("line %d: %s", problem.Pos.Line, problem.Message))
	}
	if len(wrong) == 0 {
		for _, field := range fieldsOf(step) { // a name without a value is not filled in
			if input, ok := given[field.Name]; ok && len(input.JSON) == 0 && input.Text == "" {
				delete(given, field.Name)
			}
		}
		faults, err := workspace.CheckForm(step.Form, given)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(faults)) {
			wrong = append(wrong, name+": "+faults[name].Message)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return given, nil
}
