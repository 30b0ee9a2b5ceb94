//go:build linux

package main_test

import (
	"strings"
	"testing"
)

// TestExpressionsAreTypedInATerminal: Tab completes names and functions, a mistake is shown
// under the expression and the next one is asked for, the arrow brings the last one back,
// and Ctrl-D ends.
func TestExpressionsAreTypedInATerminal(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	screen := openTerminal(t, 100, 30)
	command := screen.start(t, binary, dir, "eval", "-i", "days:=3", "-i", "name=ann")
	keys := func(text string) {
		t.Helper()
		if _, err := screen.master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	screen.await(t, "> $")
	keys("inp\t.d\t * 2\r")
	screen.await(t, `integer\s+6\s+read inputs.days  3\s+> $`)
	keys("inputs.\t")
	screen.await(t, `inputs.days  inputs.name`)
	keys("dys\r")
	screen.await(t, "(?s)unknown field `dys`.*\\s> $")
	keys("\x1b[A\x1b[A\r")
	screen.await(t, `(?s)read inputs.days  3.*read inputs.days  3\s+> $`)
	keys("startsW\tinputs.name, 'a')\r")
	screen.await(t, `(?s)(?:error.FR3.*){2}\s> $`)
	keys("1 + 1\r")
	keys("\x04") // typed ahead, maybe while the answer is printed
	if err := command.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, screen.text())
	}
	if strings.Contains(screen.text(), "panic") {
		t.Error(screen.text())
	}
}
