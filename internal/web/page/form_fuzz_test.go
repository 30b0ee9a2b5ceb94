package page

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzForm shows a text, alone and as an item of a list, in a form that is sent as
// it stands: what is read is what was shown.
func FuzzForm(f *testing.F) {
	for _, text := range []string{"", "a", " a ", "a\nb", "\n", "\r\n", "[1]", `["a"]`, "null", "~", "é\u2028", "\x00", "\ufeff", "2026-01-02T03:04:05Z", "\t", "\v"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	schema := json.RawMessage(`{"type":"object","required":["one","many"],"properties":{
		"one":{"type":"string","default":"d"},"maybe":{"type":["string","null"],"default":null},"many":{"type":"array","items":{"type":"string"}}}}`)
	f.Fuzz(func(t *testing.T, text string, twice bool) {
		list := []string{text}
		if twice {
			list = append(list, "x", text)
		}
		one, _ := json.Marshal(text)
		many, _ := json.Marshal(list)
		shown := newFormIn(time.UTC, schema, map[string]json.RawMessage{"one": one, "maybe": one, "many": many})
		again := newFormIn(time.UTC, schema, nil)
		inputs, ok := again.read(sent(shown, nil))
		if !ok {
			t.Fatalf("%q: %s", text, errorsOf(again))
		}
		for name, want := range map[string][]byte{"one": one, "maybe": one, "many": many} {
			if got := inputTexts(inputs)[name]; string(plain(t, got)) != string(plain(t, string(want))) {
				t.Errorf("%s: %s became %s", name, want, got)
			}
		}
	})
}
