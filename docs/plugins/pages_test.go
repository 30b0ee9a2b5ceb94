// Package plugins holds the pages for authors of plugins against the examples that they
// show.
package plugins

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

// TestIssue15_6_PagesShowFilesThatAreTested: each block in Go, Python or shell stands, line
// by line, in the file that the link before it names. The files are built, checked and run
// by scripts/examples and test/python.
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
		blocks := testpage.Read(text)
		if !slices.ContainsFunc(blocks, func(b testpage.Block) bool { return b.Linked }) {
			continue // its blocks have a test of their own
		}
		for _, b := range blocks {
			if !b.Linked && !slices.Contains([]string{"go", "python", "sh"}, b.Language) {
				continue
			}
			shown++
			from := ""
			if b.Linked {
				from = b.File
			}
			if problem := notShown(from, b.Text); problem != "" {
				t.Errorf("%s:%d: %s", page, b.Line, problem)
			}
		}
	}
	if shown < 40 {
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
