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
	text, err := os.ReadFile("../../docs/plugins/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := experienced(t, dir)
	for folder, flags := range map[string]string{"plugins": "-X main.version=1.0.0 -X main.field=name", "downloads": "-X main.version=2.0.0 -X main.field=who"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := testbuild.Program(filepath.Join(dir, folder, "greeter"), "./testdata/greeter", "-ldflags=-s -w "+flags); err != nil {
			t.Fatal(err)
		}
	}
	blocks := markedBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 4 {
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	for _, match := range blocks {
		checkMarked(t, binary, dir, block{match[1], match[2], match[3]}, []string{"hello.yaml"})
	}
	write(t, dir, "hello.yaml", strings.ReplaceAll(blocks[1][3], "name: Ada", "who: Ada"))
	for _, command := range [][]string{
		{"plugins", "update", "greeter", "./downloads/greeter"}, {"plugins", "upgrade", "greeter", "--check"}, {"run", "hello.yaml", "--locked"},
	} {
		if output, code := flowrunIn(t, binary, dir, command...); code != 0 {
			t.Errorf("flowrun %s exits with %d:\n%s", strings.Join(command, " "), code, output)
		}
	}
}
