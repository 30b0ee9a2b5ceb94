package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// jsonTypes are the types that a schema may name.
var jsonTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// schemaWords are the words of JSON Schema that parseSchema reads; others are
// ignored.
type schemaWords struct {
	Type        json.RawMessage   `json:"type"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Encoding    string            `json:"contentEncoding"`
	Pattern     string            `json:"pattern"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   *int              `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
	MinItems    *int              `json:"minItems"`
	MaxItems    *int              `json:"maxItems"`
	WriteOnly   bool              `json:"writeOnly"`
	Nullable    bool              `json:"nullable"`
	Examples    []json.RawMessage `json:"examples"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	Items       json.RawMessage   `json:"items"`
}

// parseSchema reads a JSON Schema that an author wrote.
func parseSchema(raw json.RawMessage) (*schema, error) {
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return &schema{}, nil
	case "false":
		return nil, fmt.Errorf("a schema that takes nothing is not supported")
	}
	var words schemaWords
	if err := json.Unmarshal(raw, &words); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s := &schema{
		doc: words.Description, format: words.Format, encoding: words.Encoding, fallback: words.Default,
		minimum: words.Minimum, maximum: words.Maximum, secret: words.WriteOnly,
		minLength: words.MinLength, maxLength: words.MaxLength, minItems: words.MinItems, maxItems: words.MaxItems,
	}
	if len(words.Examples) > 0 {
		s.example = words.Examples[0]
	}
	if words.Const != nil {
		words.Enum = []json.RawMessage{words.Const}
	}
	for _, value := range words.Enum {
		document, err := decodeTree(value)
		if err != nil {
			return nil, err
		}
		s.enum = append(s.enum, encoded(document))
	}
	if err := s.parseType(words); err != nil {
		return nil, err
	}
	return s, s.parseMembers(words)
}

func (s *schema) parseType(words schemaWords) error {
	var one string
	if words.Type == nil {
	} else if json.Unmarshal(words.Type, &one) == nil {
		s.types = []string{one}
	} else if err := json.Unmarshal(words.Type, &s.types); err != nil {
		return fmt.Errorf("read schema word type: %w", err)
	}
	for _, t := range s.types {
		if !slices.Contains(jsonTypes, t) {
			return fmt.Errorf("schema type %q is not a JSON type", t)
		}
	}
	if words.Nullable && !s.nullable() {
		s.types = append(s.types, "null")
	}
	if words.Pattern == "" {
		return nil
	}
	pattern, err := regexp.Compile(words.Pattern)
	s.pattern = pattern
	return err
}

func (s *schema) parseMembers(words schemaWords) error {
	names, values, err := orderedMembers(words.Properties)
	if err != nil {
		return err
	}
	for i, name := range names {
		field, err := parseSchema(values[i])
		if err != nil {
			return fmt.Errorf("property %s: %w", name, err)
		}
		s.properties = append(s.properties, property{name, field, slices.Contains(words.Required, name)})
	}
	if words.Items != nil {
		if s.items, err = parseSchema(words.Items); err != nil {
			return fmt.Errorf("items: %w", err)
		}
	}
	switch text := string(bytes.TrimSpace(words.Additional)); text {
	case "", "true":
	case "false":
		s.closed = true
	default:
		s.additional, err = parseSchema(words.Additional)
	}
	return err
}

// orderedMembers reads an object's members in the order of their text.
func orderedMembers(raw json.RawMessage) (names []string, values []json.RawMessage, err error) {
	if raw == nil {
		return nil, nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, nil, fmt.Errorf("read schema: properties is no object")
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("read schema: %w", err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, fmt.Errorf("read schema: %w", err)
		}
		names, values = append(names, name.(string)), append(values, value)
	}
	return names, values, nil
}
