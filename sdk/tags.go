package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// applyTags returns the schema of a field with what its tags say. On a list,
// enum, pattern, format and secret words about scalars go to its items, min
// and max to its length.
func applyTags(base *schema, tag reflect.StructTag) (*schema, error) {
	s := *base
	s.Doc = tag.Get("doc")
	if secret, ok := tag.Lookup("secret"); ok {
		if secret != "true" && secret != "false" {
			return nil, fmt.Errorf("tag secret:%q: write true or false", secret)
		}
		s.Secret = secret == "true"
	}
	word := &s
	if s.is("array") {
		items := *s.items
		word, s.items = &items, &items
	}
	if err := word.applyWords(tag); err != nil {
		return nil, err
	}
	if err := s.applyBounds(tag); err != nil {
		return nil, err
	}
	return &s, s.applyValues(tag)
}

// is reports whether the schema takes this type and, apart from null, no other.
func (s *schema) is(jsonType string) bool {
	return len(s.types) > 0 && s.types[0] == jsonType
}

func (s *schema) applyWords(tag reflect.StructTag) error {
	if format := tag.Get("format"); format != "" {
		if !s.is("string") {
			return fmt.Errorf("tag format is for text")
		}
		s.Format = format
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		compiled, err := regexp.Compile(pattern)
		if err != nil || !s.is("string") {
			return fmt.Errorf("tag pattern:%q is for text, as RE2: %w", pattern, err)
		}
		s.pattern, s.Pattern = compiled, pattern
	}
	list, ok := tag.Lookup("enum")
	if !ok {
		return nil
	}
	for _, text := range strings.Split(list, ",") {
		value, err := s.scalarFromTag(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("tag enum: %w", err)
		}
		s.Enum = append(s.Enum, value)
	}
	if len(s.types) > 1 {
		s.Enum = append(s.Enum, json.RawMessage("null"))
	}
	return nil
}

func (s *schema) applyBounds(tag reflect.StructTag) error {
	for _, bound := range []struct {
		tag           string
		number        *json.Number
		length, items **int
	}{
		{"min", &s.Minimum, &s.MinLength, &s.MinItems},
		{"max", &s.Maximum, &s.MaxLength, &s.MaxItems},
	} {
		text, ok := tag.Lookup(bound.tag)
		if !ok {
			continue
		}
		if s.is("integer") || s.is("number") {
			if !numberGrammar().MatchString(text) {
				return fmt.Errorf("tag %s:%q is no number", bound.tag, text)
			}
			*bound.number = json.Number(text)
			continue
		}
		n, err := strconv.Atoi(text)
		switch {
		case err != nil || n < 0:
			return fmt.Errorf("tag %s:%q is no length", bound.tag, text)
		case s.is("string"):
			*bound.length = &n
		case s.is("array"):
			*bound.items = &n
		default:
			return fmt.Errorf("tag %s is for numbers, text and lists", bound.tag)
		}
	}
	return nil
}

func (s *schema) applyValues(tag reflect.StructTag) error {
	for _, name := range []string{"default", "example"} {
		text, ok := tag.Lookup(name)
		if !ok {
			continue
		}
		value, err := s.scalarFromTag(text)
		if err != nil {
			return fmt.Errorf("tag %s: %w", name, err)
		}
		if _, problems := s.check(value, nil); firstError(problems) != nil {
			return fmt.Errorf("tag %s:%q: %s", name, text, firstError(problems).Message)
		}
		if name == "default" {
			s.Default = value
		} else {
			s.Examples = []json.RawMessage{value}
		}
	}
	return nil
}

// scalarFromTag reads a tag's text: as it stands for text, else as JSON.
func (s *schema) scalarFromTag(text string) (json.RawMessage, error) {
	if s.is("string") {
		return json.RawMessage(encoded(text)), nil
	}
	if !json.Valid([]byte(text)) {
		if len(s.types) == 0 {
			return json.RawMessage(encoded(text)), nil
		}
		return nil, fmt.Errorf("%q is no %s", text, s.types[0])
	}
	return json.RawMessage(text), nil
}
