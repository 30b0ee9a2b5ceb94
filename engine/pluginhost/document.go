package pluginhost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/proto/document"
)

// documentFault says what keeps a plugin's document from being JSON that all read
// alike, "" for nothing. A plugin with the SDK holds its service's answers to the
// same.
func documentFault(doc []byte) string {
	if why := schema.WhyNoJSON(doc); why != "" {
		return "it is no JSON: " + why
	}
	return document.Problem(doc)
}

// forPeople makes of a document that readers would read differently one that they
// read alike: bytes that are no text become U+FFFD, of a name that stands twice the
// last counts, a number that readers can't hold becomes its text. nil = it is no JSON.
func forPeople(doc []byte) json.RawMessage {
	doc = bytes.ToValidUTF8(doc, []byte("\uFFFD"))
	if !json.Valid(doc) {
		return nil
	}
	if document.Problem(doc) == "" {
		return doc
	}
	tree, err := decodeTree(doc)
	if err != nil {
		return nil
	}
	tree, err = visit(tree, nil, "", func(v any, _ *schema.Type, _ string) (any, bool, error) {
		if number, is := v.(json.Number); is && document.Problem([]byte(number)) != "" {
			return string(number), true, nil
		}
		return v, false, nil
	})
	if err != nil {
		return nil
	}
	clean, err := schema.Encode(tree)
	if err != nil || document.Problem(clean) != "" { // such as nested too deep
		return nil
	}
	return clean
}

// decodeTree reads a JSON document with numbers as written.
func decodeTree(doc []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return tree, nil
}

// visit calls change for each value of a tree, parents first, with its JSON
// Pointer and its type (nil where nothing is known), and puts the answer in its
// place. The parts of a value that change replaced are not visited.
func visit(v any, t *schema.Type, pointer string, change func(v any, t *schema.Type, pointer string) (any, bool, error)) (any, error) {
	replaced, done, err := change(v, t, pointer)
	if err != nil || done {
		return replaced, err
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) { // the first problem found must always be the same
			if v[name], err = visit(v[name], fieldType(t, name), pointer+"/"+escapePointer(name), change); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = visit(v[i], elementType(t), pointer+"/"+strconv.Itoa(i), change); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func sortedKeys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func fieldType(t *schema.Type, name string) *schema.Type {
	if t == nil || t.Kind != schema.Object {
		return nil
	}
	field, _ := t.Field(name)
	return field
}

func elementType(t *schema.Type) *schema.Type {
	if t == nil || t.Kind != schema.List {
		return nil
	}
	return t.Elem
}

func escapePointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
