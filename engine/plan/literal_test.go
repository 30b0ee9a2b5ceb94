package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// FuzzTextOf: what is read as a text is what encoding/json reads as one.
func FuzzTextOf(f *testing.F) {
	for _, document := range []string{`"a b"`, `""`, `"a\"b"`, `"ä"`, "\"\xff\"", ` "a" `, `"`, `"a" "b"`, `{"a":1}`, `null`, `1`, ``, "\"\x01\"", `{`} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var want string
		err := json.Unmarshal(document, &want)
		if got, ok := plan.TextOf(document); ok != (err == nil) || ok && got != want {
			t.Errorf("%q is read as %q, %v; want %q, %v", document, got, ok, want, err)
		}
	})
}
