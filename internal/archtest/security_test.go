package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNamesTestsThatThereAre: each promise of SECURITY.md names its tests,
// and those exist.
func TestSecurityNamesTestsThatThereAre(t *testing.T) {
	root := filepath.Join("..", "..")
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range declared.FindAllSubmatch(text, -1) {
			there[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what is guarded") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSpace(line), "|")
		tests := named.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(tests) == 0 {
			t.Errorf("a promise of SECURITY.md names no test: %s", line)
		}
		for _, test := range tests {
			if !there[test[1]] {
				t.Errorf("SECURITY.md names %s, which no package has: %s", test[1], line)
			}
		}
	}
	if rows < 15 {
		t.Errorf("SECURITY.md has %d promises, of 15 at least", rows)
	}
}
