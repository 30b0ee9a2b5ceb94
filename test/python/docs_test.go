package python

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIssue15_5_ThePageShowsTheExample: each file of docs/plugins/python.md is one of the
// example, and each command one that the tests of the example run.
func TestIssue15_5_ThePageShowsTheExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/plugins/python.md")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, name := range []string{"weather.py", "test_weather.py", "flowrun.yaml", "workflows/home.yaml", "flowrun-plugin.yaml"} {
		body, err := os.ReadFile(weatherFolder + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, string(body))
	}
	commands := []string{"python3 -m unittest\n", "python3 flowrun.py pack weather.py\n", "flowrun run home.yaml\n"}
	seen := 0
	for _, block := range regexp.MustCompile("(?s)```(python|yaml|sh)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		seen++
		known := files
		if block[1] == "sh" {
			known = commands
		}
		if !slices.Contains(known, block[2]) {
			t.Errorf("no test runs this:\n%s", block[2])
		}
	}
	if seen != len(files)+len(commands) {
		t.Errorf("the page has %d blocks", seen)
	}
	code := 0
	for _, line := range strings.Split(files[0], "\n") {
		if strings.TrimSpace(line) != "" {
			code++
		}
	}
	if code > 35 {
		t.Errorf("weather.py has %d lines", code)
	}
}
