package workspace

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/format"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// FunctionDoc describes a function of expressions.
type FunctionDoc = eval.FunctionDoc

// Functions returns the documentation of all functions of expressions, by name.
func Functions() []FunctionDoc { return eval.Functions() }

// KeyDoc describes a key of workflow files.
type KeyDoc = spec.KeyDoc

// ExplainKey returns the keys of workflow files that a path such as
// "retry.attempts" names, or the path that is most like one that names none.
func ExplainKey(path string) (keys []KeyDoc, near string) {
	if keys = spec.V1().Explain(path); keys == nil {
		near = spec.V1().Near(path)
	}
	return keys, near
}

// ActionDoc is an action as a person reads of it.
type ActionDoc struct {
	Inputs  []FieldDoc
	Outputs []FieldDoc
	Example string // a step in YAML, ready to paste below `steps:`
}

// FieldDoc is one field of an action. Name is a path: "body.name", "rows[].host".
type FieldDoc struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
	Secret   bool   `json:"secret,omitempty"`
	Default  string `json:"default,omitempty"` // JSON; "" = none
	Values   string `json:"values,omitempty"`  // what an enum allows
	Bounds   string `json:"bounds,omitempty"`  // "1 to 100"
	Doc      string `json:"doc,omitempty"`
}

// fieldDepth bounds how far the fields of fields are listed.
const fieldDepth = 3

// DescribeAction reads an action's schemas.
func DescribeAction(action *plan.Action) (ActionDoc, error) {
	input, err := schema.FromJSON(action.Input)
	if err != nil {
		return ActionDoc{}, fmt.Errorf("input schema of %s: %w", action.FullName(), err)
	}
	output, err := schema.FromJSON(action.Output)
	if err != nil {
		return ActionDoc{}, fmt.Errorf("output schema of %s: %w", action.FullName(), err)
	}
	return ActionDoc{Inputs: fieldDocs(input, "", 0), Outputs: outputDocs(output), Example: exampleStep(action, input)}, nil
}

// outputDocs are the fields of an output; one that is no object is told as a whole first,
// with the fields of its elements.
func outputDocs(output *schema.Type) []FieldDoc {
	if output.Kind == schema.Object {
		return fieldDocs(output, "", 0)
	}
	whole := schema.ObjectOf(schema.Required("", output))
	docs := fieldDocs(whole, "", 0)
	docs[0].Name = "(all of it)"
	return docs
}

func fieldDocs(t *schema.Type, prefix string, depth int) []FieldDoc {
	var docs []FieldDoc
	for _, field := range t.Fields {
		name := prefix + field.Name
		docs = append(docs, FieldDoc{
			Name: name, Type: field.Type.String(), Required: field.Required, Default: string(field.Type.Default),
			Values: values(field.Type), Doc: field.Type.Doc, Secret: field.Type.Secret, Bounds: bounds(field.Type),
		})
		inner := field.Type
		if inner.Kind == schema.List && inner.Elem != nil {
			inner, name = inner.Elem, name+"[]"
		}
		if inner.Kind == schema.Object && depth+1 < fieldDepth {
			docs = append(docs, fieldDocs(inner, name+".", depth+1)...)
		}
	}
	return docs
}

func values(t *schema.Type) string {
	if t.Kind == schema.List && t.Elem != nil {
		t = t.Elem
	}
	var words []string
	for _, value := range t.Enum {
		if encoded, err := schema.Encode(value); err == nil {
			words = append(words, strings.Trim(string(encoded), `"`))
		}
	}
	return strings.Join(words, " | ")
}

// exampleStep writes a step with the inputs of the action's first example; where
// it has none, with those that it needs, read from the workflow's inputs.
func exampleStep(action *plan.Action, input *schema.Type) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- id: %s\n  uses: %s\n", strings.ReplaceAll(action.Name, "-", "_"), action.FullName())
	if with := exampleWith(action, input); with != "" {
		b.WriteString("  with:\n" + with)
	}
	if action.Paging != nil {
		b.WriteString("  paginate: {max_pages: 100}\n")
	}
	if action.Incremental {
		fmt.Fprintf(&b, "  incremental: {cursor: %s}\n", strings.ReplaceAll(action.Name, "-", "_"))
	}
	return b.String()
}

func exampleWith(action *plan.Action, input *schema.Type) string {
	var b strings.Builder
	var example map[string]any
	if len(action.Examples) > 0 && decodeNumbers(action.Examples[0].Input, &example) != nil {
		example = nil
	}
	for _, field := range input.Fields {
		value, given := example[field.Name]
		switch {
		case given:
			fmt.Fprintf(&b, "    %s: %s\n", field.Name, yamlValue(value, field.Type, false))
		case example == nil && field.Required:
			fmt.Fprintf(&b, "    %s: ${{ inputs.%s }}\n", field.Name, field.Name)
		}
	}
	return b.String()
}

// yamlValue writes a value on one line. A secret is never written out.
func yamlValue(value any, t *schema.Type, flow bool) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	case string:
		if t != nil && t.Secret {
			v = "${{ secrets.NAME }}"
		}
		return format.Scalar(v, flow)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = yamlValue(v[i], t.Element(), true)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			field, _ := t.Field(name)
			parts = append(parts, format.Scalar(name, true)+": "+yamlValue(v[name], field, true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}
