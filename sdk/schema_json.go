package sdk

import (
	"encoding/json"
)

// keywords are the words of JSON Schema that a schema has as they are written.
type keywords struct {
	Format    string            `json:"format,omitempty"`
	Encoding  string            `json:"contentEncoding,omitempty"`
	Enum      []json.RawMessage `json:"enum,omitempty"`
	Doc       string            `json:"description,omitempty"`
	Pattern   string            `json:"pattern,omitempty"`
	Minimum   json.Number       `json:"minimum,omitempty"`
	Maximum   json.Number       `json:"maximum,omitempty"`
	MinLength *int              `json:"minLength,omitempty"`
	MaxLength *int              `json:"maxLength,omitempty"`
	MinItems  *int              `json:"minItems,omitempty"`
	MaxItems  *int              `json:"maxItems,omitempty"`
	Default   json.RawMessage   `json:"default,omitempty"`
	Secret    bool              `json:"writeOnly,omitempty"`
	Blob      bool              `json:"x-flowrun-blob,omitempty"`
	Examples  []json.RawMessage `json:"examples,omitempty"`
}

// schemaText is a schema as it is written; words that are not here are ignored.
type schemaText struct {
	Type json.RawMessage `json:"type,omitempty"`
	keywords
	Items      json.RawMessage `json:"items,omitempty"`
	Properties json.RawMessage `json:"properties,omitempty"`
	Required   []string        `json:"required,omitempty"`
	Additional json.RawMessage `json:"additionalProperties,omitempty"`

	AnyOf []json.RawMessage `json:"anyOf,omitempty"` // only read, of a Schema
	OneOf []json.RawMessage `json:"oneOf,omitempty"` // only read, of a Schema
	AllOf []json.RawMessage `json:"allOf,omitempty"` // only read, of a Schema

	Const    json.RawMessage `json:"const,omitempty"`    // only read: an Enum of one
	Nullable bool            `json:"nullable,omitempty"` // only read: the type null besides
	Ref      string          `json:"$ref,omitempty"`     // only read: what it points at
}

// JSON returns the schema as deterministic bytes: properties stand in the
// order of the struct, so that docs and forms show them so.
func (s *schema) JSON() json.RawMessage {
	text := schemaText{keywords: s.keywords}
	switch len(s.types) {
	case 0:
	case 1:
		text.Type = encoded(s.types[0])
	default:
		text.Type = encoded(s.types)
	}
	if s.items != nil {
		text.Items = s.items.JSON()
	}
	var properties Members
	for _, p := range s.properties {
		properties = append(properties, Member{Name: p.name, Value: p.schema.JSON()})
		if p.required {
			text.Required = append(text.Required, p.name)
		}
	}
	if properties != nil {
		text.Properties = properties.JSON()
	}
	switch {
	case s.closed:
		text.Additional = json.RawMessage("false")
	case s.additional != nil:
		text.Additional = s.additional.JSON()
	}
	return encoded(text)
}

// encoded encodes a value that is JSON by its type.
func encoded(v any) []byte {
	text, err := marshalJSON(v)
	if err != nil {
		return []byte("null")
	}
	return text
}
