package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxSize bounds a document, in bytes, as it is read and as JSON.
const MaxSize = 64 << 20

// maxDepth bounds how deep values lie in each other.
const maxDepth = 500

// Parse reads a document of JSON or YAML: what begins with a brace and a quote is JSON.
// The error has the line.
func Parse(data []byte) (*Node, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("the document has %d bytes, more than %d", len(data), MaxSize)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the document is not in UTF-8")
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return nil, errors.New("the document is empty")
	}
	if data[0] != '{' {
		return parseYAML(data)
	}
	if json.Valid(data) {
		return &Node{raw: data}, tooDeep(data)
	}
	if inner := bytes.TrimSpace(data[1:]); len(inner) == 0 || inner[0] == '"' {
		return nil, invalid(data)
	}
	return parseYAML(data)
}

// invalid says where a document stops being JSON.
func invalid(data []byte) error {
	var document any
	err := json.Unmarshal(data, &document)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return errors.New("the document is no JSON")
	}
	before := data[:min(int(syntax.Offset), len(data))]
	return fmt.Errorf("the document is no JSON: line %d: %w", bytes.Count(before, []byte{'\n'})+1, syntax)
}

// tooDeep refuses a document whose values lie too deep in each other.
func tooDeep(valid []byte) error {
	depth := 0
	for at := 0; at < len(valid); at++ {
		switch valid[at] {
		case '"':
			at = textEnd(valid, at) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return fmt.Errorf("the document is nested deeper than %d", maxDepth)
			}
		case '}', ']':
			depth--
		}
	}
	return nil
}
