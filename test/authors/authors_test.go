// Package authors does what authors of plugins do: outside of the tree, with the module
// of the SDK alone.
package authors

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testsdk"
)

const (
	root = "../.."
	// modules is how many an author inherits at most, the plugin's own and the SDK counted.
	modules = 20
)

// sdk is the SDK of this tree in a proxy.
func sdk(t *testing.T) *testsdk.Published {
	t.Helper()
	published, err := testsdk.Publish(t.TempDir(), filepath.Join(root, "sdk"))
	if err != nil {
		t.Fatal(err)
	}
	return published
}

// run runs a go command of an author and returns what it prints.
func run(t *testing.T, published *testsdk.Published, dir string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir, command.Env = dir, published.Environ(os.Environ())
	var errors strings.Builder
	command.Stderr = &errors
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, errors.String())
	}
	return string(out)
}

// TestIssue15_ExamplesOutsideTheTree: each plugin of examples/plugins is built, vetted and
// tested from a copy, with the SDK out of a module proxy.
func TestIssue15_ExamplesOutsideTheTree(t *testing.T) {
	t.Parallel()
	published := sdk(t)
	found, err := filepath.Glob(filepath.Join(root, "examples", "plugins", "*", "go.mod"))
	if err != nil || len(found) < 2 {
		t.Fatalf("there are examples in Go: %q, %v", found, err)
	}
	for _, mod := range found {
		name := filepath.Base(filepath.Dir(mod))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(mod))); err != nil {
				t.Fatal(err)
			}
			run(t, published, dir, "mod", "edit", "-dropreplace="+testsdk.Module, "-require="+testsdk.Module+"@"+published.Version)
			for _, command := range []string{"build -o plugin .", "vet ./...", "test ./..."} {
				run(t, published, dir, strings.Fields(command)...)
			}
			inherited(t, run(t, published, dir, "list", "-m", "all"))
		})
	}
}

// TestIssue15_WhatATestInherits: sdktest brings no module more than the SDK alone.
func TestIssue15_WhatATestInherits(t *testing.T) {
	t.Parallel()
	published := sdk(t)
	var lists []string
	for _, test := range []string{"", "package main\n\nimport (\n\t\"testing\"\n\n\t\"" + testsdk.Module + "/sdktest\"\n)\n\nfunc TestPlugin(t *testing.T) { sdktest.Open(t, plugin(), nil) }\n"} {
		dir := t.TempDir()
		files := map[string]string{
			"main.go": "package main\n\nimport \"" + testsdk.Module + "\"\n\nfunc plugin() *sdk.Plugin { return sdk.New(\"p\", \"1.0.0\", \"A plugin\", sdk.Read(\"a\", \"An action\", func(*sdk.Call[struct{}], struct{}) (struct{}, error) { return struct{}{}, nil })) }\n\nfunc main() { plugin().Serve() }\n",
		}
		if test != "" {
			files["main_test.go"] = test
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run(t, published, dir, "mod", "init", "example.com/p")
		run(t, published, dir, "get", testsdk.Module+"@latest")
		run(t, published, dir, "test", "./...")
		list := run(t, published, dir, "list", "-m", "all")
		inherited(t, list)
		lists = append(lists, list)
	}
	if lists[0] != lists[1] {
		t.Errorf("with a test an author inherits\n%s\nwithout one\n%s", lists[1], lists[0])
	}
}

func inherited(t *testing.T, list string) {
	t.Helper()
	if n := strings.Count(list, "\n"); n > modules {
		t.Errorf("an author inherits %d modules, of %d at most:\n%s", n, modules, list)
	}
	if strings.Contains(list, "github.com/flowrun/flowrun v") {
		t.Errorf("an author inherits the engine:\n%s", list)
	}
}
