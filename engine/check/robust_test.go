package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Broken files make problems that stand inside the file, and never a panic.
func TestEveryLineMissing(t *testing.T) {
	for _, file := range append(files(t, "testdata/valid/*.yaml", 60), files(t, "testdata/mistakes/*.yaml", 200)...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i := range lines {
			without := slices.Delete(slices.Clone(lines), i, i+1)
			_, problems := checkText(catalogFor(string(text)), filepath.Base(file), strings.Join(without, "\n"))
			for _, p := range problems {
				if p.Line < 1 || p.Line > len(without) || p.Column < 1 || p.Column > len([]rune(without[p.Line-1]))+1 {
					t.Errorf("without line %d: %v stands outside of the file", i+1, p)
				}
			}
		}
	}
}

func FuzzCheck(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		workflow, problems := checkText(fake(), "fuzz.yaml", text)
		if workflow == nil && !problems.HasErrors() {
			t.Error("no plan and no error")
		}
		if workflow != nil {
			if _, err := workflow.Encode(); err != nil {
				t.Errorf("encode: %v", err)
			}
		}
	})
}
