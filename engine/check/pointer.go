package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
)

func itoa(n int) string { return strconv.Itoa(n) }

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// child is the JSON pointer of a part.
func child(pointer, name string) string {
	return pointer + diag.Pointer(name)
}

// jsonMember is a part of an object, which is JSON.
type jsonMember struct {
	name string
	json json.RawMessage
}

// encodeObject writes members with names that differ as encode writes a map of them.
func encodeObject(members []jsonMember) json.RawMessage {
	slices.SortFunc(members, func(a, b jsonMember) int { return strings.Compare(a.name, b.name) })
	size := 2
	for _, m := range members {
		if !isPlainText(m.name) || !isPlain(m.json) {
			byName := make(map[string]json.RawMessage, len(members))
			for _, m := range members {
				byName[m.name] = m.json
			}
			return encode(byName)
		}
		size += len(m.name) + len(m.json) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.name...), '"', ':')
		out = append(out, m.json...)
	}
	return append(out, '}')
}

// isPlain reports JSON that encoding/json writes as it stands: nothing to leave out between
// its parts, nothing that it escapes.
func isPlain(text json.RawMessage) bool {
	for i, b := range text {
		blank := b == ' ' && text[0] == '"' && i > 0 // inside of a text
		if !blank && (b <= ' ' || b >= utf8.RuneSelf || b == '<' || b == '>' || b == '&') {
			return false
		}
	}
	return len(text) > 0
}

// isPlainText reports text that encoding/json puts into quotes and writes as it stands.
func isPlainText(text string) bool {
	for _, b := range []byte(text) {
		if b < ' ' || b >= utf8.RuneSelf || strings.IndexByte(`"\<>&`, b) >= 0 {
			return false
		}
	}
	return true
}

// encode writes parts that are JSON already, keys sorted.
func encode(parts any) json.RawMessage {
	data, err := json.Marshal(parts)
	if err != nil {
		return json.RawMessage("null") // the parts were made by this package
	}
	return data
}
