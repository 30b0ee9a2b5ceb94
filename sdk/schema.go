package sdk

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// schema is the part of JSON Schema 2020-12 that flowrun speaks, with its
// properties in the order of the author's struct. Immutable once made.
type schema struct {
	keywords
	types      []string       // empty = any value
	pattern    *regexp.Regexp // Pattern, compiled
	properties []property
	additional *schema // type of other names; nil = any
	closed     bool    // no other names
	items      *schema
	anyOf      []*schema // one of them fits; only where a Schema is read
	allOf      []*schema // all of them fit; only where a Schema is read
}

type property struct {
	name     string
	schema   *schema
	required bool
}

func (s *schema) takes(jsonType string) bool {
	return len(s.types) == 0 || slices.Contains(s.types, jsonType)
}

func (s *schema) nullable() bool { return s.takes("null") }

// property returns the schema of a name, or nil.
func (s *schema) property(name string) *schema {
	for _, p := range s.properties {
		if p.name == name {
			return p.schema
		}
	}
	return nil
}

// member returns the schema of what stands at a name, nil for any value.
func (s *schema) member(name string) *schema {
	if field := s.property(name); field != nil {
		return field
	}
	return s.additional
}

func (s *schema) names() []string {
	names := make([]string, len(s.properties))
	for i, p := range s.properties {
		names[i] = p.name
	}
	return names
}

// withDefault returns a copy in which a property has a default and is thus not
// required.
func (s *schema) withDefault(name, text string) *schema {
	changed := *s
	changed.properties = slices.Clone(s.properties)
	for i, p := range changed.properties {
		if p.name == name {
			field := *p.schema
			field.Default, _ = json.Marshal(text)
			changed.properties[i] = property{name: name, schema: &field}
		}
	}
	return &changed
}

// defaults returns the object of all defaults, or nil when there are none.
func (s *schema) defaults() map[string]any {
	var found map[string]any
	put := func(name string, value any) {
		if found == nil {
			found = map[string]any{}
		}
		found[name] = value
	}
	for _, p := range s.properties {
		if p.schema.Default != nil {
			put(p.name, p.schema.Default)
		} else if inner := p.schema.defaults(); inner != nil && !p.schema.nullable() {
			put(p.name, inner)
		}
	}
	return found
}

// fill puts defaults into a document where values are missing, and reports whether it did.
func (s *schema) fill(v any) (filled any, changed bool) {
	object, is := v.(map[string]any)
	if !is || s == nil {
		return v, false
	}
	for _, p := range s.properties {
		value, there := object[p.name]
		switch {
		case there:
			inner, did := p.schema.fill(value)
			object[p.name], changed = inner, changed || did
		case p.schema.Default != nil:
			object[p.name], changed = p.schema.Default, true
		case !p.schema.nullable():
			if inner := p.schema.defaults(); inner != nil {
				object[p.name], changed = inner, true
			}
		}
	}
	return object, changed
}

func (s *schema) hasSecrets() bool {
	if s == nil {
		return false
	}
	if s.Secret || s.items.hasSecrets() || s.additional.hasSecrets() {
		return true
	}
	return slices.ContainsFunc(s.properties, func(p property) bool { return p.schema.hasSecrets() }) ||
		slices.ContainsFunc(slices.Concat(s.anyOf, s.allOf), (*schema).hasSecrets)
}

// secretsIn calls found for every value that stands at a secret field of a document.
func (s *schema) secretsIn(raw []byte, found func(pointer string, v any)) {
	if !s.hasSecrets() {
		return
	}
	if document, err := decodeTree(raw); err == nil {
		s.walkSecrets(document, "", found)
	}
}

// walkSecrets calls found for every value that stands at a secret field.
func (s *schema) walkSecrets(v any, pointer string, found func(pointer string, v any)) {
	if s == nil || v == nil || !s.hasSecrets() {
		return
	}
	if s.Secret {
		found(pointer, v)
		return
	}
	for _, part := range slices.Concat(s.anyOf, s.allOf) {
		part.walkSecrets(v, pointer, found)
	}
	switch typed := v.(type) {
	case []any:
		for i, item := range typed {
			s.items.walkSecrets(item, pointer+indexToken(i), found)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(typed)) {
			s.member(name).walkSecrets(typed[name], pointer+nameToken(name), found)
		}
	}
}
