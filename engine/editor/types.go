package editor

import (
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/engine/schema"
)

// rfc3339 is the form of a time, for tools that hold nothing against a format.
const rfc3339 = `^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]+)?(?:Z|[+-][0-2][0-9]:[0-5][0-9])$`

// expression is text with an expression in it.
func expression() object { return ref("expression") }

// valueOf is the schema of a value of a type as an author may write it: the type
// itself or an expression. in says that an object around is secret as a whole: what
// is marked secret there may stand in clear.
func valueOf(t *schema.Type, in bool) object {
	written, takesText := literalOf(t, in)
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
func literalOf(t *schema.Type, in bool) (literal object, takesText bool) {
	switch {
	case t == nil:
		return object{}, true
	case t.Secret && !in && t.Kind != schema.Object:
		return object{"type": "string", "pattern": `^\s*\$\{\{`, "examples": []string{"${{ secrets.NAME }}"}}, true
	case t.Enum != nil:
		if encoded, err := schema.Encode(plainWords(t)); err == nil {
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
		return object{"type": "string", "format": "date-time", "pattern": rfc3339}, false
	case schema.Duration:
		return ref("duration"), false
	case schema.List:
		return listOf(t, in), false
	case schema.Object:
		if t.Blob {
			return object{"type": "string", "pattern": oneExpression, "examples": []string{"${{ steps.fetch.output.body }}"}}, true
		}
		return objectOf(t, in || t.Secret), false
	case schema.Null:
		return object{"type": "null"}, false
	}
	if t.Alternatives == nil {
		return object{}, true
	}
	var alternatives []any
	for _, one := range t.Alternatives {
		literal, _ := literalOf(one, in)
		alternatives = append(alternatives, literal)
	}
	return object{"anyOf": alternatives}, false
}

// plainWords are the values of an enum as YAML may read them: a text that looks like
// a number or a boolean needs no quotes where text is wanted.
func plainWords(t *schema.Type) []any {
	words := slices.Clone(t.Enum)
	for _, value := range t.Enum {
		text, isText := value.(string)
		var other any
		if isText && t.Kind == schema.String && json.Unmarshal([]byte(text), &other) == nil && other != nil {
			words = append(words, other)
		}
	}
	return words
}

func bounded(t *schema.Type, name string) object {
	literal := object{"type": name}
	put(literal, "minimum", t.Min)
	put(literal, "maximum", t.Max)
	return literal
}

// put sets a word of a schema to a bound, where there is one.
func put[T any](literal object, word string, bound *T) {
	if bound != nil {
		literal[word] = *bound
	}
}

// textOf takes unquoted numbers and booleans too: a text field takes them as they
// stand.
func textOf(t *schema.Type) (literal object, takesText bool) {
	literal = object{"type": []string{"string", "number", "boolean"}}
	put(literal, "minLength", t.MinLength)
	put(literal, "maxLength", t.MaxLength)
	if t.Pattern != "" {
		literal["pattern"] = t.Pattern
	}
	return literal, len(literal) == 1
}

func listOf(t *schema.Type, in bool) object {
	literal := object{"type": "array", "items": valueOf(t.Elem, in)}
	put(literal, "minItems", t.MinLength)
	put(literal, "maxItems", t.MaxLength)
	return literal
}

func objectOf(t *schema.Type, in bool) object {
	properties, required := object{}, []string{}
	for _, field := range t.Fields {
		properties[field.Name] = valueOf(field.Type, in)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	literal := object{"type": "object", "properties": properties, "additionalProperties": false}
	if t.Additional != nil {
		literal["additionalProperties"] = valueOf(t.Additional, in)
	}
	if len(required) > 0 {
		literal["required"] = required
	}
	return literal
}
