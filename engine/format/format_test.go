package format_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/format"
)

func formatted(t interface {
	Helper()
	Fatalf(string, ...any)
}, name string, src []byte) []byte {
	t.Helper()
	result, problems, err := format.Source(name, src)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%s: %v %v\n%s", name, err, problems, src)
	}
	return result
}

func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".in.yaml") + ".out.yaml"
			got := formatted(t, file, src)
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(string(got), string(formatted(t, file, got))); diff != "" {
				t.Errorf("a second time (-first +second)\n%s", diff)
			}
		})
	}
}

// corpus returns every YAML file that the project's tests have, whole or with
// planted mistakes.
func corpus(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{"../check/testdata/*/*.yaml", "../../workflows/*.yaml", "../../internal/cli/templates/*.yaml", "../../internal/cli/templates/init/*/workflows/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = src
		}
	}
	if len(files) < 90 {
		t.Fatalf("only %d files", len(files))
	}
	return files
}

// TestCorpusKeepsItsMeaningAndItsComments formats every file that is YAML.
// Source itself compares the meaning; comments and idempotence are seen here.
func TestCorpusKeepsItsMeaningAndItsComments(t *testing.T) {
	done := 0
	for name, src := range corpus(t) {
		once, problems, err := format.Source(name, src)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if problems.HasErrors() {
			continue // not YAML by the language's rules: a planted mistake
		}
		done++
		if twice := formatted(t, name, once); !bytes.Equal(once, twice) {
			t.Errorf("%s: not the same a second time\n%s", name, cmp.Diff(string(once), string(twice)))
		}
		if diff := cmp.Diff(comments(src), comments(once)); diff != "" {
			t.Errorf("%s: comments (-want +got)\n%s", name, diff)
		}
	}
	if done < 60 {
		t.Errorf("only %d files were formatted", done)
	}
}

// comments returns what follows the signs that start a comment; those inside of
// texts are the same before and after.
func comments(src []byte) []string {
	var found []string
	for _, line := range strings.Split(string(src), "\n") {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") {
			found = append(found, trimmed)
		} else if _, comment, ok := strings.Cut(line, " # "); ok {
			found = append(found, strings.TrimSpace(comment))
		}
	}
	return found
}

// TestPropertyAnyLayoutGivesOneForm writes files with another indentation,
// empty lines and comments, and wants the form that they have without.
func TestPropertyAnyLayoutGivesOneForm(t *testing.T) {
	var sources [][]byte
	for name, src := range corpus(t) {
		if _, problems, err := format.Source(name, src); err == nil && !problems.HasErrors() && !bytes.Contains(src, []byte("|+")) {
			sources = append(sources, src)
		}
	}
	slices.SortFunc(sources, bytes.Compare)
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom(sources).Draw(t, "source")
		var node yaml.Node
		if err := yaml.Unmarshal(src, &node); err != nil {
			t.Skip("not one document")
		}
		var laid bytes.Buffer
		encoder := yaml.NewEncoder(&laid)
		encoder.SetIndent(rapid.IntRange(2, 7).Draw(t, "indent"))
		if err := encoder.Encode(&node); err != nil {
			t.Skip("not written again")
		}
		once, problems, err := format.Source("x.yaml", laid.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, laid.Bytes())
		}
		if problems.HasErrors() {
			t.Skip("not written as the language wants it")
		}
		twice := formatted(t, "x.yaml", once)
		if !bytes.Equal(once, twice) {
			t.Fatalf("not the same a second time\n%s", cmp.Diff(string(once), string(twice)))
		}
		for number, line := range strings.Split(string(once), "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "- ") && (len(line)-len(strings.TrimLeft(line, " ")))%2 != 0 && !bytes.ContainsAny(laid.Bytes(), "|>") {
				t.Fatalf("line %d has an odd indentation: %q", number+1, line)
			}
		}
	})
}

func TestFileWithoutLastLineBreak(t *testing.T) {
	for in, want := range map[string]string{
		"a: 1":          "a: 1\n",
		"a: |\n    b":   "a: |\n  b", // a final break would be one more character of the text
		"a: |-\n    b":  "a: |-\n  b\n",
		"a: 1\n\n\n":    "a: 1\n",
		"\n\n# c\na: 1": "# c\na: 1\n",
	} {
		if got := string(formatted(t, "x.yaml", []byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestNotYAMLGivesProblems(t *testing.T) {
	result, problems, err := format.Source("x.yaml", []byte("a: [1\n"))
	if result != nil || err != nil || !problems.HasErrors() {
		t.Errorf("got %q %v %v", result, problems, err)
	}
}

func TestWhatIsLeftAloneSaysSo(t *testing.T) {
	_, _, err := format.Source("x.yaml", []byte("? a\n: b\n"))
	if !errors.Is(err, format.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// Files from other systems come out in the one form: no mark of the byte order,
// no carriage returns.
func TestFilesOfOtherSystemsComeOutAlike(t *testing.T) {
	plain := "flowrun: v1\nname: a\nsteps:\n  - uses: core.log\n    with: {text: hi}\n"
	for name, text := range map[string]string{
		"Windows": strings.ReplaceAll(plain, "\n", "\r\n"), "a mark of the byte order": "\xEF\xBB\xBF" + plain, "both": "\xEF\xBB\xBF" + strings.ReplaceAll(plain, "\n", "\r\n"),
	} {
		got, problems, err := format.Source("a.yaml", []byte(text))
		if err != nil || len(problems) > 0 || string(got) != plain {
			t.Errorf("%s: %q, %v, %v", name, got, problems, err)
		}
	}
}
