package sdk

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
)

// schemasDecide reports whether Validate says of an input no more than what a host reads of
// the action's schema, whatever stands in it: then nobody has to ask. Where that can't be
// known, it does not say so, and is asked.
func (a *action) schemasDecide() bool {
	rules := len(a.validators) + len(a.narrowers) + len(a.configChecks) + len(a.configNarrowers)
	if rules > 0 || a.identify != nil || a.input == nil || !a.input.readAlike() {
		return false
	}
	if a.rawInput != nil { // nothing says that another type takes all that the author's schema takes
		return a.inputType == rawType || a.inputType == reflect.TypeFor[map[string]any]()
	}
	return takesAll(a.inputType, nil)
}

// exactFloats is from where on a float64 does not tell integers apart.
const exactFloats = "9007199254740992"

// readAlike reports whether a host refuses all that this schema refuses. It reads the same
// words; those are left out here of which the two make different use.
func (s *schema) readAlike() bool {
	if s == nil {
		return true
	}
	kinds := slices.DeleteFunc(slices.Clone(s.types), func(kind string) bool { return kind == "null" })
	if len(kinds) != 1 {
		return s.saysNothing()
	}
	for _, part := range append([]*schema{s.items, s.additional}, s.schemas()...) {
		if !part.readAlike() {
			return false
		}
	}
	return s.formatAlike() && s.enumAlike(kinds[0]) && s.boundAlike(s.Minimum) && s.boundAlike(s.Maximum)
}

// schemas are those of the properties.
func (s *schema) schemas() []*schema {
	parts := make([]*schema, len(s.properties))
	for i, p := range s.properties {
		parts[i] = p.schema
	}
	return parts
}

// saysNothing reports whether a schema excludes no value but by its types.
func (s *schema) saysNothing() bool {
	_, checked := formats[s.Format]
	return !checked && s.Enum == nil && s.pattern == nil && s.Minimum == "" && s.Maximum == "" && s.MinLength == nil && s.MaxLength == nil &&
		s.MinItems == nil && s.MaxItems == nil && len(s.properties) == 0 && s.items == nil && s.additional == nil && !s.closed && !s.Blob
}

// formatAlike: a host reads times as strictly, and then no other word about text; other
// formats are checked here alone.
func (s *schema) formatAlike() bool {
	if s.Format == "date-time" {
		return s.pattern == nil && s.Enum == nil && s.MinLength == nil && s.MaxLength == nil
	}
	_, checked := formats[s.Format]
	return !checked
}

// enumAlike: numbers are compared as they are written here, and by their value by a host,
// to which null among the words is one that may stand there.
func (s *schema) enumAlike(kind string) bool {
	return !slices.ContainsFunc(s.Enum, func(word json.RawMessage) bool {
		text := string(word)
		switch {
		case text == "null":
			return !s.nullable()
		case kind == "integer":
			return !integerGrammar().MatchString(text) || text == "-0"
		}
		return kind != "string" && kind != "boolean"
	})
}

// boundAlike: a host compares by float64.
func (s *schema) boundAlike(bound json.Number) bool {
	return bound == "" || compareNumbers(bound, exactFloats) < 0 && compareNumbers(bound, "-"+exactFloats) > 0
}

// takesAll reports whether a type takes every value that fits the schema which is read from
// it. open are the structs around.
func takesAll(t reflect.Type, open []reflect.Type) bool {
	switch t {
	case rawType, objectType, numberType, blobType, timeType:
		return true
	}
	if t.Kind() == reflect.Pointer {
		return takesAll(t.Elem(), open)
	}
	if implements(t, unmarshalerType) || implements(t, textReaderType) {
		return false // it may refuse anything
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64, reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return true
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Slice, reflect.Array:
		return t.Elem().Kind() != reflect.Uint8 && takesAll(t.Elem(), open)
	case reflect.Map:
		return !implements(t.Key(), textReaderType) && takesAll(t.Elem(), open)
	case reflect.Struct:
		return fieldsTakeAll(t, open)
	}
	return false // smaller numbers, whose bounds the schema does not have
}

func fieldsTakeAll(t reflect.Type, open []reflect.Type) bool {
	if slices.Contains(open, t) {
		return false // the schema takes any value from here on
	}
	open = append(slices.Clone(open), t)
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Tag.Get("json") == "-" || !field.IsExported() && !field.Anonymous {
			continue
		}
		if !takesAll(field.Type, open) {
			return false
		}
	}
	return true
}

var textReaderType = reflect.TypeFor[encoding.TextUnmarshaler]()
