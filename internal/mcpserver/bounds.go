package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutValue is a value that is too large for an answer.
type cutValue struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes" jsonschema:"its size as JSON"`
	Head  string `json:"head" jsonschema:"how it begins"`
}

// headSize is how much of a value that is cut is shown.
const headSize = 600

// fitting returns the values that fit an answer by name, and of the others how they
// begin.
func fitting(values map[string]json.RawMessage) (whole map[string]json.RawMessage, cut []cutValue) {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	whole, room := map[string]json.RawMessage{}, maxValues
	for _, name := range names {
		value := values[name]
		if len(value) <= min(maxValue, room) {
			whole[name], room = value, room-len(value)
			continue
		}
		cut = append(cut, cutValue{Name: name, Bytes: len(value), Head: head(string(value), headSize)})
	}
	return whole, cut
}

// fittingValue is a value that fits an answer; of one that does not it is how it begins,
// as text.
func fittingValue(value json.RawMessage, limit int) json.RawMessage {
	if len(value) <= limit {
		return value
	}
	text, err := json.Marshal(head(string(value), headSize) + "…")
	if err != nil {
		return nil
	}
	return text
}

// head is the beginning of a text, of whole letters.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// cutText is head with a mark where something is missing.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return head(text, limit) + "…"
}

// oneLine is a short text from elsewhere without anything that is not to be printed.
func oneLine(text string, limit int) string {
	return cutText(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text), limit)
}
