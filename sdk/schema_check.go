package sdk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

var (
	integerGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)$`) })
	numberGrammar  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)
	})
)

// checker compares a document with a schema and collects every problem.
type checker struct {
	unknown  unknownSet
	problems []Problem
}

// check compares a document with the schema, and returns it decoded.
func (s *schema) check(raw []byte, unknown unknownSet) (any, []Problem) {
	document, err := decodeTree(raw)
	if err != nil {
		return nil, []Problem{Problemf("", "is no JSON: %v", err)}
	}
	c := checker{unknown: unknown}
	c.value(document, s, "")
	return document, c.problems
}

func (c *checker) report(pointer, format string, args ...any) {
	c.problems = append(c.problems, Problemf(pointer, format, args...))
}

func (c *checker) value(v any, s *schema, pointer string) {
	if s == nil || c.unknown.covers(pointer) {
		return
	}
	if !s.allows(v) {
		problem := Problemf(pointer, "must be %s, is %s", s.describe(), describeValue(v, s))
		problem.Detail = quoteHint(v, s)
		c.problems = append(c.problems, problem)
		return
	}
	if v == nil {
		return
	}
	if len(s.Enum) > 0 && !inEnum(v, s.Enum) {
		c.reportEnum(v, s, pointer)
		return
	}
	switch typed := v.(type) {
	case json.Number:
		c.number(typed, s, pointer)
	case string:
		c.text(typed, s, pointer)
	case []any:
		c.list(typed, s, pointer)
	case map[string]any:
		if s.Blob {
			c.blob(typed, pointer)
			return
		}
		c.object(typed, s, pointer)
	}
}

// blob checks that an object refers to a large value.
func (c *checker) blob(fields map[string]any, pointer string) {
	digest, _ := fields["digest"].(string)
	if _, isNumber := fields["size"].(json.Number); !isNumber || !strings.HasPrefix(digest, "sha256:") {
		c.report(pointer, "must be a large value that another step gave")
	}
}

// quoteHint tells what to write where text is due and a number or a boolean
// stands; the value of a secret is not repeated.
func quoteHint(v any, s *schema) string {
	if s.Secret || !s.allows("") {
		return ""
	}
	switch v := v.(type) {
	case json.Number:
		return fmt.Sprintf("quote it: %q", v.String())
	case bool:
		return fmt.Sprintf("quote it: %q", strconv.FormatBool(v))
	}
	return ""
}

func (c *checker) object(object map[string]any, s *schema, pointer string) {
	known := 0
	for _, p := range s.properties {
		at := pointer + nameToken(p.name)
		v, there := object[p.name]
		switch {
		case there:
			known++
			c.value(v, p.schema, at)
		case p.required && !c.unknown.touches(at):
			c.report(at, "`%s` is required", p.name)
		}
	}
	if known == len(object) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if s.property(name) != nil {
			continue
		}
		at := pointer + nameToken(name)
		if !s.closed {
			c.value(object[name], s.additional, at)
			continue
		}
		problem := Problemf(at, "there is no field `%s`", plain(cut(name, 64)))
		problem.Detail = didYouMean(name, s.names())
		c.problems = append(c.problems, problem)
	}
}

func (c *checker) list(list []any, s *schema, pointer string) {
	if s.MinItems != nil && len(list) < *s.MinItems {
		c.report(pointer, "must have at least %s, has %d", count(*s.MinItems, "element"), len(list))
	}
	if s.MaxItems != nil && len(list) > *s.MaxItems {
		c.report(pointer, "must have at most %s, has %d", count(*s.MaxItems, "element"), len(list))
	}
	for i, item := range list {
		c.value(item, s.items, pointer+indexToken(i))
	}
}

func (c *checker) text(text string, s *schema, pointer string) {
	length := utf8.RuneCountInString(text)
	switch {
	case s.MinLength != nil && length < *s.MinLength && length == 0:
		c.report(pointer, "must not be empty")
	case s.MinLength != nil && length < *s.MinLength:
		c.report(pointer, "must have at least %s, has %d", count(*s.MinLength, "character"), length)
	case s.MaxLength != nil && length > *s.MaxLength:
		c.report(pointer, "must have at most %s, has %d", count(*s.MaxLength, "character"), length)
	case s.pattern != nil && !s.pattern.MatchString(text):
		c.report(pointer, "must match %s", s.pattern)
	}
	if wrong := checkFormat(s.Format, text); wrong != "" {
		c.report(pointer, "%s", wrong)
	}
}

func (c *checker) number(n json.Number, s *schema, pointer string) {
	if s.Minimum != "" && compareNumbers(n, s.Minimum) < 0 {
		c.report(pointer, "must be at least %s, is %s", s.Minimum, n)
	}
	if s.Maximum != "" && compareNumbers(n, s.Maximum) > 0 {
		c.report(pointer, "must be at most %s, is %s", s.Maximum, n)
	}
}

func (c *checker) reportEnum(v any, s *schema, pointer string) {
	var allowed, texts []string
	seen := map[string]bool{} // words that differ only in the case of letters are shown once
	for _, e := range s.Enum {
		if string(e) == "null" {
			continue
		}
		var text string
		if json.Unmarshal(e, &text) != nil {
			text = string(e)
		}
		texts = append(texts, text)
		if folded := strings.ToLower(text); !seen[folded] {
			seen[folded] = true
			allowed = append(allowed, "`"+text+"`")
		}
	}
	got := describeValue(v, s)
	text, isText := v.(string)
	if isText && !s.Secret {
		got = strings.TrimPrefix(got, "the text ")
	}
	problem := Problemf(pointer, "must be one of %s; got %s", strings.Join(allowed, ", "), got)
	if isText && !s.Secret {
		problem.Detail = didYouMean(text, texts)
	}
	c.problems = append(c.problems, problem)
}

func inEnum(v any, enum []json.RawMessage) bool {
	text := encoded(v)
	return slices.ContainsFunc(enum, func(e json.RawMessage) bool { return bytes.Equal(e, text) })
}

// allows reports whether the value's JSON type is one of the schema's.
func (s *schema) allows(v any) bool {
	switch typed := v.(type) {
	case nil:
		return s.takes("null")
	case bool:
		return s.takes("boolean")
	case string:
		return s.takes("string")
	case json.Number:
		return s.takes("number") || s.takes("integer") && integerGrammar().MatchString(typed.String())
	case []any:
		return s.takes("array")
	}
	return s.takes("object")
}

// describe names what the schema takes, for people.
func (s *schema) describe() string {
	words := map[string]string{
		"string": "text", "integer": "an integer", "number": "a number", "boolean": "true or false",
		"array": "a list", "object": "an object", "null": "null",
	}
	var names []string
	for _, t := range s.types {
		if t == "null" && len(s.types) > 1 {
			continue
		}
		names = append(names, words[t])
	}
	return strings.Join(names, " or ")
}

// describeValue shows a value in a message, unless it is a secret.
func describeValue(v any, s *schema) string {
	switch typed := v.(type) {
	case string:
		if s.Secret || s.hasSecrets() {
			return "other text"
		}
		return "the text " + strconv.Quote(cut(plain(typed), 64))
	case bool, json.Number:
		if s.Secret {
			return "another value"
		}
		return cut(fmt.Sprint(v), 64)
	}
	return typeName(v)
}

// compareNumbers compares exactly where both are integers of 64 bits.
func compareNumbers(a, b json.Number) int {
	if x, err := a.Int64(); err == nil {
		if y, err := b.Int64(); err == nil {
			return cmp.Compare(x, y)
		}
	}
	x, _ := a.Float64() // both are numbers of JSON: one that is too large is infinite
	y, _ := b.Float64()
	return cmp.Compare(x, y)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
