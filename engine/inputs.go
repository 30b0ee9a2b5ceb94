package engine

import (
	"encoding/json"
	"fmt"
	"sort"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// convertInputs makes the complete inputs of a run from what was given: typed
// by the workflow's inputs, defaults filled in. The error is an *InputError.
func convertInputs(workflow *plan.Workflow, given map[string]Input) (json.RawMessage, error) {
	inputs := &schema.Type{Kind: schema.Object}
	if len(workflow.Inputs) > 0 {
		parsed, err := schema.FromJSON(workflow.Inputs)
		if err != nil {
			return nil, fmt.Errorf("read inputs of %s: %w", workflow.Name, err)
		}
		inputs = parsed
	}
	if err := refuseUnknownInputs(workflow, inputs, given); err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	for _, field := range inputs.Fields {
		value, ok, err := convertInput(field, given)
		if err != nil {
			return nil, err
		}
		if ok {
			values[field.Name] = value
		}
	}
	return json.Marshal(values)
}

func refuseUnknownInputs(workflow *plan.Workflow, inputs *schema.Type, given map[string]Input) error {
	names := make([]string, len(inputs.Fields))
	for i, field := range inputs.Fields {
		names[i] = field.Name
	}
	var unknown []string
	for name := range given {
		if _, known := inputs.Field(name); !known {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	sort.Strings(unknown)
	return &InputError{
		Input:   unknown[0],
		Message: fmt.Sprintf("workflow %s has no input `%s`", workflow.Name, unknown[0]),
		Hint:    diag.DidYouMean(unknown[0], names),
	}
}

func convertInput(field schema.Field, given map[string]Input) (json.RawMessage, bool, error) {
	input, ok := given[field.Name]
	switch {
	case !ok && field.Type.Default != nil:
		return field.Type.Default, true, nil
	case !ok && !field.Required:
		return json.RawMessage("null"), true, nil
	case !ok:
		return nil, false, &InputError{
			Input:   field.Name,
			Message: fmt.Sprintf("input `%s` is missing: it takes %s", field.Name, field.Type.Article()),
			Hint:    fmt.Sprintf("give it with -i %s=VALUE", field.Name),
		}
	}
	value := input.JSON
	if len(value) == 0 {
		converted, err := convertText(field.Type, input.Text)
		if err != nil {
			return nil, false, wrongInput(field, err)
		}
		value = converted
	}
	if _, err := field.Type.DecodeExact(value); err != nil {
		return nil, false, wrongInput(field, err)
	}
	return value, true, nil
}

// convertText reads the text of -i NAME=TEXT: scalars as a plain YAML scalar,
// lists and objects as JSON.
func convertText(t *schema.Type, text string) (json.RawMessage, error) {
	if t.Kind == schema.List || t.Kind == schema.Object {
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("it takes %s as JSON, not `%s`", t.Article(), text)
		}
		return json.RawMessage(text), nil
	}
	return t.FromScalar(text, true)
}

func wrongInput(field schema.Field, err error) error {
	return &InputError{
		Input:   field.Name,
		Message: fmt.Sprintf("input `%s`: %v", field.Name, err),
		Hint:    "it takes " + field.Type.Article(),
	}
}
