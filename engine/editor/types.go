package editor

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/schema"
)

// expression is text with an expression in it.
func expression() object { return ref("expression") }

// valueOf is the schema of a value of a type as an author may write it: the type
// itself or an expression.
func valueOf(t *schema.Type) object {
	written, takesText := literalOf(t)
	result := written
	var alternatives []any
	if !takesText {
		alternatives = []any{written, expression()}
	}
	if t != nil && t.Nullable && len(written) > 0 {
		if alternatives == nil {
			alternatives = []any{written}
		}
		alternatives = append(alternatives, object{"type": "null"})
	}
	if alternatives != nil {
		result = object{"anyOf": alternatives}
	}
	if t == nil {
		return result
	}
	if t.Doc != "" {
		result["description"] = t.Doc
	}
	if t.Default != nil {
		result["default"] = json.RawMessage(t.Default)
	}
	return result
}

// literalOf is the schema of a literal. takesText says that it takes any text,
// so that an expression needs no word of its own.
func literalOf(t *schema.Type) (literal object, takesText bool) {
	switch {
	case t == nil:
		return object{}, true
	case t.Secret:
		return object{"type": "string", "pattern": `^\s*\$\{\{`, "examples": []string{"${{ secrets.NAME }}"}}, true
	case t.Enum != nil:
		if encoded, err := schema.Encode(t.Enum); err == nil {
			return object{"enum": encoded}, false
		}
	}
	switch t.Kind {
	case schema.Bool:
		return object{"type": "boolean"}, false
	case schema.Int:
		return bounded(t, "integer"), false
	case schema.Number:
		return bounded(t, "number"), false
	case schema.String:
		return textOf(t)
	case schema.Time:
		return object{"type": "string", "format": "date-time"}, false
	case schema.Duration:
		return ref("duration"), true
	case schema.List:
		return listOf(t), false
	case schema.Object:
		return objectOf(t), false
	case schema.Null:
		return object{"type": "null"}, false
	}
	if t.Alternatives == nil {
		return object{}, true
	}
	var alternatives []any
	for _, one := range t.Alternatives {
		literal, _ := literalOf(one)
		alternatives = append(alternatives, literal)
	}
	return object{"anyOf": alternatives}, false
}

func bounded(t *schema.Type, name string) object {
	literal := object{"type": name}
	if t.Min != nil {
		literal["minimum"] = *t.Min
	}
	if t.Max != nil {
		literal["maximum"] = *t.Max
	}
	return literal
}

// textOf takes unquoted numbers and booleans too: a text field takes them as they
// stand.
func textOf(t *schema.Type) (literal object, takesText bool) {
	literal = object{"type": []string{"string", "number", "boolean"}}
	if t.MinLength != nil {
		literal["minLength"] = *t.MinLength
	}
	if t.MaxLength != nil {
		literal["maxLength"] = *t.MaxLength
	}
	if t.Pattern != "" {
		literal["pattern"] = t.Pattern
	}
	return literal, len(literal) == 1
}

func listOf(t *schema.Type) object {
	literal := object{"type": "array", "items": valueOf(t.Elem)}
	if t.MinLength != nil {
		literal["minItems"] = *t.MinLength
	}
	if t.MaxLength != nil {
		literal["maxItems"] = *t.MaxLength
	}
	return literal
}

func objectOf(t *schema.Type) object {
	properties, required := object{}, []string{}
	for _, field := range t.Fields {
		properties[field.Name] = valueOf(field.Type)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	literal := object{"type": "object", "properties": properties, "additionalProperties": false}
	if t.Additional != nil {
		literal["additionalProperties"] = valueOf(t.Additional)
	}
	if len(required) > 0 {
		literal["required"] = required
	}
	return literal
}
