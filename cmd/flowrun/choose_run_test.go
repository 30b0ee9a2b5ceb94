//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const askingWorkflow = `flowrun: v1
name: ask
steps:
  - id: first
    uses: core.log
    with: {text: begun}
  - id: approve
    uses: core.approve
    with: {message: "Send it?"}
  - id: last
    uses: core.log
    with: {text: sent}
`

// resize gives a terminal a size.
func (p *typist) resize(columns, rows int) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		p.t.Fatal(err)
	}
}

// TestNoIDIsTypedInATerminal: at 40, 80 and 200 columns runs are looked at, approved, gone on
// with and begun anew from a step by choosing them; no id is typed or copied.
func TestNoIDIsTypedInATerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{40, 80, 200} {
		dir, _ := completedFolder(t)
		write(t, dir, "workflows/ask.yaml", askingWorkflow)
		other := exec.Command(filepath.Join(dir, "bin", "flowrun"), "run", "workflows/greet.yaml")
		other.Dir = dir
		if output, err := other.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		p := typeInto(t, dir, shellOf(t, "bash"), "--norc", "--noprofile", "-i")
		p.resize(columns, 24)
		enter := func(line, shown string) {
			t.Helper()
			p.clear()
			p.types(line)
			p.until(line, shown)
		}
		enter("flowrun run workflows/ask.yaml --no-wait; echo code $?\n", "code 8")
		if match := regexp.MustCompile(`[0-9a-z]{26}`).FindString(p.screen()); match == "" {
			t.Errorf("%d columns: no id stands whole on the screen:\n%s", columns, p.screen())
		}
		enter("flowrun runs show\n", "type to filter")
		enter("asx\x7f", "as▏")
		if screen := p.screen(); !strings.Contains(screen, "1 of 3") {
			t.Errorf("%d columns: the filter leaves more:\n%s", columns, screen)
		}
		enter("\r", "approve")
		p.until("the end of show", "> ")
		enter("flowrun runs approve; echo code $?\n", "code 0")
		enter("flowrun runs resume last; echo code $?\n", "code 0")
		enter("flowrun runs logs last; echo code $?\n", "last: sent")
		enter("flowrun runs rerun\n", "type to filter")
		enter("\x1b[B\x1b[B\x1b[A\x1b", "no run was chosen")
		enter("flowrun runs rerun -w ask --from approve --no-wait; echo code $?\n", "code 8")
		enter("flowrun runs cancel; echo code $?\n", "code 0")
		enter("exit\n", "exit")
	}
}

// TestAChoiceGivesTheTerminalBack: after a choice, Esc and Ctrl-C the terminal echoes and reads
// lines as before.
func TestAChoiceGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	dir, _ := completedFolder(t)
	again := exec.Command(filepath.Join(dir, "bin", "flowrun"), "run", "workflows/greet.yaml")
	again.Dir = dir
	if output, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	p := typeInto(t, dir, shellOf(t, "sh"))
	for _, c := range []struct{ keys, code string }{{"\r", "code 0"}, {"\x1b", "code 130"}, {"\x03", "code 130"}} {
		p.clear()
		p.types("flowrun runs show; echo code $?; stty -a | tr ' ' '\\n' | grep -cx -e icanon -e echo\n")
		p.until("the chooser", "type to filter")
		p.types(c.keys)
		p.until("the end", c.code)
		p.until("stty", "\n2\n")
	}
	if _, err := os.Stat(filepath.Join(dir, ".flowrun", "state", "owner.json")); err == nil {
		t.Error("the store was not given back")
	}
}
