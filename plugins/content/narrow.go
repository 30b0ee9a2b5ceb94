package content

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Narrowed is the schema of the field that has what was read: for the output of a step
// whose format and answer are known. answer is the JSON Schema that the author of the
// workflow wrote, nil for none; its references keep pointing at what they pointed at when
// the field stands at the JSON Pointer at of the whole schema.
func Narrowed(format Format, answer sdk.Value, at string) sdk.Value {
	switch format {
	case Lines:
		return sdk.Value(`{"type":"array","items":{"type":"string"}}`)
	case JSON:
		if answer == nil {
			return sdk.Value(`{}`)
		}
		return moved(answer, at)
	case CSV:
		row := sdk.Value(`{"type":"object","additionalProperties":{"type":"string"}}`)
		if answer != nil {
			row = moved(answer, at+"/items")
		}
		return sdk.Value(`{"type":"array","items":` + string(row) + `}`)
	}
	return sdk.Value(`{"type":"string"}`)
}

// NarrowedOrNull is Narrowed for a field that may be null.
func NarrowedOrNull(format Format, answer sdk.Value, at string) sdk.Value {
	schema := OrNull(Narrowed(format, answer, at))
	if strings.HasPrefix(string(schema), `{"anyOf":`) {
		return OrNull(Narrowed(format, answer, at+"/anyOf/0"))
	}
	return schema
}

// OrNull is a schema that takes null besides.
func OrNull(schema sdk.Value) sdk.Value {
	var fields map[string]json.RawMessage
	var one string
	if json.Unmarshal(schema, &fields) == nil && fields["enum"] == nil && fields["const"] == nil && fields["$ref"] == nil && json.Unmarshal(fields["type"], &one) == nil {
		members, _ := sdk.ReadMembers(schema)
		return members.With("type", sdk.JSON([]string{one, "null"})).JSON()
	}
	if string(schema) == "{}" {
		return schema
	}
	return sdk.Value(`{"anyOf":[` + string(schema) + `,{"type":"null"}]}`)
}

// moved is a schema whose references into itself point at where it stands now.
func moved(schema sdk.Value, at string) sdk.Value {
	if !strings.Contains(string(schema), `"$ref"`) {
		return schema
	}
	var tree any
	decoder := json.NewDecoder(strings.NewReader(string(schema)))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return schema
	}
	move(tree, at)
	return sdk.JSON(tree)
}

// move changes the references of a part of a schema, but not what looks like one in values.
func move(part any, at string) {
	switch typed := part.(type) {
	case map[string]any:
		for name, inner := range typed {
			if ref, ok := inner.(string); ok && name == "$ref" && strings.HasPrefix(ref, "#") {
				typed[name] = "#" + at + strings.TrimPrefix(ref, "#")
				continue
			}
			switch name {
			case "const", "enum", "default", "examples":
			default:
				move(inner, at)
			}
		}
	case []any:
		for _, inner := range typed {
			move(inner, at)
		}
	}
}

// AnswerProblem says what is wrong with an answer that a person wrote; "" = nothing. An
// answer is an object, since a JSON Schema is.
func AnswerProblem(format Format, answer sdk.Value) string {
	if sdk.IsNull(answer) {
		return ""
	}
	if format != JSON && format != CSV {
		return "belongs to `format: json` and `format: csv` alone"
	}
	if _, ok := sdk.ReadMembers(answer); !ok {
		return "must be a JSON Schema, an object"
	}
	schema, err := sdk.ParseSchema(answer)
	if err != nil {
		return "is no JSON Schema that can be read: " + err.Error()
	}
	if format == CSV && !schema.Takes("object") {
		return "must describe one row, an object"
	}
	return ""
}
