package spec_test

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/spec"
)

// Other products write what the language refuses: anchors, merge keys, several documents,
// keys that are no text. It is read, with comments and places.
func TestForeignFilesAreRead(t *testing.T) {
	documents, problems := spec.ParseForeign("x.yaml", []byte(`# first
base: &base {a: 1, b: "2"}
on: push        # an event
jobs:
  # about it
  - <<: *base
    b: own
    1: one
---
# nothing
---
second: |
  text
`), spec.DefaultLimits())
	if len(problems) > 0 || len(documents) != 2 {
		t.Fatalf("%d documents, %v", len(documents), problems)
	}
	first := documents[0]
	if on := first.Get("on"); on.Text != "push" || on.Line != 3 || strings.Join(on.Beside, "") != "an event" {
		t.Errorf("on is %+v", on)
	}
	job := first.Get("jobs").Items[0]
	if job.Get("a").Text != "1" || job.Get("a").Type != "int" || job.Get("b").Text != "own" || job.Get("1").Text != "one" {
		t.Errorf("the job is %+v", job.Pairs)
	}
	if strings.Join(append(first.Above, job.Above...), "|") == "" || !strings.Contains(strings.Join(job.Above, ""), "about it") {
		t.Errorf("comments are lost: %q %q", first.Above, job.Above)
	}
	if second := documents[1].Get("second"); second.Text != "text\n" || second.Style != spec.Literal {
		t.Errorf("second is %+v", second)
	}
}

// What aliases repeat counts, and so does their depth: a few lines can't fill the memory.
func TestForeignFilesHaveLimits(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [[], [], [], [], [], [], [], [], [], []]\n")
	for i := range 4 {
		level := string(rune('0' + i))
		next := string(rune('1' + i))
		bomb.WriteString("a" + next + ": &a" + next + " [" + strings.Repeat("*a"+level+", ", 9) + "*a" + level + "]\n")
	}
	for name, src := range map[string]string{
		"a bomb of aliases": bomb.String(), "an anchor in itself": "a: &a [*a]", "deep": strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"a map as a key": "{a: b}: c", "long text repeated": "a: &a \"" + strings.Repeat("x", 60_000) + "\"\nb: [" + strings.Repeat("*a, ", 100) + "*a]",
		"not YAML": "a: [", "empty": "# nothing\n", "a control character": "a: \x01",
	} {
		if documents, problems := spec.ParseForeign("x.yaml", []byte(src), spec.DefaultLimits()); !problems.HasErrors() {
			t.Errorf("%s was read: %d documents", name, len(documents))
		}
	}
}
