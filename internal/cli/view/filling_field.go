package view

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// nameOfField is what a field is called; a form that is one value has a field without a name.
func nameOfField(field workspace.FormField) string {
	if field.Name == "" {
		return "value"
	}
	return term.Clean(field.Name)
}

// fieldLine says what a field takes, behind its name.
func fieldLine(field workspace.FormField) string {
	return nameOfField(field) + ": " + fieldTakes(field)
}

// fieldTakes says in one line what a field takes.
func fieldTakes(field workspace.FormField) string {
	parts := append([]string{field.Type}, field.Bounds()...)
	switch field.Kind {
	case workspace.FieldChoice:
		parts[0] = "one of " + strings.Join(textsOf(field.Choices), ", ")
	case workspace.FieldList:
		if len(field.Choices) > 0 {
			parts = append(parts, "of "+strings.Join(textsOf(field.Choices), ", "))
		}
		parts = append(parts, "such as [a, b]")
	case workspace.FieldJSON:
		parts = append(parts, "as YAML")
	case workspace.FieldTime:
		parts = append(parts, "such as 2026-01-31T09:00:00Z")
	case workspace.FieldDuration:
		parts = append(parts, "such as 30s, 6h, 7d")
	case workspace.FieldSecret:
		parts = append(parts, "not shown")
	}
	switch {
	case field.Default != nil && string(field.Default) != "null":
		parts = append(parts, "default "+string(field.Default))
	case field.Default != nil || field.Nullable || !field.Required:
		parts = append(parts, "may be left out")
	}
	return term.Clean(strings.Join(parts, "; "))
}

func textsOf(values []json.RawMessage) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = rawText(value)
	}
	return texts
}

// choice is one of the values that a field can be chosen from.
type choice struct {
	text  string
	input workspace.Input
	out   bool // it leaves the field out
}

// choicesOf are those of a field; nil = it is typed.
func choicesOf(field workspace.FormField) (choices []choice) {
	values := field.Choices
	switch field.Kind {
	case workspace.FieldBoolean:
		values = []json.RawMessage{json.RawMessage("true"), json.RawMessage("false")}
	case workspace.FieldChoice:
	default:
		return nil
	}
	for _, value := range values {
		choices = append(choices, choice{text: rawText(value), input: workspace.Input{JSON: value}})
	}
	if !field.Required && field.Default == nil || field.Nullable {
		choices = append(choices, choice{text: "(none)", out: true})
		if field.Nullable {
			choices[len(choices)-1] = choice{text: "null", input: workspace.Input{JSON: json.RawMessage("null")}}
		}
	}
	return choices
}

// readTyped makes a value of what was typed for a field. Given is false where it is left out:
// its default holds then.
func readTyped(field workspace.FormField, typed string) (input workspace.Input, given bool, err error) {
	text := strings.TrimSpace(typed)
	switch {
	case text == "" && field.Nullable && field.Default == nil:
		return workspace.Input{JSON: json.RawMessage("null")}, true, nil
	case text == "" && !field.Required:
		return input, false, nil
	case text == "" && field.Kind == workspace.FieldText:
		return input, false, errors.New(`it has to be given; "" is an empty text`)
	case text == "":
		return input, false, errors.New("it has to be given: it takes " + field.Type)
	}
	switch field.Kind {
	case workspace.FieldText, workspace.FieldSecret:
		if text == `""` && field.Kind == workspace.FieldText {
			typed = ""
		}
		encoded, err := json.Marshal(typed)
		return workspace.Input{JSON: encoded}, true, err
	case workspace.FieldList, workspace.FieldJSON:
		if field.Kind == workspace.FieldList && !strings.HasPrefix(text, "[") {
			text = "[" + text + "]"
		}
		value, err := workspace.ReadYAML(text)
		return workspace.Input{JSON: value}, true, err
	}
	return workspace.Input{Text: text}, true, nil
}
