package schema

import "testing"

// TestLeastIsNoMoreThanAValueHas: what a type needs at least is the length of its
// shortest value, or less.
func TestLeastIsNoMoreThanAValueHas(t *testing.T) {
	for shortest, text := range map[string]string{
		`{"id":0,"name":"","on":true}`:  `{"type":"object","required":["id","name","on"],"properties":{"id":{"type":"integer"},"name":{"type":"string"},"on":{"type":"boolean"},"note":{"type":"string"}}}`,
		`{"at":"2026-01-02T03:04:05Z"}`: `{"type":"object","required":["at"],"properties":{"at":{"type":"string","format":"date-time"}}}`,
		`[[],[]]`:                       `{"type":"array","minItems":2,"items":{"type":"array","items":{"type":"integer"}}}`,
		`"abc"`:                         `{"type":"string","minLength":3}`,
		`{"n":""}`:                      `{"type":"object","required":["n"],"properties":{"n":{"type":["string","null"]}}}`,
		`{}`:                            `{"type":"object"}`,
		`0`:                             `{}`,
		`1`:                             `{"anyOf":[{"type":"integer"},{"type":"object","required":["long"],"properties":{"long":{"type":"string"}}}]}`,
	} {
		typ, err := FromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := Least(typ); got != int64(len(shortest)) {
			t.Errorf("%s: %d, want the length of %s", text, got, shortest)
		}
	}
}
