package check

import (
	"bytes"
	"encoding/json"
	"testing"
)

// encodeObject writes what encoding/json writes of a map, byte for byte.
func TestObjectsAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	names := []string{"", "a", "b", "with space", "ü", "<", "quote\"", "back\\slash", "tab\t", "line\u2028", "Z", "a0", "del\x7f"}
	values := []string{`1`, `-0.50`, `"text"`, `"a b"`, `"<&>"`, `"ü"`, "\"\u2028\"", `{"a":1,"b":[true,null]}`, `{ "a" : 1 }`, `[1, 2]`, `"\u003c"`, `"\\ \""`, ` 1`, "\"\x7f\"", `""`}
	for i, value := range values {
		for size := range len(names) {
			var members []jsonMember
			byName := map[string]json.RawMessage{}
			for k := range size {
				name := names[(k*5+i)%len(names)]
				text := json.RawMessage(values[(i+k*k)%len(values)])
				if k == 0 {
					text = json.RawMessage(value)
				}
				if byName[name] == nil {
					byName[name] = text
					members = append(members, jsonMember{name, text})
				}
			}
			if got, want := encodeObject(members), encode(byName); !bytes.Equal(got, want) {
				t.Errorf("%q\nis written as %s\nnot        as %s", members, got, want)
			}
		}
	}
	for _, name := range names {
		for _, value := range values {
			alone := []jsonMember{{name, json.RawMessage(value)}}
			if got, want := encodeObject(alone), encode(map[string]json.RawMessage{name: json.RawMessage(value)}); !bytes.Equal(got, want) {
				t.Errorf("%s, not %s", got, want)
			}
		}
	}
}
