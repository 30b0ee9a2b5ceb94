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

// parseSchema reads a JSON Schema that an author wrote.
func parseSchema(raw json.RawMessage) (*schema, error) {
	r := schemaReader{root: raw, known: map[string]followed{}, open: map[string]bool{}}
	return r.read(raw)
}

// read reads a part of the document.
func (r *schemaReader) read(raw json.RawMessage) (*schema, error) {
	if r.made++; r.made > maxTypes {
		return nil, fmt.Errorf("the schema is too large: more than %d types", maxTypes)
	}
	switch string(bytes.TrimSpace(raw)) {
	case "true":
		return &schema{}, nil
	case "false":
		return nil, fmt.Errorf("a schema that takes nothing is not supported")
	}
	var text schemaText
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if text.Ref != "" {
		return r.follow(text)
	}
	s := &schema{keywords: text.keywords}
	if text.Const != nil {
		s.Enum = []json.RawMessage{text.Const}
	}
	for i, value := range s.Enum {
		document, err := decodeTree(value)
		if err != nil {
			return nil, err
		}
		s.Enum[i] = encoded(document)
	}
	if err := s.parseType(text); err != nil {
		return nil, err
	}
	if err := r.readChoices(s, text); err != nil {
		return nil, err
	}
	return s, r.members(s, text)
}

func (s *schema) parseType(text schemaText) error {
	var one string
	if text.Type == nil {
	} else if json.Unmarshal(text.Type, &one) == nil {
		s.types = []string{one}
	} else if err := json.Unmarshal(text.Type, &s.types); err != nil {
		return fmt.Errorf("read schema word type: %w", err)
	}
	for _, t := range s.types {
		if !slices.Contains(jsonTypes, t) {
			return fmt.Errorf("schema type %q is not a JSON type", t)
		}
	}
	if text.Nullable && !s.nullable() {
		s.types = append(s.types, "null")
	}
	if text.Pattern == "" {
		return nil
	}
	pattern, err := regexp.Compile(text.Pattern)
	s.pattern = pattern
	return err
}

// members reads the schemas inside of one.
func (r *schemaReader) members(s *schema, text schemaText) error {
	var properties Members
	var err error
	if text.Properties != nil {
		if properties, err = members(text.Properties); err != nil {
			return fmt.Errorf("read schema: properties %w", err)
		}
	}
	for _, p := range properties {
		field, err := r.read(p.Value)
		if err != nil {
			return fmt.Errorf("property %s: %w", p.Name, err)
		}
		s.properties = append(s.properties, property{p.Name, field, slices.Contains(text.Required, p.Name)})
	}
	if text.Items != nil {
		if s.items, err = r.read(text.Items); err != nil {
			return fmt.Errorf("items: %w", err)
		}
	}
	switch string(bytes.TrimSpace(text.Additional)) {
	case "", "true":
	case "false":
		s.closed = true
	default:
		s.additional, err = r.read(text.Additional)
	}
	return err
}
