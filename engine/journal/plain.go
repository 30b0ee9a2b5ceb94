package journal

import (
	"bytes"
	"encoding/json"
)

// Plain reports whether a JSON text is stored as it is: valid, without white space
// between its parts, and without a letter that json.Marshal escapes. So no copy of a
// large one is made to find out how it is stored. false costs a copy, nothing else.
func Plain(text []byte) bool {
	if len(text) == 0 || !json.Valid(text) || bytes.ContainsAny(text, "<>&\u2028\u2029") {
		return false
	}
	inText := false
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			inText = !inText
		case c == '\\':
			at++ // in a text: what is escaped ends none
		case !inText && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
			return false
		}
	}
	return true
}
