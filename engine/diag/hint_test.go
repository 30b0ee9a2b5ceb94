package diag_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
)

// A command in a hint is typed as it stands there: what a shell would take apart is quoted, once.
func TestTheCommandsOfAHintAreQuotedOnce(t *testing.T) {
	hint := diag.Sayf("send it with %s", diag.Command{"runs", "signal", "01x", "l[a b].wait"})
	if want := "send it with `flowrun runs signal 01x 'l[a b].wait'`"; hint.Text != want {
		t.Errorf("%s, want %s", hint.Text, want)
	}
	typed := hint.Typed(func(words ...string) string {
		quoted := []string{"flowrun"}
		for _, word := range words {
			quoted = append(quoted, diag.ShellWord(word))
		}
		return strings.Join(append(quoted, "--sandbox"), " ")
	})
	if want := "send it with `flowrun runs signal 01x 'l[a b].wait' --sandbox`"; typed.Text != want {
		t.Errorf("%s, want %s", typed.Text, want)
	}
	if plain := diag.Sayf("%s", diag.Command{"runs", "signal", "01x", "wait"}).Text; plain != "`flowrun runs signal 01x wait`" {
		t.Error(plain)
	}
}
