package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a marked code block of a page: a file to write, a command that
// must run, or one that must fail.
type block struct{ kind, argument, text string }

var markedBlock = regexp.MustCompile("(?s)<!-- (file|runs|fails): ([^\n]+) -->\n```[a-z]+\n(.*?)```")

// TestTheReadmeIsTrue holds the README's commands against what they print.
func TestTheReadmeIsTrue(t *testing.T) {
	t.Parallel()
	pageIsTrue(t, "../../README.md")
}

// TestThePageOfCommandsIsTrue is the same for docs/commands.md.
func TestThePageOfCommandsIsTrue(t *testing.T) {
	t.Parallel()
	pageIsTrue(t, "../../docs/commands.md")
}

// pageIsTrue writes a page's files and compares what its commands print. Run ids
// change, and of a run only the lines are compared that the page shows, in their
// order.
func pageIsTrue(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	binary, dir := buildBinary(t), t.TempDir()
	shipped, err := os.ReadFile("../../workflows/weekly-review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "weekly-review.yaml", string(shipped))
	commands := 0
	for _, match := range markedBlock.FindAllStringSubmatch(string(text), -1) {
		b := block{match[1], match[2], match[3]}
		if b.kind == "file" {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, b.argument)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, b.argument, b.text)
			continue
		}
		commands++
		words, err := shellWords(b.argument+"\n", nil)
		if err != nil {
			t.Fatal(err)
		}
		output, code := flowrunIn(t, binary, dir, words[1:]...)
		if (code == 0) != (b.kind == "runs") {
			t.Errorf("%s: exit code %d\n%s", b.argument, code, output)
		}
		compareLines(t, b, output)
	}
	if commands < 3 {
		t.Errorf("%s shows %d commands with their output only", page, commands)
	}
}

var runID = regexp.MustCompile(`\b[0-9a-z]{26}\b`)

// compareLines looks for the block's lines in the output, in order.
func compareLines(t *testing.T, b block, output string) {
	t.Helper()
	rest := strings.Split(runID.ReplaceAllString(output, "RUN"), "\n")
	for _, want := range strings.Split(strings.TrimRight(runID.ReplaceAllString(b.text, "RUN"), "\n"), "\n") {
		for len(rest) > 0 && rest[0] != want {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Errorf("%s does not print the line %q; it prints:\n%s", b.argument, want, output)
			return
		}
		rest = rest[1:]
	}
}
