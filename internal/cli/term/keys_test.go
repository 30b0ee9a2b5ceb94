package term

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestOnlySingleKeysMeanSomething(t *testing.T) {
	for read, want := range map[string]Key{"q": KeyQ, "Q": KeyQ, "\x1b": KeyEscape, "\x1b[A": "", "x": "", "": "", "qq": "", "\x03": ""} {
		if got, known := keyOf([]byte(read)); got != want || known != (want != "") {
			t.Errorf("%q is %q", read, got)
		}
	}
}

func TestWhatIsNoTerminalIsNotAsked(t *testing.T) {
	if _, stop, ok := Keys(strings.NewReader("q")); ok || stop() != nil {
		t.Error("a reader gives keys")
	}
	if _, _, err := ReadPassword(&bytes.Buffer{}, io.Discard, "", nil); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("a buffer was asked: %v", err)
	}
	if IsTerminalInput(&bytes.Buffer{}) {
		t.Error("a buffer is a terminal")
	}
}

func TestWrapWordsBreaksAtSpaces(t *testing.T) {
	for text, want := range map[string]string{
		"open the address and type": "open the|address|and type", "": "", "averyverylongword a": "averyveryl|ongword a", "  a   b ": "a b",
	} {
		if got := strings.Join(WrapWords(text, 10), "|"); got != want {
			t.Errorf("%q is wrapped to %q, want %q", text, got, want)
		}
	}
}
