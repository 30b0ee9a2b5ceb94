package sdk

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Schema is a JSON Schema that comes with a config or an input: a connection that
// declares what a command takes, a step that says what an answer looks like. It reads
// the words that the schemas of actions have. Immutable and safe for concurrent use.
type Schema struct{ schema *schema }

// ParseSchema reads a JSON Schema. An error says what can't be read.
func ParseSchema(document Value) (*Schema, error) {
	if !json.Valid(document) {
		return nil, fmt.Errorf("the schema is no JSON")
	}
	r := schemaReader{root: document, known: map[string]followed{}, open: map[string]bool{}, choices: true}
	s, err := r.read(document)
	if err != nil {
		return nil, err
	}
	return &Schema{s}, nil
}

// Check returns what of a document does not fit, with JSON Pointers into the document.
// Nothing is said of parts at the JSON Pointers of unknown.
func (s *Schema) Check(document Value, unknown ...string) []Problem {
	_, problems := s.schema.check(document, newUnknownSet(unknown))
	return problems
}

// Complete returns an object with the defaults of the schema in the place of what is
// absent; another document, and one that has all, as it is.
func (s *Schema) Complete(document Value) (Value, error) {
	tree, err := decodeTree(document)
	if err != nil {
		return nil, fmt.Errorf("fill in defaults: %w", err)
	}
	completed, changed := s.schema.complete(tree)
	if !changed {
		return document, nil
	}
	return encoded(completed), nil
}

// complete fills in the defaults of an object and of the objects in it.
func (s *schema) complete(v any) (completed any, changed bool) {
	switch typed := v.(type) {
	case map[string]any:
		for _, p := range s.properties {
			member, there := typed[p.name]
			if !there && p.schema.Default != nil {
				typed[p.name], changed = p.schema.Default, true
				continue
			}
			if inner, more := p.schema.complete(member); there && more {
				typed[p.name], changed = inner, true
			}
		}
	case []any:
		for i := range typed {
			if s.items == nil {
				break
			}
			if inner, more := s.items.complete(typed[i]); more {
				typed[i], changed = inner, true
			}
		}
	}
	return v, changed
}

// Takes reports whether the schema takes values of a type of JSON: "string", "integer",
// "number", "boolean", "array", "object", "null". One without a type takes all.
func (s *Schema) Takes(jsonType string) bool {
	return s.schema.takesOf(jsonType) || jsonType == "integer" && s.schema.takesOf("number")
}

// Names returns the names of the schema's properties, in its order.
func (s *Schema) Names() []string { return s.schema.names() }

// Property returns the schema of a property, nil where it names none of that name.
func (s *Schema) Property(name string) *Schema {
	if field := s.schema.property(name); field != nil {
		return &Schema{field}
	}
	return nil
}

// Items returns the schema of a list's elements, nil where it says nothing of them.
func (s *Schema) Items() *Schema {
	if s.schema.items == nil {
		return nil
	}
	return &Schema{s.schema.items}
}

// Required reports whether an object lacks something without the property.
func (s *Schema) Required(name string) bool {
	return slices.ContainsFunc(s.schema.properties, func(p property) bool { return p.name == name && p.required })
}

// Closed reports whether an object may have no other names than Names.
func (s *Schema) Closed() bool { return s.schema.closed }

// Default returns the schema's default, nil where it has none.
func (s *Schema) Default() Value { return s.schema.Default }
