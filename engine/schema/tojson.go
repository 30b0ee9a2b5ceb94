package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// JSONSchema writes the type as JSON Schema that FromJSON reads back.
func (t *Type) JSONSchema() json.RawMessage {
	var b bytes.Buffer
	t.writeSchema(&b)
	return b.Bytes()
}

// schemaWriter writes the members of one object.
type schemaWriter struct {
	b     *bytes.Buffer
	first bool
}

func (w *schemaWriter) name(name string) {
	if !w.first {
		w.b.WriteByte(',')
	}
	w.first = false
	encodeString(w.b, name)
	w.b.WriteByte(':')
}

func (w *schemaWriter) raw(name, value string) {
	w.name(name)
	w.b.WriteString(value)
}

func (w *schemaWriter) text(name, value string) {
	w.name(name)
	encodeString(w.b, value)
}

func (t *Type) writeSchema(b *bytes.Buffer) {
	w := schemaWriter{b: b, first: true}
	b.WriteByte('{')
	t.writeKind(&w)
	if t.Doc != "" {
		w.text("description", t.Doc)
	}
	if t.Secret {
		w.raw("writeOnly", "true")
	}
	if t.Expected {
		w.raw("x-flowrun-expected", "true")
	}
	t.writeEnum(&w)
	t.writeParts(&w)
	t.writeBounds(&w)
	if t.Default != nil {
		w.raw("default", string(t.Default))
	}
	b.WriteByte('}')
}

func (t *Type) writeKind(w *schemaWriter) {
	names := map[Kind]string{
		Null: "null", Bool: "boolean", Int: "integer", Number: "number", String: "string", Time: "string",
		Duration: "string", List: "array", Object: "object",
	}
	name, ok := names[t.Kind]
	switch {
	case ok && t.Nullable && t.Kind != Null:
		w.raw("type", `["`+name+`","null"]`)
	case ok:
		w.text("type", name)
	case t.Alternatives != nil:
		t.writeAlternatives(w)
	case t.Nullable:
		w.raw("nullable", "true")
	}
	switch t.Kind {
	case Time:
		w.text("format", "date-time")
	case Duration:
		w.text("format", "duration")
	}
	if t.File {
		w.text("format", FormatFile)
	}
}

// writeAlternatives writes one of several types, null among them.
func (t *Type) writeAlternatives(w *schemaWriter) {
	w.name("anyOf")
	w.b.WriteByte('[')
	for i, one := range t.Alternatives {
		if i > 0 {
			w.b.WriteByte(',')
		}
		one.writeSchema(w.b)
	}
	if t.Nullable {
		w.b.WriteString(`,{"type":"null"}`)
	}
	w.b.WriteByte(']')
}

func (t *Type) writeEnum(w *schemaWriter) {
	if t.Enum == nil {
		return
	}
	values := t.Enum
	if t.Nullable {
		values = append(append([]any{}, values...), nil)
	}
	encoded, err := Encode(values)
	if err != nil {
		return // made by Decode, so it can be written
	}
	w.raw("enum", string(encoded))
}

func (t *Type) writeParts(w *schemaWriter) {
	if t.Elem != nil {
		w.name("items")
		t.Elem.writeSchema(w.b)
	}
	if t.Kind != Object {
		return
	}
	if t.Blob {
		w.raw(blobWord, "true")
		return
	}
	w.name("properties")
	properties := schemaWriter{b: w.b, first: true}
	w.b.WriteByte('{')
	var required []any
	for _, field := range t.Fields {
		properties.name(field.Name)
		field.Type.writeSchema(w.b)
		if field.Required {
			required = append(required, field.Name)
		}
	}
	w.b.WriteByte('}')
	if required != nil {
		if encoded, err := Encode(required); err == nil {
			w.raw("required", string(encoded))
		}
	}
	if t.Open {
		return // a schema that says nothing of other names is open
	}
	w.name("additionalProperties")
	if t.Additional == nil {
		w.b.WriteString("false")
		return
	}
	t.Additional.writeSchema(w.b)
}

func (t *Type) writeBounds(w *schemaWriter) {
	for _, bound := range []struct {
		name  string
		value *float64
	}{{"minimum", t.Min}, {"maximum", t.Max}} {
		if bound.value == nil {
			continue
		}
		if encoded, err := Encode(*bound.value); err == nil {
			w.raw(bound.name, string(encoded))
		}
	}
	low, high := "minLength", "maxLength"
	if t.Kind == List {
		low, high = "minItems", "maxItems"
	}
	if t.MinLength != nil {
		w.raw(low, strconv.Itoa(*t.MinLength))
	}
	if t.MaxLength != nil {
		w.raw(high, strconv.Itoa(*t.MaxLength))
	}
	if t.Pattern != "" {
		w.text("pattern", t.Pattern)
	}
}
