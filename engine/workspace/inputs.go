package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// ConvertInputs makes the complete inputs of a run from what was given: typed
// by the workflow's inputs, defaults filled in. The error is an *InputError.
func ConvertInputs(workflow *plan.Workflow, given map[string]Input) (json.RawMessage, error) {
	inputs, err := schema.FromJSONOr(workflow.Inputs, schema.ObjectOf())
	if err != nil {
		return nil, fmt.Errorf("read inputs of %s: %w", workflow.Name, err)
	}
	wrong := UnknownInputs(workflow, inputs, given)
	values := map[string]json.RawMessage{}
	for _, field := range inputs.Fields {
		value, ok, faults := ConvertInput(field, given)
		if wrong = append(wrong, faults...); ok && len(faults) == 0 {
			values[field.Name] = value
		}
	}
	if err := fault.WrongInputs(wrong); err != nil {
		return nil, err
	}
	return json.Marshal(values)
}

// ConvertSome types what was given for an action's input by its schema; what was not
// given is left out. what names the action. The error is an *InputError.
func ConvertSome(what string, document json.RawMessage, given map[string]Input) (map[string]json.RawMessage, error) {
	accepts, err := schema.FromJSONOr(document, schema.ObjectOf())
	if err != nil {
		return nil, fmt.Errorf("read the inputs of %s: %w", what, err)
	}
	var wrong []*fault.InputError
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := accepts.Field(name); !ok {
			wrong = append(wrong, &fault.InputError{
				Input: name, Pointer: fault.PointerTo(name, ""), Message: fmt.Sprintf("action %s has no input `%s`", what, name),
				Hint: diag.DidYouMean(name, accepts.FieldNames()).Or(diag.Naming("its inputs are ", accepts.FieldNames()...)),
			})
		}
	}
	values := map[string]json.RawMessage{}
	for _, field := range accepts.Fields {
		if _, ok := given[field.Name]; !ok {
			continue
		}
		value, ok, faults := ConvertInput(field, given)
		if wrong = append(wrong, faults...); ok && len(faults) == 0 {
			values[field.Name] = value
		}
	}
	return values, fault.WrongInputs(wrong)
}

// StartInputs is ConvertInputs for what people and services give to a run: a large value is
// none of it.
func StartInputs(workflow *plan.Workflow, given map[string]Input) (json.RawMessage, error) {
	values, err := ConvertInputs(workflow, given)
	if err != nil {
		return nil, err
	}
	inputs, err := schema.FromJSONOr(workflow.Inputs, schema.ObjectOf())
	if err != nil || !inputs.HasBlob() {
		return values, err
	}
	var wrong []*fault.InputError
	for _, field := range inputs.Fields {
		if field.Type.HasBlob() && strings.Contains(string(given[field.Name].JSON)+given[field.Name].Text, `"digest"`) {
			wrong = append(wrong, &fault.InputError{
				Input: field.Name, Pointer: fault.PointerTo(field.Name, ""),
				Message: fmt.Sprintf("input `%s`: only a step gives a large value", field.Name), Hint: diag.Say(blobInput),
			})
		}
	}
	return values, fault.WrongInputs(wrong)
}

const blobInput = "a workflow that calls this one hands it over: uses: ./FILE.yaml"

// UnknownInputs are the given inputs that the workflow does not have, each with what is
// near.
func UnknownInputs(workflow *plan.Workflow, inputs *schema.Type, given map[string]Input) []*fault.InputError {
	var unknown []*fault.InputError
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := inputs.Field(name); ok {
			continue
		}
		names := inputs.FieldNames()
		unknown = append(unknown, &fault.InputError{
			Input: name, Pointer: fault.PointerTo(name, ""), Message: fmt.Sprintf("workflow %s has no input `%s`", workflow.Name, name),
			Hint: diag.DidYouMean(name, names).Or(diag.Naming("its inputs are ", names...)),
		})
	}
	return unknown
}

// ConvertInput makes the value of a field of what was given: given, by default, or
// null. It tells all that is wrong with it.
func ConvertInput(field schema.Field, given map[string]Input) (value json.RawMessage, ok bool, wrong []*fault.InputError) {
	input, ok := given[field.Name]
	switch {
	case !ok && field.Type.Default != nil:
		return field.Type.Default, true, nil
	case !ok && !field.Required:
		return json.RawMessage("null"), true, nil
	case !ok:
		hint := diag.Hint{Text: "give it with -i " + field.Name + "=VALUE", Flag: "-i"}
		if field.Type.Blob {
			hint = diag.Say(blobInput)
		}
		return nil, false, []*fault.InputError{{
			Input:   field.Name,
			Pointer: fault.PointerTo(field.Name, ""),
			Message: fmt.Sprintf("input `%s` is missing: it takes %s", field.Name, field.Type.Article()),
			Hint:    hint,
		}}
	}
	value, wrong = ConvertGiven("input", field, input)
	return value, true, wrong
}

// ConvertGiven makes the value of what was given for a field: what it is, an input or
// the field of an answer, stands in what is wrong with it.
func ConvertGiven(what string, field schema.Field, given Input) (value json.RawMessage, wrong []*fault.InputError) {
	value = given.JSON
	if len(value) == 0 {
		converted, err := ConvertText(field.Type, given.Text)
		if err != nil {
			return nil, []*fault.InputError{WrongInput(what, field, err)}
		}
		value = converted
	}
	for _, err := range field.Type.Mismatches(value) {
		wrong = append(wrong, WrongInput(what, field, err))
	}
	return value, wrong
}

// ConvertText reads the text of -i NAME=TEXT: scalars as a plain YAML scalar,
// lists and objects as JSON.
func ConvertText(t *schema.Type, text string) (json.RawMessage, error) {
	if t.Kind == schema.List || t.Kind == schema.Object {
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("it takes %s as JSON, not `%s`", t.Article(), text)
		}
		return json.RawMessage(text), nil
	}
	return t.FromScalar(text, true)
}

// WrongInput words what is wrong with an input, or with a field of a form.
func WrongInput(what string, field schema.Field, err error) *fault.InputError {
	wrong := &fault.InputError{
		Input:   field.Name,
		Pointer: fault.PointerTo(field.Name, ""),
		Message: fmt.Sprintf("%s `%s`: %v", what, field.Name, err),
		Hint:    diag.Takes(field.Type.Article()),
	}
	if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok {
		wrong.Pointer = fault.PointerTo(field.Name, mismatch.Pointer)
	}
	return wrong
}
