package jsontext_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine/jsontext"
)

// FuzzPlain: a text that is plain is what json.Marshal writes of it, byte for byte.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{`{}`, `[1,2]`, `[1, 2]`, `"a b\" c"`, `"<"`, `"\u003c"`, "\"\u2028\"", `{"a":"\\"}`, ` 1`, `x`, ``, `"\\ " `, "\"\xff\"",
		`[-0,0.5,1e7,-1E+2,2e-3,01,1.,-,.5,1e]`, `{"a":{"b":[true,false,null]},"c":"\u00e9\ud83d\/\b"}`, `"12345678\x"`, `"\u12g4"`, "\"\\u000\x14\"", `"\u00C0"`, "\"1234567\x01\"", "\"123456789&\"", "\"12345 <7\"", "\"ä€😀 \u2027\u202a\"", "\"1234567\u2029\"", "\"\xe2\"", "\"\xe2\x80", `{"a" :1}`, `{"a":1,}`, `[1,]`, `{1:2}`, `tru`, `nulls`, `"\`, `"\u12`, "1\x00", "\"\x10@\x7f1234567890\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := jsontext.Plain(text)
		if want := slowPlain(text); got != want && bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) < 1000 {
			t.Errorf("%q is plain: %v, want %v", text, got, want)
		}
		if !got {
			return
		}
		if stored, err := json.Marshal(json.RawMessage(text)); err != nil || string(stored) != string(text) {
			t.Errorf("%q is called plain, and stored as %q, %v", text, stored, err)
		}
	})
}

// slowPlain is what is plain by what encoding/json says of it.
func slowPlain(text []byte) bool {
	stored, err := json.Marshal(json.RawMessage(text))
	return len(text) > 0 && err == nil && bytes.Equal(stored, text)
}

func TestWhatIsPlain(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":[1,"b c"],"d":null}`: true, `"a\" b"`: true, `[1, 2]`: false, `"<b>"`: false, "\"\u2029\"": false, ``: false, `{`: false, "[]\n": false,
	} {
		if got := jsontext.Plain([]byte(text)); got != want {
			t.Errorf("%q is plain: %v, want %v", text, got, want)
		}
	}
}
