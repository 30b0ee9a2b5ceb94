// Package plugins holds the pages for authors of plugins against the examples that they
// show.
package plugins

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// program is a block of a page in Go or Python, with the comment above it.
var program = regexp.MustCompile("(?ms)(?:^<!-- from: ([^\n]*) -->\n)?^```(?:go|python|sh)\n(.*?)^```$")

// commands is a block of text that is taken from a page whose commands are run.
var commands = regexp.MustCompile("(?ms)^<!-- from: ([^\n]*) -->\n^```text\n(.*?)^```$")

// TestIssue15_6_PagesShowFilesThatAreTested: each block in Go or Python stands, line by
// line, in the file that the page names. The files are built, checked and run by
// scripts/examples and test/python.
func TestIssue15_6_PagesShowFilesThatAreTested(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "<!-- from: ") {
			continue // its blocks have a test of their own
		}
		for _, block := range commands.FindAllStringSubmatch(string(text), -1) {
			if problem := notShown(block[1], block[2]); problem != "" {
				t.Errorf("%s: %s", page, problem)
			}
		}
		for _, block := range program.FindAllStringSubmatch(string(text), -1) {
			shown++
			if problem := notShown(block[1], block[2]); problem != "" {
				t.Errorf("%s: %s", page, problem)
			}
		}
	}
	if shown < 20 {
		t.Errorf("the pages show %d blocks only", shown)
	}
}

// notShown says why a block is no part of the file that is named, "" where it is.
func notShown(from, block string) string {
	if from == "" {
		return "no file is named for this:\n" + block
	}
	file, err := os.ReadFile(filepath.Join("../..", from))
	if err != nil {
		return err.Error()
	}
	if !strings.Contains("\n"+string(file), "\n"+block) {
		return from + " does not have this:\n" + block
	}
	return ""
}

func TestABlockThatIsNotInItsFileIsNoticed(t *testing.T) {
	t.Parallel()
	const from = "examples/plugins/billing/main.go"
	for _, wrong := range [][2]string{{"", "package main\n"}, {from, "package other\n"}, {"examples/none.go", "x\n"}, {from, "ackage main\n"}} {
		if notShown(wrong[0], wrong[1]) == "" {
			t.Errorf("%q passes", wrong)
		}
	}
	if problem := notShown(from, "package main\n"); problem != "" {
		t.Error(problem)
	}
}
