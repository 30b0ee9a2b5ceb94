package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// TestIssue15_ThePageOfUpgradesIsTrue does what docs/plugins/upgrade.md shows: its files, its
// commands, with the plugin that it speaks of in two versions.
func TestIssue15_ThePageOfUpgradesIsTrue(t *testing.T) {
	t.Parallel()
	r := newPageReader(t, "../../docs/plugins/upgrade.md")
	dir, binary := r.typist.Dir, r.binary
	for folder, flags := range map[string]string{"plugins": "-X main.version=1.0.0 -X main.field=name", "downloads": "-X main.version=2.0.0 -X main.field=who"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := testbuild.Program(filepath.Join(dir, folder, "greeter"), "./testdata/greeter", "-ldflags=-s -w "+flags); err != nil {
			t.Fatal(err)
		}
	}
	r.read(nil)
	if r.typed != 3 {
		t.Fatalf("the page has %d commands", r.typed)
	}
	old, err := os.ReadFile(filepath.Join(dir, "hello.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "hello.yaml", strings.ReplaceAll(string(old), "name: Ada", "who: Ada"))
	for _, command := range [][]string{
		{"plugins", "update", "greeter", "./downloads/greeter"}, {"plugins", "upgrade", "greeter", "--check"}, {"run", "hello.yaml", "--locked"},
	} {
		if output, code := flowrunIn(t, binary, dir, command...); code != 0 {
			t.Errorf("flowrun %s exits with %d:\n%s", strings.Join(command, " "), code, output)
		}
	}
}
