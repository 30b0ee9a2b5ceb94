package sdk

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut shortens text to at most limit bytes at a rune's border.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "..."
	end := max(limit-len(mark), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}

// plain makes foreign text fit for a message: valid UTF-8 on one line, without
// control characters that a terminal would obey.
func plain(text string) string {
	text = strings.ToValidUTF8(text, "?")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

// marshalJSON encodes without escaping <, > and &, which are no danger here
// and would change what a service said.
func marshalJSON(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}
