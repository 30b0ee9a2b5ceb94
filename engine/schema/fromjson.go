package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
)

// maxTypes bounds the types that one schema may make: references can double at
// every level.
const maxTypes = 20_000

// FromJSON reads the part of JSON Schema 2020-12 that the language uses: type,
// enum, const, format date-time and duration, bounds, pattern, properties,
// required, additionalProperties, items, nullable, writeOnly, description,
// default, and $ref into the document itself. Words beyond these are ignored;
// what can't be expressed as a Type reads as any value. An object without
// properties takes any names; one with properties takes only those unless
// additionalProperties says otherwise, and is open: a value that somebody else made
// may have others all the same. `additionalProperties: false` excludes them.
func FromJSON(schema []byte) (*Type, error) {
	root, err := parseOrdered(schema)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	r := reader{root: schema, targets: map[string][]byte{}}
	t, err := r.read(schema, root)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return t, nil
}

// FromJSONOr is FromJSON for a schema that may be left out: otherwise stands for it
// then.
func FromJSONOr(schema []byte, otherwise *Type) (*Type, error) {
	if len(schema) == 0 {
		return otherwise, nil
	}
	return FromJSON(schema)
}

// MustFromJSON is FromJSON for schemas that are part of the program. It panics
// on an error.
func MustFromJSON(schema string) *Type {
	t, err := FromJSON([]byte(schema))
	if err != nil {
		panic(err)
	}
	return t
}

// ordered is a JSON object with its names in written order.
type ordered struct {
	names  []string
	values map[string]json.RawMessage
}

func parseOrdered(data []byte) (*ordered, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	start, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch start {
	case json.Delim('{'):
	case true:
		return &ordered{}, nil
	default:
		return nil, fmt.Errorf("a schema is an object, got %s", duration.Quote(string(data)))
	}
	o := &ordered{values: map[string]json.RawMessage{}}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if _, twice := o.values[name]; !twice {
			o.names = append(o.names, name)
		}
		o.values[name] = value
	}
	_, err = decoder.Token()
	return o, err
}

// reader reads one schema document.
type reader struct {
	root    []byte
	made    int
	open    []string          // references being followed
	targets map[string][]byte // of the references that were followed
	depth   int
}

func (r *reader) raw(data []byte) (*Type, error) {
	if bytes.Equal(bytes.TrimSpace(data), []byte("false")) {
		return nil, errors.New("the schema `false` allows no value")
	}
	o, err := parseOrdered(data)
	if err != nil {
		return nil, err
	}
	return r.read(data, o)
}

func (r *reader) read(data []byte, o *ordered) (*Type, error) {
	if r.made++; r.made > maxTypes {
		return nil, fmt.Errorf("schema is too large: more than %d types", maxTypes)
	}
	if r.depth++; r.depth > 64 {
		return nil, errors.New("schema is nested deeper than 64")
	}
	defer func() { r.depth-- }()
	if ref, ok := o.values["$ref"]; ok {
		return r.follow(ref, o)
	}
	if t, ok, err := r.readAlternatives(o); ok || err != nil {
		return t, err
	}
	t := &Type{}
	for _, read := range []func(*Type, *ordered) error{
		r.readWords, r.readKind, r.readParts, r.readBounds, r.readEnum,
	} {
		if err := read(t, o); err != nil {
			return nil, err
		}
	}
	t.indexFields()
	return t, nil
}

// follow reads what a local reference points at. A reference to something that
// is being read already is a recursive schema: any value.
func (r *reader) follow(raw json.RawMessage, o *ordered) (*Type, error) {
	var ref string
	if err := json.Unmarshal(raw, &ref); err != nil {
		return nil, fmt.Errorf("$ref: %w", err)
	}
	if slices.Contains(r.open, ref) {
		return &Type{}, nil
	}
	target, ok := r.targets[ref]
	if !ok {
		var err error
		if target, err = lookUp(r.root, ref); err != nil {
			return nil, err
		}
		r.targets[ref] = target
	}
	r.open = append(r.open, ref)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	t, err := r.raw(target)
	if err != nil {
		return nil, err
	}
	own := *t
	if err := r.readWords(&own, o); err != nil {
		return nil, err
	}
	if own.Doc == "" {
		own.Doc = t.Doc
	}
	own.Nullable = own.Nullable || t.Nullable
	own.Secret = own.Secret || t.Secret
	return &own, nil
}

