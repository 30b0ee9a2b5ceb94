package testbuild_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// module writes a module whose program prints a word.
func module(t *testing.T, word string) string {
	t.Helper()
	dir := t.TempDir()
	program := "package main\n\nvar more string\n\nfunc main() { print(\"" + word + "\" + more) }\n"
	for name, text := range map[string]string{"go.mod": "module example.com/said\n\ngo 1.24\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// emptyCache lets the programs of this test be made in a folder of its own.
func emptyCache(t *testing.T) {
	t.Helper()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir()) // where other systems have it
}

func says(t *testing.T, program string) string {
	t.Helper()
	output, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return string(output)
}

// TestAProgramIsThatOfItsSource: what stands in the shared folder is used while it is
// up to date, and made anew when it is not, also by another checkout.
func TestAProgramIsThatOfItsSource(t *testing.T) {
	emptyCache(t)
	out, one, two := t.TempDir(), module(t, "one"), module(t, "two")
	t.Chdir(one)
	for i, step := range []struct{ dir, want, flag string }{
		{one, "one", ""}, {one, "one", ""}, {two, "two", ""}, {one, "one", ""}, {one, "onesaid", "-ldflags=-s -w -X main.more=said"}, {one, "one", ""},
	} {
		t.Chdir(step.dir)
		var flags []string
		if step.flag != "" {
			flags = append(flags, step.flag)
		}
		path := filepath.Join(out, "program")
		if err := testbuild.Program(path, ".", flags...); err != nil {
			t.Fatal(err)
		}
		if got := says(t, path); got != step.want {
			t.Errorf("step %d: it says %q, want %q", i, got, step.want)
		}
	}
}

// TestAnOverlayIsLookedAt: two that replace the same file share a program, one after the
// other, and the program without them is another.
func TestAnOverlayIsLookedAt(t *testing.T) {
	emptyCache(t)
	dir := module(t, "one")
	t.Chdir(dir)
	overlay := func(word string) string {
		text := `{"Replace": {"` + filepath.Join(dir, "main.go") + `": "` + filepath.Join(module(t, word), "main.go") + `"}}`
		path := filepath.Join(t.TempDir(), "overlay.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, want := range []string{"one", "spoiled", "one", "broken", "spoiled"} {
		var flags []string
		if want != "one" {
			flags = []string{"-overlay", overlay(want)}
		}
		path := filepath.Join(t.TempDir(), "program")
		if err := testbuild.Program(path, ".", flags...); err != nil {
			t.Fatal(err)
		}
		if got := says(t, path); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestProgramsAreMadeBesideEachOther(t *testing.T) {
	emptyCache(t)
	out := t.TempDir()
	t.Chdir(module(t, "one"))
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			if err := testbuild.Program(filepath.Join(out, name), "."); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, name := range []string{"a", "b", "c", "d"} {
		if got := says(t, filepath.Join(out, name)); got != "one" {
			t.Errorf("%s says %q", name, got)
		}
	}
}

func TestAProgramThatDoesNotCompileIsTold(t *testing.T) {
	emptyCache(t)
	dir := module(t, "one")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { nothing() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := testbuild.Program(filepath.Join(t.TempDir(), "program"), "."); err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("error %v, want what the compiler says", err)
	}
}
