package spec

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// value parses a one-key file and returns the key's value.
func value(t *testing.T, src string) *Node {
	t.Helper()
	root, problems := ParseNode("x.yaml", []byte(src), DefaultLimits())
	if root == nil {
		t.Fatalf("%q: %v", src, problems)
	}
	return root.Pairs[len(root.Pairs)-1].Value
}

func TestAtFindsThePlaceInEveryStyle(t *testing.T) {
	tests := map[string]struct {
		src  string
		mark string // text of the scalar whose place is wanted
		want string // line:column
	}{
		"plain":                              {"a: one two\n", "two", "1:8"},
		"plain after a wide character":       {"a: é two\n", "two", "1:6"},
		"plain over lines":                   {"a: one\n  two\n\n  three\n", "three", "4:3"},
		"plain in flow":                      {"a: {b: one two}\nz: one\n", "one", "2:4"},
		"single quotes":                      {"a: 'it''s two'\n", "two", "1:11"},
		"single quotes over lines":           {"a: 'one  \n\n   two'\n", "two", "3:4"},
		"double quotes":                      {`a: "one two"` + "\n", "two", "1:9"},
		"double quotes after escapes":        {`a: "\"\x41\u00e9\U0001F600 two"` + "\n", "two", "1:28"},
		"double quotes over lines":           {"a: \"one\n  two\"\n", "two", "2:3"},
		"double quotes after escaped break":  {"a: \"one\\\n   two\"\n", "two", "2:4"},
		"literal":                            {"a: |\n  one\n  two\n", "two", "3:3"},
		"literal deeper":                     {"a: |\n  one\n     two\n", "two", "3:6"},
		"literal with indentation sign":      {"a: |2-\n    one\n  two\n", "two", "3:3"},
		"literal after empty lines":          {"a: |\n\n\n  one\n\n  two\n", "two", "6:3"},
		"literal with a comment on its head": {"a: |  # note\n  one\n  two\n", "two", "3:3"},
		"folded":                             {"a: >\n  one\n  two\n", "two", "3:3"},
		"folded with paragraphs":             {"a: >-\n  one\n\n  two\n   more\n", "more", "5:4"},
		"windows line ends":                  {"a: |\r\n  one\r\n  two\r\n", "two", "3:3"},
		"in a list":                          {"a:\n- b\nz:\n  - 'x'\n  - |\n   one\n   two\n", "two", "7:4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := value(t, test.src)
			if n.Kind == Sequence {
				n = n.Items[len(n.Items)-1]
			}
			pos := n.At(strings.Index(n.Text, test.mark))
			if got := fmt.Sprintf("%d:%d", pos.Line, pos.Column); got != test.want {
				t.Errorf("%q in %q: got %s, want %s", test.mark, n.Text, got, test.want)
			}
		})
	}
}

func TestSpanEndsAfterTheLastCharacter(t *testing.T) {
	n := value(t, `a: "x \x41\x42 y"`+"\n")
	at := strings.Index(n.Text, "AB")
	if pos := n.Span(at, at+2); pos.Column != 7 || pos.EndColumn != 15 {
		t.Errorf("got columns %d-%d, want 7-15", pos.Column, pos.EndColumn)
	}
	n = value(t, "a: >\n  one two\n  three\n")
	at = strings.Index(n.Text, "two")
	if pos := n.Span(at, at+3); pos.Line != 2 || pos.Column != 7 || pos.EndColumn != 10 {
		t.Errorf("got %d:%d-%d, want 2:7-10", pos.Line, pos.Column, pos.EndColumn)
	}
}

func TestCutByComment(t *testing.T) {
	for src, want := range map[string]bool{
		"a: ${{ x  # y }}\n": true, "a: x # y\n": true, "a: x#y\n": false, "a: 'x' # y\n": false, "a: x\n# y\n": false,
	} {
		if got := value(t, src).CutByComment(); got != want {
			t.Errorf("%q: got %v, want %v", src, got, want)
		}
	}
}

