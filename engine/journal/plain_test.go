package journal_test

import (
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
)

// FuzzPlain: a text that is plain is what json.Marshal writes of it, byte for byte.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{`{}`, `[1,2]`, `[1, 2]`, `"a b\" c"`, `"<"`, `"\u003c"`, "\"\u2028\"", `{"a":"\\"}`, ` 1`, `x`, ``, `"\\ " `, "\"\xff\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !journal.Plain(text) {
			return
		}
		if stored, err := json.Marshal(json.RawMessage(text)); err != nil || string(stored) != string(text) {
			t.Errorf("%q is called plain, and stored as %q, %v", text, stored, err)
		}
	})
}

func TestWhatIsPlain(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":[1,"b c"],"d":null}`: true, `"a\" b"`: true, `[1, 2]`: false, `"<b>"`: false, "\"\u2029\"": false, ``: false, `{`: false, "[]\n": false,
	} {
		if got := journal.Plain([]byte(text)); got != want {
			t.Errorf("%q is plain: %v, want %v", text, got, want)
		}
	}
}
