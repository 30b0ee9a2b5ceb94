package workspace

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ReadableJSON writes a JSON value for people: indented, and with & < > as they
// are, which stored values hold as \u0026 and its like. It stays the same value.
// What is no JSON stays as it is.
func ReadableJSON(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	text := out.String()
	if !strings.Contains(text, `\u00`) {
		return text
	}
	return unescaper.Replace(text)
}

// unescaper takes two backslashes together, so that an escaped backslash before
// u0026 is none of it.
var unescaper = strings.NewReplacer(`\\`, `\\`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">")
