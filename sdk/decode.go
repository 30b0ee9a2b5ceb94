package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// decodeTree decodes a document with its numbers as written.
func decodeTree(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON document")
	}
	return document, nil
}

// decodeInto checks a document against a schema and decodes it over the
// schema's defaults into a new value of t, which it returns as a pointer. An
// empty document is an empty object. Values of type
// Value keep their bytes.
func decodeInto(raw []byte, s *schema, t reflect.Type, unknown []string) (any, []Problem) {
	into := reflect.New(t)
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	missing := newUnknownSet(unknown)
	document, problems := s.check(raw, missing)
	if firstError(problems) != nil {
		return into.Interface(), problems
	}
	if len(missing) > 0 {
		document = missing.without(document, "")
		raw = encoded(document)
	}
	if t == rawType { // nothing to decode over
		if filled, changed := s.fill(document); changed {
			raw = encoded(filled)
		}
	}
	if err := fillDefaults(into, s); err != nil {
		return into.Interface(), append(problems, Problemf("", "%v", err))
	}
	if err := decodeExact(raw, into.Interface()); err != nil {
		return into.Interface(), append(problems, decodeProblem(err))
	}
	return into.Interface(), problems
}

// decodeExact decodes a document that is known to be JSON. Where the author
// takes any value, numbers are json.Number: a float would change an id.
func decodeExact(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// fillDefaults decodes the schema's defaults into a fresh value; the document
// is decoded over them.
func fillDefaults(into reflect.Value, s *schema) error {
	defaults := s.defaults()
	if defaults == nil {
		return nil
	}
	if err := json.Unmarshal(encoded(defaults), into.Interface()); err != nil {
		return fmt.Errorf("fill in defaults: %w", err)
	}
	return nil
}

// decodeProblem says what the schema could not: a number too large for the
// author's type, a text that its type refuses.
func decodeProblem(err error) Problem {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return Problemf("", "%s", plain(cut(err.Error(), 200)))
	}
	pointer := ""
	if mismatch.Field != "" {
		for _, name := range strings.Split(mismatch.Field, ".") {
			pointer += nameToken(name)
		}
	}
	return Problemf(pointer, "%s does not fit into %s", plain(cut(mismatch.Value, 64)), mismatch.Type)
}
