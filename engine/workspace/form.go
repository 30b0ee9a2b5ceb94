package workspace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// FieldKind says which control a form has for a value.
type FieldKind string

// The kinds of fields. A choice is one of the values of an enum, whatever their
// type; JSON is for what no control can hold: objects, lists of them, any value.
const (
	FieldText     FieldKind = "text"
	FieldInteger  FieldKind = "integer"
	FieldNumber   FieldKind = "number"
	FieldBoolean  FieldKind = "boolean"
	FieldChoice   FieldKind = "choice"
	FieldTime     FieldKind = "time"
	FieldDuration FieldKind = "duration"
	FieldList     FieldKind = "list" // of Item
	FieldJSON     FieldKind = "json"
	FieldSecret   FieldKind = "secret"
)

// FormField is one input, or one field of an answer, as a form shows it.
type FormField struct {
	Name      string
	Kind      FieldKind
	Item      FieldKind // of a list: what its elements are
	Type      string    // for people, with its article: "an integer or null"
	Doc       string
	Required  bool // it has to be given: there is no default, and the schema demands it
	Nullable  bool
	Default   json.RawMessage   // nil = none
	Choices   []json.RawMessage // of a choice, and of a list of choices; without null
	Min, Max  *float64
	MinLength *int // of a text in characters, of a list in items
	MaxLength *int
	Pattern   string     // RE2, unanchored
	Fields    []FieldDoc // of an object, and of a list of objects: what is in it
}

// InputForm is the schema of the inputs that a workflow file declares, and the workflow's
// name. It is read without a plugin; ok is false where the file or the inputs are wrong,
// which a check tells.
func InputForm(file string, src []byte) (name string, form json.RawMessage, ok bool) {
	tree, problems := spec.Parse(file, src)
	if tree == nil || problems.HasErrors() {
		return "", nil, false
	}
	return check.InputsOf(tree)
}

// FormOf reads a JSON Schema as the fields of a form, in the schema's order. A
// schema that is not of an object with named properties has one field without a
// name, for the value as a whole.
func FormOf(document json.RawMessage) ([]FormField, error) {
	_, fields, err := formFields(document)
	if err != nil {
		return nil, err
	}
	shown := make([]FormField, len(fields))
	for i, field := range fields {
		shown[i] = formField(field)
	}
	return shown, nil
}

func formFields(document json.RawMessage) (t *schema.Type, fields []schema.Field, err error) {
	if t, err = schema.FromJSONOr(document, schema.ObjectOf()); err != nil {
		return nil, nil, fmt.Errorf("read the schema of a form: %w", err)
	}
	if t.Kind != schema.Object || len(t.Fields) == 0 && t.Additional != nil {
		return t, []schema.Field{{Type: t, Required: true}}, nil
	}
	return t, t.Fields, nil
}

func formField(from schema.Field) FormField {
	t := from.Type
	field := FormField{
		Name: from.Name, Kind: fieldKind(t), Type: t.Article(), Doc: t.Doc, Nullable: t.AcceptsNull(), Default: t.Default,
		Required: from.Required && t.Default == nil,
		Min:      t.Min, Max: t.Max, MinLength: t.MinLength, MaxLength: t.MaxLength, Pattern: t.Pattern,
		Choices: choices(t),
	}
	switch {
	case field.Kind == FieldList:
		field.Item = fieldKind(t.Elem)
		field.Choices = choices(t.Elem)
	case t.Kind == schema.List && t.Elem != nil:
		field.Fields = fieldDocs(t.Elem, "[].", 0)
	case t.Kind == schema.Object:
		field.Fields = fieldDocs(t, "", 0)
	}
	return field
}

// fieldKind is the control of a type. A list has one of its own when each of its
// elements fits on a line.
func fieldKind(t *schema.Type) FieldKind {
	switch {
	case t.Secret:
		return FieldSecret
	case len(t.Enum) > 0:
		return FieldChoice
	}
	switch t.Kind {
	case schema.Bool:
		return FieldBoolean
	case schema.Int:
		return FieldInteger
	case schema.Number:
		return FieldNumber
	case schema.String:
		return FieldText
	case schema.Time:
		return FieldTime
	case schema.Duration:
		return FieldDuration
	case schema.List:
		if t.Elem != nil && t.Tuple == nil && !t.Elem.Nullable && t.Elem.Kind != schema.List && fieldKind(t.Elem) != FieldJSON && !t.Elem.Secret {
			return FieldList
		}
	}
	return FieldJSON
}

func choices(t *schema.Type) []json.RawMessage {
	var list []json.RawMessage
	for _, value := range t.Enum {
		if encoded, err := schema.Encode(value); err == nil && value != nil {
			list = append(list, encoded)
		}
	}
	return list
}

// CheckForm converts what a form was filled with and returns what is wrong, by
// the name of the field: every field at once, in the words of the command line.
// nil = all is well.
func CheckForm(document json.RawMessage, given map[string]Input) (map[string]*fault.InputError, error) {
	t, fields, err := formFields(document)
	if err != nil {
		return nil, err
	}
	wrong := map[string]*fault.InputError{}
	for _, field := range fields {
		if err := checkField(field, given); err != nil {
			wrong[field.Name] = err
		}
	}
	for name := range given {
		if !slices.ContainsFunc(fields, func(f schema.Field) bool { return f.Name == name }) && t.Additional == nil {
			wrong[name] = &fault.InputError{Input: name, Message: "there is no such field", Hint: diag.DidYouMean(name, t.FieldNames())}
		}
	}
	if len(wrong) == 0 {
		return nil, nil
	}
	return wrong, nil
}

// checkField is ConvertInput in the words of a form, where the name of the field
// stands beside it.
func checkField(field schema.Field, given map[string]Input) *fault.InputError {
	_, _, all := ConvertInput(field, given)
	if len(all) == 0 {
		return nil
	}
	wrong := &fault.InputError{Input: field.Name, Message: all[0].Message}
	for _, named := range []string{"input `" + field.Name + "`: ", "input `" + field.Name + "` "} {
		wrong.Message = strings.TrimPrefix(wrong.Message, named)
	}
	return wrong
}
