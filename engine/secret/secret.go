// Package secret keeps clear secrets in few places: references stand for them
// everywhere else, providers resolve references at the moment of sending, a
// sealer encrypts what is stored, a redactor masks what slips into texts, and
// one refresh lease per credential guards the rotation of tokens.
package secret

import (
	"bytes"
	"encoding/json"
)

// Redacted stands where a secret would be shown.
const Redacted = "[redacted]"

// referenceKey is the only member of a reference object.
const referenceKey = "$secret"

// Reference returns the JSON that stands for the secret of this name.
func Reference(name string) json.RawMessage {
	encoded, err := json.Marshal(map[string]string{referenceKey: name})
	if err != nil { // a map of strings always encodes
		return nil
	}
	return encoded
}

// ParseReference returns the name when data is exactly one reference object.
func ParseReference(data []byte) (name string, ok bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return "", false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil || len(object) != 1 {
		return "", false
	}
	raw, exists := object[referenceKey]
	if !exists || len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &name) != nil || name == "" {
		return "", false
	}
	return name, true
}