func lookUp(root []byte, ref string) ([]byte, error) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("$ref %s points out of the schema", duration.Quote(ref))
	}
	at := root
	for _, part := range diag.PointerParts(rest) {
		if part == "" {
			continue
		}
		o, err := parseOrdered(at)
		if err != nil {
			return nil, fmt.Errorf("$ref %s: %w", duration.Quote(ref), err)
		}
		if at, ok = o.values[part]; !ok {
			return nil, fmt.Errorf("$ref %s points at nothing", duration.Quote(ref))
		}
	}
	return at, nil
}

// readAlternatives handles anyOf and oneOf: one schema and null is that schema,
// nullable; other choices are any value.
func (r *reader) readAlternatives(o *ordered) (*Type, bool, error) {
	for _, word := range []string{"anyOf", "oneOf"} {
		raw, ok := o.values[word]
		if !ok {
			continue
		}
		var choices []json.RawMessage
		if err := json.Unmarshal(raw, &choices); err != nil {
			return nil, false, fmt.Errorf("%s: %w", word, err)
		}
		t := &Type{}
		var rest []*Type
		nullable := false
		for _, choice := range choices {
			one, err := r.raw(choice)
			if err != nil {
				return nil, false, err
			}
			if one.Kind == Null {
				nullable = true
				continue
			}
			rest = append(rest, one)
		}
		if len(rest) == 1 {
			copied := *rest[0]
			t = &copied
			t.Nullable = t.Nullable || nullable && t.Kind != Any
		}
		doc := t.Doc
		if err := r.readWords(t, o); err != nil {
			return nil, false, err
		}
		if t.Doc == "" {
			t.Doc = doc
		}
		t.Nullable = t.Nullable || nullable && t.Kind != Any
		return t, true, nil
	}
	return nil, false, nil
}

// readWords reads the words that stand beside any type.
func (r *reader) readWords(t *Type, o *ordered) error {
	var nullable, writeOnly bool
	var doc string
	for word, into := range map[string]any{"nullable": &nullable, "writeOnly": &writeOnly, "description": &doc} {
		if raw, ok := o.values[word]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s: %w", word, err)
			}
		}
	}
	t.Nullable = t.Nullable || nullable
	t.Secret = t.Secret || writeOnly
	t.Doc = doc
	if raw, ok := o.values["default"]; ok {
		t.Default = bytes.Clone(raw)
	}
	return nil
}

func (r *reader) readKind(t *Type, o *ordered) error {
	names, err := typeNames(o)
	if err != nil {
		return err
	}
	for i, name := range names {
		kind, ok := kindNames()[name]
		switch {
		case !ok:
			return fmt.Errorf("type %s is unknown", duration.Quote(name))
		case kind == Null && len(names) > 1:
			t.Nullable = true
			continue
		case t.Kind == Any && !hasOther(names[:i]):
			t.Kind = kind
		case t.Kind == Int && kind == Number || t.Kind == Number && kind == Int:
			t.Kind = Number
		default: // several types
			t.Kind = Any
			return nil
		}
	}
	if len(names) == 0 {
		t.Kind = impliedKind(o)
	}
	if t.Kind == String {
		t.Kind = formatKind(o)
	}
	return nil
}

func hasOther(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return name != "null" })
}

func kindNames() map[string]Kind {
	return map[string]Kind{
		"null": Null, "boolean": Bool, "integer": Int, "number": Number, "string": String, "array": List, "object": Object,
	}
}

func typeNames(o *ordered) ([]string, error) {
	raw, ok := o.values["type"]
	if !ok {
		return nil, nil
	}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		return []string{name}, nil
	}
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, fmt.Errorf("type: %w", err)
	}
	return names, nil
}

func impliedKind(o *ordered) Kind {
	if _, ok := o.values["properties"]; ok {
		return Object
	}
	if _, ok := o.values["items"]; ok {
		return List
	}
	return Any
}

func formatKind(o *ordered) Kind {
	var format string
	_ = json.Unmarshal(o.values["format"], &format) // another form of format is a word we do not know
	switch format {
	case "date-time":
		return Time
	case "duration":
		return Duration
	}
	return String
}
