//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// TestIssue15_GrantsAreAskedForOnATerminal: what a plugin asks for is shown first, and who
// says nothing grants nothing.
func TestIssue15_GrantsAreAskedForOnATerminal(t *testing.T) {
	t.Parallel()
	binary, words := buildBinary(t), buildPlugin(t, "words")
	for answer, granted := range map[string]bool{"": false, "n": false, "what": false, "y": true, "YES": true} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "words"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := testbuild.Copy(filepath.Join(dir, "words/words"), words); err != nil {
			t.Fatal(err)
		}
		write(t, dir, "flowrun.yaml", "# ours\n")
		write(t, dir, "words/flowrun-plugin.yaml", "name: words\nversion: 1.0.0\ncommand: [./words]\nwants: {env: [WORDS_MODE], memory: 3GiB}\n")
		terminal := openTerminal(t, 120, 40)
		command := terminal.start(t, binary, dir, "plugins", "add", "./words")
		terminal.await(t, `asks for   env WORDS_MODE; memory 3GiB`)
		terminal.await(t, `grant words: env WORDS_MODE; memory 3GiB\? \[y/N\] $`)
		if _, err := terminal.master.WriteString(answer + "\n"); err != nil {
			t.Fatal(err)
		}
		if err := command.Wait(); err != nil {
			t.Fatalf("%q: %v\n%s", answer, err, terminal.text())
		}
		project, err := os.ReadFile(filepath.Join(dir, "flowrun.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(project), "WORDS_MODE"); got != granted {
			t.Errorf("%q: granted is %v, want %v\n%s", answer, got, granted, project)
		}
		if !granted {
			terminal.await(t, `not granted, it runs without: env WORDS_MODE; memory 3GiB`)
		}
	}
}
