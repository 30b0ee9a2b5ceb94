package plan

import (
	"encoding/json"
	"unicode/utf8"
)

// TextOf reads a JSON document that is a text; false where it is none.
func TextOf(document json.RawMessage) (text string, ok bool) {
	if n := len(document); n >= 2 && document[0] == '"' && document[n-1] == '"' && stands(document[1:n-1]) {
		return string(document[1 : n-1]), true
	}
	if len(document) > 0 && document[0] == '{' { // the most frequent document that is none
		return "", false
	}
	var decoded string
	err := json.Unmarshal(document, &decoded)
	return decoded, err == nil
}

// stands reports whether a text in JSON is ASCII without an escape.
func stands(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
