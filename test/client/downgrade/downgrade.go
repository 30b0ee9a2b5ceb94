// Package downgrade turns our OpenAPI 3.1 document into one of version 3.0, which
// more generators read.
package downgrade

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Document returns the document in version 3.0.3: a value that may be null is
// `nullable`, examples are one, and what 3.0 has no word for is left out.
func Document(source []byte) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(source, &document); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	document["openapi"] = "3.0.3"
	if info, ok := document["info"].(map[string]any); ok {
		if license, ok := info["license"].(map[string]any); ok {
			delete(license, "identifier")
		}
	}
	walk(document)
	data, err := json.MarshalIndent(document, "", "  ")
	return append(data, '\n'), err
}

func walk(value any) {
	switch value := value.(type) {
	case map[string]any:
		object(value)
		for _, below := range value {
			walk(below)
		}
	case []any:
		for _, below := range value {
			walk(below)
		}
	}
}

func object(schema map[string]any) {
	if types, ok := schema["type"].([]any); ok && slices.Contains(types, any("null")) {
		schema["type"], schema["nullable"] = types[0], true
	}
	if choices, ok := schema["anyOf"].([]any); ok && len(choices) == 2 {
		if null, ok := choices[1].(map[string]any); ok && null["type"] == "null" {
			delete(schema, "anyOf")
			schema["allOf"], schema["nullable"] = choices[:1], true
		}
	}
	if examples, ok := schema["examples"].([]any); ok && len(examples) > 0 {
		delete(schema, "examples")
		schema["example"] = examples[0]
	}
	if reference := schema["$ref"]; reference != nil { // nothing may stand beside it
		clear(schema)
		schema["$ref"] = reference
	}
	if schema["contentEncoding"] == "base64" {
		delete(schema, "contentEncoding")
		schema["format"] = "byte"
	}
}
