package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageOfTheDocumentationTakesFigures(t *testing.T) {
	dir := t.TempDir()
	doc, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	page, samples, picture := filepath.Join(dir, "performance.md"), filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "p.svg")
	for path, text := range map[string]string{page: string(doc), samples: `{"program":"flowrun","scenario":"S2","units":1000,"unit":"step","wall_ns":1234000000,"repetition":1}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := command([]string{"-doc", page, "-picture", picture, samples}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "1,234 µs") || !strings.Contains(string(got), "](p.svg)") {
		t.Errorf("the page has no figures:\n%s", got)
	}
	if _, err := os.Stat(picture); err != nil {
		t.Error(err)
	}
	if err := command([]string{"-doc", page}); err == nil {
		t.Error("a page was written of no samples")
	}
}
