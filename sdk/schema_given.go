package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Says reports whether the schema names types at all; one that does not takes any value.
func (s *Schema) Says() bool { return len(s.schema.types) > 0 || len(s.schema.anyOf) > 0 }

// Additional returns the schema of the members that an object has beyond Names, nil where
// it says nothing of them.
func (s *Schema) Additional() *Schema {
	if s.schema.additional == nil {
		return nil
	}
	return &Schema{s.schema.additional}
}

// takesOf is takes with the choices of anyOf and oneOf.
func (s *schema) takesOf(jsonType string) bool {
	return s.takes(jsonType) && (len(s.anyOf) == 0 || slices.ContainsFunc(s.anyOf, func(choice *schema) bool { return choice.takesOf(jsonType) }))
}

// CheckAnswer returns what of a service's answer does not fit, each with its JSON Pointer.
// It is more lenient than Check where services are: an integer may be written as 3.0, and
// members beyond those that the schema declares are taken, as the host takes them. anyOf,
// oneOf (as anyOf) and allOf count. No value is repeated: it may be a secret.
func (s *Schema) CheckAnswer(document Value) []Problem {
	tree, err := decodeTree(document)
	if err != nil {
		return []Problem{Problemf("", "is no JSON")}
	}
	c := fitCheck{}
	c.value(tree, s.schema, "")
	return c.problems
}

// Secrets are the JSON Pointers of the values in a document that stand where the schema
// says writeOnly.
func (s *Schema) Secrets(document Value) []string { return sensitivePointers(s.schema, document) }

// maxProblems bounds what is said of one document.
const maxProblems = 20

// fitCheck compares a document with a schema, without telling values.
type fitCheck struct{ problems []Problem }

func (c *fitCheck) report(at, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problemf(at, format, args...))
	}
}

func (c *fitCheck) value(v any, s *schema, at string) {
	if s == nil || len(c.problems) >= maxProblems {
		return
	}
	if !s.allows(asWhole(v, s)) {
		c.report(at, "must be %s, is %s", s.describe(), typeName(v))
		return
	}
	for _, part := range s.allOf {
		c.value(v, part, at)
	}
	if len(s.anyOf) > 0 && !slices.ContainsFunc(s.anyOf, func(choice *schema) bool { return fits(v, choice) }) {
		c.choices(v, s, at)
		return
	}
	if len(s.Enum) > 0 && v != nil && !inEnum(v, s.Enum) {
		c.report(at, "is none of the values that are allowed")
		return
	}
	switch typed := v.(type) {
	case json.Number:
		c.number(typed, s, at)
	case string:
		c.text(typed, s, at)
	case []any:
		c.list(typed, s, at)
	case map[string]any:
		c.object(typed, s, at)
	}
}

func fits(v any, s *schema) bool {
	c := fitCheck{}
	c.value(v, s, "")
	return len(c.problems) == 0
}

// choices says what is wrong where none fits: of the only choice that takes the type, what
// that says.
func (c *fitCheck) choices(v any, s *schema, at string) {
	var close []*schema
	for _, choice := range s.anyOf {
		if choice.allows(asWhole(v, choice)) {
			close = append(close, choice)
		}
	}
	if len(close) == 1 {
		c.value(v, close[0], at)
		return
	}
	c.report(at, "is %s that fits none of %d choices", typeName(v), len(s.anyOf))
}

// asWhole is a number without a fraction as an integer, however it is written.
func asWhole(v any, s *schema) any {
	number, is := v.(json.Number)
	if !is || s.takes("number") {
		return v
	}
	if whole, ok := wholeNumber(number); ok {
		return whole
	}
	return v
}

func (c *fitCheck) number(n json.Number, s *schema, at string) {
	if s.Minimum != "" && compareNumbers(n, s.Minimum) < 0 {
		c.report(at, "must be at least %s", s.Minimum)
	}
	if s.Maximum != "" && compareNumbers(n, s.Maximum) > 0 {
		c.report(at, "must be at most %s", s.Maximum)
	}
}

func (c *fitCheck) text(text string, s *schema, at string) {
	length := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && length < *s.MinLength:
		c.report(at, "must have at least %s, has %d", count(*s.MinLength, "character"), length)
	case s.MaxLength != nil && length > *s.MaxLength:
		c.report(at, "must have at most %s, has %d", count(*s.MaxLength, "character"), length)
	case s.pattern != nil && !s.pattern.MatchString(text):
		c.report(at, "must match %s", s.pattern)
	case checkFormat(s.Format, text) != "":
		c.report(at, "is no %s", s.Format)
	}
}

func (c *fitCheck) list(list []any, s *schema, at string) {
	if s.MinItems != nil && len(list) < *s.MinItems {
		c.report(at, "must have at least %s, has %d", count(*s.MinItems, "element"), len(list))
	}
	if s.MaxItems != nil && len(list) > *s.MaxItems {
		c.report(at, "must have at most %s, has %d", count(*s.MaxItems, "element"), len(list))
	}
	for i, item := range list {
		c.value(item, s.items, at+indexToken(i))
	}
}

func (c *fitCheck) object(object map[string]any, s *schema, at string) {
	for _, p := range s.properties {
		v, there := object[p.name]
		switch {
		case there:
			c.value(v, p.schema, at+nameToken(p.name))
		case p.required:
			c.report(at+nameToken(p.name), "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if s.property(name) == nil && s.additional != nil {
			c.value(object[name], s.additional, at+nameToken(name))
		}
	}
}

// readChoices reads anyOf, oneOf and allOf, where the reader is told to.
func (r *schemaReader) readChoices(s *schema, text schemaText) error {
	if !r.choices {
		return nil
	}
	for _, word := range []struct {
		name string
		all  []json.RawMessage
		into *[]*schema
	}{{"anyOf", text.AnyOf, &s.anyOf}, {"oneOf", text.OneOf, &s.anyOf}, {"allOf", text.AllOf, &s.allOf}} {
		for i, raw := range word.all {
			choice, err := r.read(raw)
			if err != nil {
				return fmt.Errorf("%s %d: %w", word.name, i, err)
			}
			*word.into = append(*word.into, choice)
		}
	}
	return nil
}
