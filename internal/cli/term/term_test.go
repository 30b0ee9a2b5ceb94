package term

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanSteersNoTerminal(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"an escape sequence": {"a\x1b[31mb", "a[31mb"},
		"a bell and a null":  {"a\a\x00b", "ab"},
		"a line feed":        {"a\nb\tc", "a b c"},
		"a C1 control":       {"a\u009bb", "ab"},
		"reversed text":      {"a\u202eb", "ab"},
		"invalid UTF-8":      {"a\xffb", "a\ufffdb"},
		"plain text":         {"naïve 词", "naïve 词"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) is %q, want %q", c.in, got, c.want)
			}
		})
	}
	if got := CleanText("a\n\x1bb"); got != "a\nb" {
		t.Errorf("CleanText keeps %q", got)
	}
}

func TestWidthCountsCells(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "词语": 4, "e\u0301": 1, "✓": 1, "": 0, Style{Color: true}.Red("词a") + "b": 4} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) is %d, want %d", text, got, want)
		}
	}
}

func TestTruncateFitsAndShowsTheCut(t *testing.T) {
	cases := []struct {
		text  string
		width int
		want  string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 4, "abc…"}, {"词语词", 4, "词…"}, {"abc", 0, ""}}
	for _, c := range cases {
		if got := Truncate(c.text, c.width); got != c.want || Width(got) > c.width && c.width > 0 {
			t.Errorf("Truncate(%q, %d) is %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestWrapLosesNothing(t *testing.T) {
	text := "https://login.example/device?user_code=ABCD-EFGH-词"
	lines := Wrap(text, 10)
	if strings.Join(lines, "") != text {
		t.Errorf("wrapped to %q", lines)
	}
	for _, line := range lines {
		if Width(line) > 10 {
			t.Errorf("%q is wider than 10", line)
		}
	}
}

func TestBoxStaysWithinTheWidth(t *testing.T) {
	got := Box([]string{"log in", "code   WXYZ-1234"}, 14, Style{})
	want := []string{
		"┌────────────┐",
		"│ log in     │",
		"│ code   WXY │",
		"│ Z-1234     │",
		"└────────────┘",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestBlockIsDrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	block := NewBlock(&out)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(block.Draw([]string{"one", "two"}))
	must(block.Draw([]string{"one", "two"})) // the same: nothing is written
	must(block.Print("log"))
	must(block.Draw([]string{"one"}))
	block.Leave()
	must(block.Draw([]string{"next"}))
	want := "one\x1b[K\ntwo\x1b[K\n\x1b[J" +
		"\r\x1b[2Alog\x1b[K\none\x1b[K\ntwo\x1b[K\n\x1b[J" +
		"\r\x1b[2Aone\x1b[K\n\x1b[J" +
		"next\x1b[K\n\x1b[J"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestBlockTellsThatTheTerminalIsGone(t *testing.T) {
	if err := NewBlock(brokenWriter{}).Draw([]string{"x"}); err == nil {
		t.Error("no error")
	}
}

func TestStyleWithoutColourIsPlain(t *testing.T) {
	if got := (Style{}).Red("x"); got != "x" {
		t.Errorf("got %q", got)
	}
	if got := (Style{Color: true}).Red("x"); !strings.HasPrefix(got, "\x1b[31m") || !strings.HasSuffix(got, "\x1b[0m") {
		t.Errorf("got %q", got)
	}
	if IsTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
}