// TestTraceRebuildsEveryScalar: whatever YAML reads from a scalar, its place is
// found: the places rise, lie inside the file, and a letter stands where its
// place says.
func TestTraceRebuildsEveryScalar(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		src := scalarSource().Draw(t, "source")
		root, _ := ParseNode("x.yaml", []byte(src), DefaultLimits())
		if root == nil {
			return
		}
		read++
		each(root, func(n *Node) { checkTrace(t, src, n) })
	})
	if read == 0 {
		t.Error("no source was YAML")
	}
}

func checkTrace(t *rapid.T, src string, n *Node) {
	if n.Kind != Scalar || n.Bad || n.Text == "" && n.Style == Plain {
		return
	}
	if n.end == 0 {
		t.Fatalf("%q: the text %q was not rebuilt", src, n.Text)
	}
	last := n.start
	for i := range len(n.Text) {
		place := n.place(i)
		if place < last || place >= len(src) {
			t.Fatalf("%q: byte %d of %q is at %d, after %d", src, i, n.Text, place, last)
		}
		last = place
		letter := n.Text[i]
		if (letter >= 'a' && letter <= 'z' || letter >= utf8.RuneSelf) && src[place] != letter && src[place] != '\\' {
			t.Fatalf("%q: byte %d of %q stands at %d, where %q is", src, i, n.Text, place, src[place])
		}
	}
	if end := n.place(len(n.Text)); end < last || end > len(src) {
		t.Fatalf("%q: the end of %q is at %d, after %d", src, n.Text, end, last)
	}
}

func each(n *Node, visit func(*Node)) {
	visit(n)
	for _, pair := range n.Pairs {
		each(pair.Key, visit)
		each(pair.Value, visit)
	}
	for _, item := range n.Items {
		each(item, visit)
	}
}

func scalarSource() *rapid.Generator[string] {
	pieces := []string{"a", "b", "é", "日", " ", "  ", "\n", "\n ", "\n  ", "\n    ", "\n\n   ", "\r\n   ", "\t", "x y"}
	quoted := append([]string{`\n`, `\x61`, `\u00e9`, `\U0001F600`, `\"`, `\\`, "\\\n   ", `\t`, `\ `, `\/`, `\e`, "'"}, pieces...)
	single := append([]string{"''", `"`, `\`, "#", ": "}, pieces...)
	plain := append([]string{"'", `"`, `\`, "#", "-", ":", "{", "]"}, pieces...)
	lines := append([]string{" a", "#", "- ", ": "}, pieces...)
	body := func(from []string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 0, 12).Draw(t, "pieces"), "")
		})
	}
	return rapid.Custom(func(t *rapid.T) string {
		before := rapid.SampledFrom([]string{"k: ", "- ", "k:\n  - ", "k:\n- ", "- k: ", "k:\n  l:\n     ", "é: ", "k: {é: 日, l: ", "k: [x, "}).Draw(t, "before")
		after := "\n"
		switch {
		case strings.Contains(before, "{"):
			after = "}\n"
		case strings.Contains(before, "["):
			after = "]\n"
		}
		after = rapid.SampledFrom([]string{after, after + "z: 1\n", " # note" + after, strings.TrimSuffix(after, "\n")}).Draw(t, "after")
		switch rapid.IntRange(0, 3).Draw(t, "style") {
		case 0:
			return before + `"` + body(quoted).Draw(t, "double") + `"` + after
		case 1:
			return before + "'" + body(single).Draw(t, "single") + "'" + after
		case 2:
			return before + "a" + body(plain).Draw(t, "plain") + after
		}
		head := rapid.SampledFrom([]string{"|", ">", "|-", ">-", "|+", ">+", "|1", ">2", "|2-", ">-1", ">+3", "| # c"}).Draw(t, "head")
		return before + head + "\n" + body(lines).Draw(t, "block") + after
	})
}
