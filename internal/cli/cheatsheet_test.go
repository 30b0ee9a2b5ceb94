package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

// TestEachCommandOfTheCheatSheetParses: it is one that flowrun has, with flags and
// arguments that it takes, and the page stays one page.
func TestEachCommandOfTheCheatSheetParses(t *testing.T) {
	source, err := os.ReadFile("../../docs/cheatsheet.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, b := range testpage.Read(source) {
		if !b.Code {
			continue
		}
		for line := range strings.Lines(b.Text) {
			// The first 48 characters are the command, what is behind says what it does.
			command := strings.TrimSpace(line)
			if len(command) > 48 {
				command = strings.TrimSpace(command[:48])
			}
			if !strings.HasPrefix(command, "flowrun ") {
				t.Errorf("%q is no command", command)
				continue
			}
			for _, words := range commandsIn(command) {
				commands[parses(t, "docs/cheatsheet.md", words)] = true
			}
		}
	}
	if len(commands) < 35 {
		t.Errorf("%d commands only: %v", len(commands), commands)
	}
	if lines := strings.Count(string(source), "\n"); lines > 100 {
		t.Errorf("%d lines are more than one page", lines)
	}
}
