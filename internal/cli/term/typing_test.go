package term

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatIsTypedBecomesKeys(t *testing.T) {
	for read, want := range map[string][]Key{
		"a":                {"a"},
		"qü":               {"q", "ü"},
		"\x1b":             {KeyEscape},
		"\x1b[A":           {KeyUp},
		"\x1bOBx\r":        {KeyDown, "x", KeyEnter},
		"\x1b[5~\x1b[6~":   {KeyPageUp, KeyPageDown},
		"\x7f\x08\x15\x17": {KeyBackspace, KeyBackspace, KeyClear, KeyClear},
		"ab\x1b[1;5Cc":     {"a", "b"},
		"\x00\xff\x03":     nil,
		"":                 nil,
	} {
		if got := typed([]byte(read)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", read, got, want)
		}
	}
	if _, ok := KeyEnter.Letter(); ok {
		t.Error("Enter is a letter")
	}
	if letter, ok := Key("ü").Letter(); !ok || letter != "ü" {
		t.Errorf("ü is %q", letter)
	}
	if _, stop, ok := Typing(strings.NewReader("q")); ok || stop() != nil {
		t.Error("a reader gives keys")
	}
}
