package authors

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

const firstPlugin = root + "/docs/plugins/first-plugin.md"

// step is a block of the page: a file that is there, or commands with what they print.
type step struct {
	testpage.Block
	language string // go, python, both
}

// stepsOf reads the blocks of a page for one language: a paragraph before them begins with
// "In Go" or "In Python", or they are for both. A block that no test runs is an error.
func stepsOf(page, language string) ([]step, error) {
	var steps []step
	before := ""
	for _, b := range testpage.Read([]byte(page)) {
		if !b.Code {
			before = b.Text
			continue
		}
		s := step{Block: b, language: "both"}
		switch {
		case strings.HasPrefix(before, "In Go"):
			s.language = "go"
		case strings.HasPrefix(before, "In Python"):
			s.language = "python"
		}
		before = ""
		if b.File == "" && len(b.Session()) == 0 {
			return nil, fmt.Errorf("nobody types this block:\n%s", b.Text)
		}
		if s.language == language || s.language == "both" {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// reader goes through the page as a person does.
type reader struct {
	testpage.Typist
	update func(s step, text string) // nil = the page must have what is there
}

// follow does one step.
func (r *reader) follow(ctx context.Context, s step) error {
	if s.File == "" {
		for _, c := range s.Session() {
			if _, err := r.Type(ctx, c, false); err != nil {
				return err
			}
		}
		return nil
	}
	content, err := os.ReadFile(filepath.Join(r.Dir, s.File))
	if err != nil {
		return err
	}
	if r.update != nil {
		r.update(s, string(content))
	} else if string(content) != s.Text {
		return fmt.Errorf("the page has %s as\n%s\nand it is\n%s", s.File, s.Text, content)
	}
	return nil
}

// ownLines are the lines of an author's program that are not empty.
func ownLines(program string) int {
	n := 0
	for line := range strings.Lines(program) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// TestIssue15_APageThatIsWrongIsNoticed is the control of the tests that follow the page.
func TestIssue15_APageThatIsWrongIsNoticed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "here")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ page, want string }{
		"as it should be":           {"In Go:\n\n```sh\n$ echo one; mkdir sub; cd sub; cd ..\none\n```\n\n`a.txt`:\n\n```text\ntext\n```\n\nIn Go:\n\n```sh\n$ echo error: no; false\nerror: no\n```\n\nIn Python:\n\n```sh\n$ false\n```\n", ""},
		"a command that fails":      {"In Go:\n\n```sh\n$ false\n$ true\n```\n", "ends with 1"},
		"one that should fail":      {"```sh\n$ echo error: no\nerror: no\n```\n", "ends with 0"},
		"another output":            {"In Go:\n\n```sh\n$ echo one\ntwo\n```\n", `shows "two"`},
		"another file":              {"In Go it is `a.txt`:\n\n```text\nother\n```\n", "the page has a.txt as"},
		"a file that is not there":  {"In Go it is `b.txt`:\n\n```text\nother\n```\n", "no such file"},
		"a block that no test runs": {"```sh\nrm -r /\n```\n", "nobody types"},
		"a hidden name":             {"<!-- file: a.txt -->\n```text\ntext\n```\n", "nobody types"},
	} {
		steps, err := stepsOf(c.page, "go")
		r := &reader{Typist: testpage.Typist{Dir: dir, Scratch: t.TempDir(), Environ: os.Environ()}}
		for _, s := range steps {
			if err == nil {
				err = r.follow(t.Context(), s)
			}
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		_ = os.Remove(filepath.Join(dir, "sub"))
	}
	if n := ownLines(strings.Repeat("x\n\n", 41)); n != 41 {
		t.Errorf("41 lines are counted as %d", n)
	}
}
