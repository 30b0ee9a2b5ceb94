package authors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const firstPlugin = root + "/docs/plugins/first-plugin.md"

// step is a block of the page: commands that run, or fail, lines that they print, or a
// file that is there.
type step struct {
	language string // go, python, both
	kind     string // runs, fails, prints, file
	name     string // of a file
	text     string
	at, end  int // of the text in the page
}

var (
	fence = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*) -->\n)?```(\\w+)\n(.*?)^```$")
	mark  = regexp.MustCompile(`^(?:(go|python|both)(?: (fails|file) ?(\S*))?|prints)$`)
)

// stepsOf reads the blocks of a page for one language. A block that no test runs is an
// error.
func stepsOf(page, language string) ([]step, error) {
	var steps []step
	before := "both"
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		s := step{text: page[m[6]:m[7]], at: m[6], end: m[7], kind: "runs"}
		comment := ""
		if m[2] >= 0 {
			comment = page[m[2]:m[3]]
		}
		words := mark.FindStringSubmatch(comment)
		switch {
		case words == nil:
			return nil, fmt.Errorf("nothing says who runs this block:\n%s", s.text)
		case comment == "prints":
			s.language, s.kind = before, "prints"
		default:
			s.language, s.name = words[1], words[3]
			if words[2] != "" {
				s.kind = words[2]
			}
		}
		before = s.language
		if s.language == language || s.language == "both" {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// reader goes through the page as a person does.
type reader struct {
	dir     string // where the person is
	environ []string
	written func(command string) string // what is typed where the page has a command
	printed string
	update  func(s step, text string) // nil = the page must have what is there
}

// follow does one step.
func (r *reader) follow(s step) error {
	switch s.kind {
	case "prints":
		return linesIn(s.text, r.printed)
	case "file":
		content, err := os.ReadFile(filepath.Join(r.dir, s.name))
		if err != nil {
			return err
		}
		if r.update != nil {
			r.update(s, string(content))
		} else if string(content) != s.text {
			return fmt.Errorf("the page has %s as\n%s\nand it is\n%s", s.name, s.text, content)
		}
		return nil
	}
	where := filepath.Join(filepath.Dir(r.dir), "where")
	script := r.written(s.text)
	if s.kind == "runs" {
		script += "\npwd > '" + where + "'"
	}
	command := exec.Command("sh", "-ec", script)
	command.Dir, command.Env = r.dir, r.environ
	output, err := command.CombinedOutput()
	r.printed = string(output)
	if (err == nil) != (s.kind == "runs") {
		return fmt.Errorf("%s\nends with %v:\n%s", s.text, err, output)
	}
	if s.kind == "runs" {
		now, err := os.ReadFile(where)
		if err != nil {
			return err
		}
		r.dir = strings.TrimSpace(string(now))
	}
	return nil
}

// linesIn looks for lines in an output, in their order.
func linesIn(want, output string) error {
	rest := strings.Split(output, "\n")
	for line := range strings.Lines(want) {
		line = strings.TrimRight(line, "\n")
		for len(rest) > 0 && rest[0] != line {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return fmt.Errorf("the page has the line %q, and what came is:\n%s", line, output)
		}
		rest = rest[1:]
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
		"as it should be":              {"<!-- go -->\n```sh\necho one; mkdir sub; cd sub; cd ..\n```\n<!-- prints -->\n```text\none\n```\n<!-- both file a.txt -->\n```text\ntext\n```\n<!-- go fails -->\n```sh\nfalse\n```\n<!-- python -->\n```sh\nfalse\n```\n", ""},
		"a command that fails":         {"<!-- go -->\n```sh\nfalse\ntrue\n```\n", "exit status 1"},
		"one that should fail":         {"<!-- go fails -->\n```sh\ntrue\n```\n", "ends with <nil>"},
		"another output":               {"<!-- go -->\n```sh\necho one\n```\n<!-- prints -->\n```text\ntwo\n```\n", `the line "two"`},
		"another file":                 {"<!-- go file a.txt -->\n```text\nother\n```\n", "the page has a.txt as"},
		"a file that is not there":     {"<!-- go file b.txt -->\n```text\nother\n```\n", "no such file"},
		"a block that no test runs":    {"```sh\nrm -r /\n```\n", "nothing says who runs"},
		"a block with an unknown mark": {"<!-- ruby -->\n```sh\ntrue\n```\n", "nothing says who runs"},
	} {
		steps, err := stepsOf(c.page, "go")
		r := &reader{dir: dir, environ: os.Environ(), written: func(text string) string { return text }}
		for _, s := range steps {
			if err == nil {
				err = r.follow(s)
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
