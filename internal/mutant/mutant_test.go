package mutant_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/mutant"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const patch = `# two of them

=== first is second
breaks: P1 the order
file: a.go
tests: . TestA|TestB
---
	return 1
+++
	return 2

=== nothing is returned
file: b.go
---
return 3
+++
return 0
`

func TestReadAndOverlay(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\n\nfunc f() int {\n\treturn 1\n}\n")
	write(t, dir, "b.go", "package a\n\nfunc g() int {\n\treturn 3\n}\n")
	all, err := mutant.Read(write(t, dir, "area.txt", patch))
	if err != nil {
		t.Fatal(err)
	}
	want := mutant.Mutant{Name: "first is second", Breaks: "P1 the order", File: "a.go", Tests: ".", Run: "TestA|TestB", Old: "\treturn 1", New: "\treturn 2", Place: "area.txt:3"}
	if len(all) != 2 || all[0] != want || all[1].Tests != "" {
		t.Fatalf("got %+v, want %+v and one more", all, want)
	}
	overlay, err := mutant.Overlay(t.TempDir(), dir, all...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(overlay)
	if err != nil {
		t.Fatal(err)
	}
	spoiled, err := os.ReadFile(filepath.Join(filepath.Dir(overlay), "0_a.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), filepath.Join(dir, "a.go")) || !strings.Contains(string(text), filepath.Join(dir, "b.go")) {
		t.Errorf("the overlay is %s", text)
	}
	if string(spoiled) != "package a\n\nfunc f() int {\n\treturn 2\n}\n" {
		t.Errorf("the spoiled file is\n%s", spoiled)
	}
	if _, err := mutant.Overlay(t.TempDir(), dir, all[0], all[0]); err == nil {
		t.Error("two faults of one file are taken, and one of them is lost")
	}
}

func TestWhereAPackageIsTested(t *testing.T) {
	for dir, want := range map[string][2]string{
		"engine/diag": {"root", "./engine/diag"}, ".": {"root", "./."}, "sdk": {"root/sdk", "./"}, "sdk/sdktest": {"root/sdk", "./sdktest/"}, "sdkother": {"root", "./sdkother"},
	} {
		if module, pattern := mutant.Package("root", dir); module != filepath.FromSlash(want[0]) || pattern != want[1] {
			t.Errorf("%s: %s %s, want %q", dir, module, pattern, want)
		}
	}
}

func TestMutantsThatDoNotFitAreRefused(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\n\nvar x, y = 1, 1\n")
	for name, m := range map[string]mutant.Mutant{
		"0 times":         {File: "a.go", Old: "= 2", New: "= 3"},
		"2 times":         {File: "a.go", Old: "1", New: "2"},
		"times: write":    {File: "a.go", Old: "", New: "2"},
		"nothing changes": {File: "a.go", Old: "1, 1", New: "1, 1"},
		"can't be read":   {File: "a.go", Old: "= 1", New: "= )"},
		"no such file":    {File: "b.go", Old: "1", New: "2"},
	} {
		if _, err := m.Source(dir); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
	for name, text := range map[string]string{"before the first": "file: a.go\n", "nothing of a mutant": "=== x\nfiel: a.go\n"} {
		if _, err := mutant.Read(write(t, dir, "area.txt", text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
}
