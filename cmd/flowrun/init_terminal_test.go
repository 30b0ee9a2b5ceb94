//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitAsksInATerminal: it asks for template and folder, says what is wrong, completes
// with Tab, proposes a new folder among the files of somebody, and makes nothing when one
// leaves.
func TestInitAsksInATerminal(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "letter.txt", "dear")
	t.Run("leave", func(t *testing.T) {
		screen := openTerminal(t, 100, 30)
		command := screen.start(t, binary, dir, "init")
		screen.await(t, `(?s)hello .*etl .*Which\? \[hello\]: $`)
		typeKeys(t, screen, "\x03")
		screen.await(t, "nothing was made")
		if err := command.Wait(); err == nil || command.ProcessState.ExitCode() != 130 {
			t.Errorf("it ended with %v, want exit code 130", err)
		}
		if found, _ := filepath.Glob(filepath.Join(dir, "*")); len(found) != 1 {
			t.Errorf("there is %v", found)
		}
	})
	t.Run("answer", func(t *testing.T) {
		screen := openTerminal(t, 100, 30)
		command := screen.start(t, binary, dir, "init")
		screen.await(t, `Which\? \[hello\]: $`)
		typeKeys(t, screen, "scedule\r")
		screen.await(t, "(?s)there is no template .scedule.; a number, or did you mean .schedule..*Which\\? \\[hello\\]: $")
		typeKeys(t, screen, "et\t\r")
		screen.await(t, `Where\?.*\]: $`)
		if !strings.Contains(screen.text(), "this one [flows]: ") {
			t.Fatalf("no new folder is proposed beside a letter:\n%s", screen.text())
		}
		typeKeys(t, screen, "\r")
		screen.await(t, "(?s)created  flows/workflows/sales.yaml.*try: cd flows && flowrun run workflows/sales.yaml")
		if err := command.Wait(); err != nil {
			t.Errorf("it ended with %v\n%s", err, screen.text())
		}
		if _, err := os.Stat(filepath.Join(dir, "flows", "data", "sales.csv")); err != nil {
			t.Error(err)
		}
	})
	t.Run("asks for what is missing alone", func(t *testing.T) {
		screen := openTerminal(t, 100, 30)
		command := screen.start(t, binary, dir, "init", "mine")
		screen.await(t, `Which\? \[hello\]: $`)
		typeKeys(t, screen, "4\r")
		screen.await(t, "created  mine/workflows/release.yaml")
		if err := command.Wait(); err != nil {
			t.Errorf("it ended with %v\n%s", err, screen.text())
		}
	})
	t.Run("no input", func(t *testing.T) {
		screen := openTerminal(t, 100, 30)
		command := screen.start(t, binary, filepath.Join(dir, "mine"), "init", "--no-input")
		screen.await(t, "(?s)kept     flowrun.yaml.*created  workflows/hello.yaml")
		if err := command.Wait(); err != nil {
			t.Errorf("it ended with %v\n%s", err, screen.text())
		}
	})
}

// typeKeys types into a terminal.
func typeKeys(t *testing.T, screen *terminal, keys string) {
	t.Helper()
	if _, err := screen.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}
