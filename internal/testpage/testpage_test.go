package testpage

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const page = "# Title\n\nText with `code` and [a link](x.md).\n\n<!-- file: hidden.yaml -->\n```yaml\na: 1\n```\n\n" +
	"Write it to `seen.yaml`:\n\n```yaml\nb: 2\n```\n\nFrom [`there.go`](there.go):\n\n```go\nc\n```\n\n" +
	"The word `name` is no file:\n\n```text\n$ one \\\n  two\nprinted\n$ three\n```\n"

func TestAPageIsReadAsItIsSeen(t *testing.T) {
	t.Parallel()
	var got []Block
	for _, b := range Read([]byte(page)) {
		if b.Code {
			got = append(got, b)
		}
	}
	want := []Block{
		{Code: true, Text: "a: 1\n", Line: 7, Language: "yaml"},
		{Code: true, Text: "b: 2\n", Line: 13, File: "seen.yaml", Language: "yaml"},
		{Code: true, Text: "c\n", Line: 19, File: "there.go", Linked: true, Language: "go"},
		{Code: true, Text: "$ one \\\n  two\nprinted\n$ three\n", Line: 25, Language: "text"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	session := got[3].Session()
	if want := []Command{{Typed: "one \\\n  two", Shown: "printed\n", Line: 25}, {Typed: "three", Line: 28}}; !reflect.DeepEqual(session, want) {
		t.Errorf("got  %+v\nwant %+v", session, want)
	}
	if session := got[0].Session(); session != nil {
		t.Errorf("a file is no session: %+v", session)
	}
	if text := Read([]byte(page))[1].Text; text != "Text with code and a link." {
		t.Errorf("the paragraph is seen as %q", text)
	}
}

func TestWhatIsPrintedIsComparedWithWhatIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, printed string
		alike          bool
	}{
		{"", "anything\n", true},
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"b\n", "a\nb\n", false},
		{"a\n…\n", "a\nb\nc\n", true},
		{"a\n…\n", "a\n", true},
		{"…\nc\n", "a\nb\nc\n", true},
		{"…\nc\n…\na\n", "a\nb\nc\n", false},
		{"took … of 3\n", "took 5 ms of 3\n", true},
		{"took … of 3\n", "took 5 ms of 4\n", false},
		{"run 01m7xfj8q5y0czb8awkqner8yr ends\n", "run 01m8gzwfqh2eac4r8n0zz95x7k ends\n", true},
		{"run 01m7xfj8q5y0czb8awkqner8yr ends\n", "run 01m8gzwf ends\n", false},
	} {
		if err := Compare(c.shown, c.printed); (err == nil) != c.alike {
			t.Errorf("%q beside %q: %v", c.shown, c.printed, err)
		}
	}
	if got, ok := Elide("b\nd\n", "a\nb\nc\nd\n"); got != "…\nb\n…\nd\n" || !ok {
		t.Errorf("%q, %v", got, ok)
	}
	if _, ok := Elide("d\nb\n", "a\nb\nc\nd\n"); ok {
		t.Error("lines in another order are no part of the output")
	}
}

func typist(t *testing.T) *Typist {
	t.Helper()
	p := &Typist{Dir: t.TempDir(), Scratch: t.TempDir(), Environ: os.Environ(), Stays: []string{"sleep", "echo listening;"}}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func typeAll(t *testing.T, p *Typist, text string) error {
	t.Helper()
	commands := Block{Code: true, Text: text}.Session()
	for i, c := range commands {
		saysCode := i+1 < len(commands) && commands[i+1].Typed == "echo $?"
		if _, err := p.Type(t.Context(), c, saysCode); err != nil {
			return err
		}
	}
	return nil
}

func TestASessionIsTypedInOneShell(t *testing.T) {
	t.Parallel()
	p := typist(t)
	if err := p.TypeFile(Block{File: "below/it.txt", Text: "text\n"}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"$ mkdir -p sub; cd sub\n$ A=one\n$ echo $A; basename $(pwd); cd ..\none\nsub\n": "",
		"$ cat below/it.txt\ntext\n":                    "",
		"$ echo error: no; false\nerror: no\n":          "",
		"$ (exit 8)\n$ echo $?\n8\n":                    "",
		"$ (exit 8)\n$ echo $?\n7\n":                    `shows "7"`,
		"$ false\n":                                     "ends with 1",
		"$ echo error: no\nerror: no\n":                 "ends with 0",
		"$ echo one\ntwo\n":                             `shows "two"`,
		"$ sleep 600\n$ echo goes on\ngoes on\n":        "",
		"$ echo listening; exec sleep 600\nlistening\n": "",
		"$ sleep 0\nis up\n":                            "ended",
	} {
		err := typeAll(t, p, text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "below", "it.txt")); err != nil {
		t.Error(err)
	}
}

func TestHiddenCommandsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"<!-- file: a.yaml -->\n":                               1,
		"a\n\n<!-- runs: flowrun x -->\n":                       1,
		"<!-- fails: flowrun x -->":                             1,
		"<!-- start: `make x` writes what stands from here -->": 0,
		"<!-- prints -->":                                       1,
		"<!-- routes -->\n<!-- end of limits -->":               0,
		"`<!-- a comment in code -->`":                          0,
		"```text\n<!-- in a block -->\n```\n":                   0,
		"text <!-- in a line --> text":                          1,
	} {
		if got := Hidden([]byte(text)); len(got) != want {
			t.Errorf("%q hides %q, want %d", text, got, want)
		}
	}
}

func TestLinksAndAnchorsAreThoseOfGitHub(t *testing.T) {
	t.Parallel()
	source := []byte("# One step\n## `code`, and more: it's here\n## One step\n\n[a](b.md#c) ![p](q.png) `[no](x)`\n")
	if got := Links(source); !reflect.DeepEqual(got, []string{"b.md#c", "q.png"}) {
		t.Errorf("links: %q", got)
	}
	if got, want := Anchors(source), map[string]bool{"one-step": true, "code-and-more-its-here": true, "one-step-1": true}; !reflect.DeepEqual(got, want) {
		t.Errorf("anchors: %v", got)
	}
}

func TestReadingEaseIsThatOfFlesch(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{
		"a": 1, "the": 1, "be": 1, "tree": 1, "table": 2, "page": 1, "pages": 2, "needed": 2, "stored": 1, "named": 1, "workflow": 2, "durable": 3,
		"before": 2, "certificate": 4, "3": 1, "schedules": 2, "takes": 1, "branches": 2, "people": 2, "service": 2,
	} {
		if got := Syllables(word); got != want {
			t.Errorf("%s has %d syllables, want %d", word, got, want)
		}
	}
	easy := ReadingEase([]byte("# Not counted\n\nThe cat sat on the mat. It was `a long word of code` and [a link](x).\n\n```text\nnot counted either\n```\n\n| no | table |\n|---|---|\n| a | b |\n"))
	if want := (Ease{Words: 12, Sentences: 2, Syllables: 12}); easy != want {
		t.Errorf("%+v, want %+v", easy, want)
	}
	hard := ReadingEase([]byte("Durability considerations necessitate comprehensive verification of administrative capabilities, notwithstanding organisational particularities.\n"))
	if easy.Score() < 100 || hard.Score() > 0 {
		t.Errorf("easy %.1f, hard %.1f", easy.Score(), hard.Score())
	}
}
