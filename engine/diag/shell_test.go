package diag_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
)

func TestShellWordIsOneWord(t *testing.T) {
	for text, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "": "''", "/$x": "'/$x'", "a=b,c@d:1+2%": "a=b,c@d:1+2%", "a;b": "'a;b'"} {
		if got := diag.ShellWord(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
