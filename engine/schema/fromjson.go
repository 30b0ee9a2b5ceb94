package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/duration"
)

// maxTypes bounds the types that one schema may make: references can double at
// every level.
const maxTypes = 20_000

// FromJSON reads the part of JSON Schema 2020-12 that the language uses: type,
// enum, const, format date-time and duration, bounds, pattern, properties,
// required, additionalProperties, items, nullable, writeOnly, description,
// default, anyOf, oneOf, allOf, x-flowrun-blob, and $ref into the document itself. Words beyond these
// are ignored (Ignored tells them); what can't be expressed as a Type reads as a wider
// one: any value, or what the choices of anyOf and oneOf have in common. An object without
// properties takes any names; one with properties takes only those unless
// additionalProperties says otherwise, and is open: a value that somebody else made
// may have others all the same. `additionalProperties: false` excludes them.
func FromJSON(schema []byte) (*Type, error) {
	root, err := parseOrdered(schema)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	t, err := newReader(root).read(root)
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
	list   bool // it was a list: its elements by their numbers
}

// parseOrdered reads an object, or `true`, in which nothing stands. What is valid JSON is
// cut into its members; the decoder says what is wrong with the rest.
func parseOrdered(data []byte) (*ordered, error) {
	if json.Valid(data) {
		return cutOrdered(data)
	}
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

// cutOrdered is parseOrdered for a part of a document that is known to be valid. The
// values share its bytes.
func cutOrdered(data []byte) (*ordered, error) {
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "true":
		return &ordered{}, nil
	case len(data) == 0 || data[0] != '{':
		return nil, fmt.Errorf("a schema is an object, got %s", duration.Quote(string(data)))
	}
	o := &ordered{values: map[string]json.RawMessage{}}
	for at := blank(data, 1); data[at] != '}'; {
		end := valueEnd(data, at)
		name, err := memberName(data[at:end])
		if err != nil {
			return nil, err
		}
		at = blank(data, blank(data, end)+1) // behind the colon
		end = valueEnd(data, at)
		if _, twice := o.values[name]; !twice {
			o.names = append(o.names, name)
		}
		o.values[name] = data[at:end:end]
		if at = blank(data, end); data[at] == ',' {
			at = blank(data, at+1)
		}
	}
	return o, nil
}

// memberName decodes a name: most are as they stand.
func memberName(quoted []byte) (name string, err error) {
	plain := quoted[1 : len(quoted)-1]
	if !bytes.ContainsFunc(plain, func(r rune) bool { return r == '\\' || r > 126 }) {
		return string(plain), nil
	}
	err = json.Unmarshal(quoted, &name)
	return name, err
}

// readWords reads the words that stand beside any type.
func (r *reader) readWords(t *Type, o *ordered) error {
	var nullable, writeOnly bool
	var doc string
	for word, into := range map[string]any{"nullable": &nullable, "writeOnly": &writeOnly, "description": &doc, "x-flowrun-expected": &t.Expected} {
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
	var kinds []Kind
	for _, name := range names {
		kind, ok := kindNames()[name]
		switch {
		case !ok:
			return fmt.Errorf("type %s is unknown", duration.Quote(name))
		case kind == Null && len(names) > 1:
			t.Nullable = true
		case kind == Int && slices.Contains(kinds, Number), slices.Contains(kinds, kind):
		case kind == Number && slices.Contains(kinds, Int):
			kinds[slices.Index(kinds, Int)] = Number
		default:
			kinds = append(kinds, kind)
		}
	}
	switch len(kinds) {
	case 0:
		t.Kind = impliedKind(o)
	case 1:
		t.Kind = kinds[0]
	default:
		return r.readSeveral(t, o, kinds)
	}
	if t.Kind == String {
		t.Kind = formatKind(o)
		t.File = t.Kind == String && formatOf(o) == FormatFile
	}
	return r.readBlob(t, o)
}

// readBlob reads that an object refers to a large value.
func (r *reader) readBlob(t *Type, o *ordered) error {
	raw, ok := o.values[blobWord]
	if !ok {
		return nil
	}
	var is bool
	if err := json.Unmarshal(raw, &is); err != nil {
		return fmt.Errorf("%s: %w", blobWord, err)
	}
	switch {
	case !is:
		return nil
	case t.Kind != Object && t.Known():
		return fmt.Errorf("%s stands at a type that is %s; a large value is an object", blobWord, t.Article())
	case t.Secret:
		return fmt.Errorf("%s: a large value can't be writeOnly; who makes it says that it is sensitive", blobWord)
	}
	t.Kind = Object
	t.becomeBlob()
	return nil
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

// FormatFile is the format of a text that is the path of a file of the project, in
// schemas of settings.
const FormatFile = "project-file"

func formatOf(o *ordered) string {
	var format string
	_ = json.Unmarshal(o.values["format"], &format) // another form of format is a word we do not know
	return format
}

func formatKind(o *ordered) Kind {
	switch formatOf(o) {
	case "date-time":
		return Time
	case "duration":
		return Duration
	}
	return String
}
