package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/sdk/proto/document"
)

// DocumentFault says what keeps a plugin's document from being JSON that all read
// alike, "" for nothing. A plugin with the SDK holds its service's answers to the
// same.
func DocumentFault(doc []byte) string {
	if why := schema.WhyNoJSON(doc); why != "" {
		return "it is no JSON: " + why
	}
	return document.Problem(doc)
}

// Said passes a document for people: what readers would read differently becomes what
// they read alike, and known secrets are masked. nil = it is no JSON.
func (g *Gate) Said(doc []byte) []byte {
	if len(doc) == 0 {
		return nil
	}
	return g.Mask(forPeople(doc))
}

// forPeople makes of a document that readers would read differently one that they
// read alike: bytes that are no text become U+FFFD, of a name that stands twice the
// last counts, a number that readers can't hold becomes its text. nil = it is no JSON.
func forPeople(doc []byte) []byte {
	if !utf8.Valid(doc) {
		doc = bytes.ToValidUTF8(doc, []byte("\uFFFD"))
	}
	if !json.Valid(doc) {
		return nil
	}
	if document.Problem(doc) == "" {
		return doc
	}
	tree, err := Tree(doc)
	if err != nil {
		return nil
	}
	clean, err := schema.Encode(numbersAsText(tree))
	if err != nil || document.Problem(clean) != "" { // such as nested too deep
		return nil
	}
	return clean
}

// numbersAsText turns the numbers that readers can't hold into texts.
func numbersAsText(v any) any {
	switch v := v.(type) {
	case json.Number:
		if document.Problem([]byte(v)) != "" {
			return v.String()
		}
	case []any:
		for i := range v {
			v[i] = numbersAsText(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbersAsText(v[name])
		}
	}
	return v
}

// Tree reads a JSON document with numbers as written.
func Tree(doc []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return tree, nil
}

// Mask masks known secrets inside the texts of a JSON document, its names too. It
// stays JSON, as it was written where nothing is masked. References to secrets stay.
// nil = it can't be masked.
func (g *Gate) Mask(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 || !g.Holds(string(doc)) && !g.holdsEscaped(doc) {
		return doc
	}
	tree, err := Tree(doc)
	if err != nil {
		return nil
	}
	masked, err := schema.Encode(g.maskTree(tree))
	if err != nil {
		return nil
	}
	return masked
}

// holdsEscaped finds a secret of which characters are written as escapes that need
// none, as in "\u0061bc": who reads the document reads the secret.
func (g *Gate) holdsEscaped(doc []byte) bool {
	return bytes.IndexByte(doc, '\\') >= 0 && g.Holds(string(unescaped(doc)))
}

// unescaped writes the escapes of a JSON document's texts as what they stand for. The
// result is to be searched, no document.
func unescaped(doc []byte) []byte {
	clear := make([]byte, 0, len(doc))
	for i := 0; i < len(doc); i++ {
		if doc[i] != '\\' || i+1 >= len(doc) {
			clear = append(clear, doc[i])
			continue
		}
		i++
		if doc[i] != 'u' {
			clear = append(clear, cmp.Or(escapes[doc[i]], doc[i]))
			continue
		}
		r, size := escapedRune(doc[i+1:])
		clear = utf8.AppendRune(clear, r)
		i += size
	}
	return clear
}

// escapes are what the letters behind a backslash stand for that are not themselves.
var escapes = [256]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'f': '\f'}

// escapedRune reads what stands behind "\u", with the second half of a pair.
func escapedRune(text []byte) (r rune, size int) {
	first, ok := hexRune(text)
	if !ok {
		return utf8.RuneError, 0
	}
	if !utf16.IsSurrogate(first) || len(text) < 10 || text[4] != '\\' || text[5] != 'u' {
		return first, 4
	}
	second, ok := hexRune(text[6:])
	if pair := utf16.DecodeRune(first, second); ok && pair != utf8.RuneError {
		return pair, 10
	}
	return first, 4
}

func hexRune(text []byte) (rune, bool) {
	if len(text) < 4 {
		return 0, false
	}
	number, err := strconv.ParseUint(string(text[:4]), 16, 16)
	return rune(number), err == nil //nolint:gosec // 16 bits
}

func (g *Gate) maskTree(v any) any {
	switch v := v.(type) {
	case string:
		return g.redact(v)
	case json.Number:
		if masked := g.redact(v.String()); masked != v.String() {
			return masked
		}
	case []any:
		for i := range v {
			v[i] = g.maskTree(v[i])
		}
	case map[string]any:
		if _, isReference := schema.SecretName(v); isReference {
			return v
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			value := g.maskTree(v[name])
			if masked := g.redact(name); masked != name {
				delete(v, name)
				name = masked
			}
			v[name] = value
		}
	}
	return v
}

// schema refuses a JSON Schema that holds a known secret: a masked one would say
// something else.
func (g *Gate) schema(doc []byte) *Fault {
	if len(doc) == 0 || !g.Holds(string(doc)) && !g.holdsEscaped(doc) {
		return nil
	}
	tree, err := Tree(doc)
	if err != nil {
		return &Fault{Why: "it is no JSON"}
	}
	return g.names(tree)
}

// names holds each text of a tree to what names are held to.
func (g *Gate) names(v any) *Fault {
	switch v := v.(type) {
	case string:
		return g.name(v)
	case json.Number:
		return g.name(v.String())
	case []any:
		for _, part := range v {
			if fault := g.names(part); fault != nil {
				return fault
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if fault := g.name(name); fault != nil {
				return fault
			}
			if fault := g.names(v[name]); fault != nil {
				return fault
			}
		}
	}
	return nil
}
