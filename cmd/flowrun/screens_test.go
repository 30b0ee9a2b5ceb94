//go:build linux

package main_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	readChild = `flowrun: v1
name: child
steps:
  - {id: say, uses: core.log, with: {text: "in the child"}}
`
	readParent = `flowrun: v1
name: weekly-review
inputs:
  fail: {type: boolean, default: false}
steps:
  - {id: sub, uses: ./child.yaml}
  - id: check
    uses: core.assert
    with: {that: "${{ not inputs.fail }}", message: "the figures of the week are not those that were promised, and nobody knows why"}
  - {id: tell, uses: core.log, with: {text: "all is well"}}
outputs:
  done: ${{ steps.tell.status }}
`
	readItems = `flowrun: v1
name: domains
steps:
  - {uses: core.log, with: {text: "it begins"}}
  - {uses: core.log, with: {text: "it goes on"}}
  - id: each
    foreach: [a, b, c]
    as: name
    key: ${{ name }}
    max_parallel: 1
    on_error: collect
    steps:
      - {id: check, uses: core.assert, with: {that: "${{ name == 'b' }}", message: "${{ name }} is not b"}}
  - {uses: core.fail, with: {message: "nothing is as it was"}}
`
)

// readFolder is a project in which a run of a workflow with a sub-workflow failed, and a
// later one ended well.
func readFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "flowrun.yaml", "workflows: [.]\n")
	write(t, dir, "child.yaml", readChild)
	write(t, dir, "review.yaml", readParent)
	for _, value := range []string{"true", "false"} {
		command := exec.Command(buildBinary(t), "run", "review.yaml", "-i", "fail="+value, "-o", "json")
		command.Dir = dir
		var exit *exec.ExitError
		if output, err := command.CombinedOutput(); err != nil && !errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	return dir
}

// screenOf runs a command in a terminal of a size, and returns what stands on it at the end
// with all that scrolled away.
func screenOf(t *testing.T, dir string, columns int, args ...string) string {
	t.Helper()
	master, slave := bareTerminal(t)
	defer func() { _ = master.Close() }()
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: 40}); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(buildBinary(t), args...)
	command.Dir, command.Stdin, command.Stdout, command.Stderr = dir, slave, slave, slave
	command.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "TZ=UTC")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, master) // ends with an error when the command has ended
	_ = command.Wait()
	return emulated(shown.String(), columns)
}

var controls = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

// emulated is the text on a terminal that output was written to, as far as the commands
// use what a terminal can do. A line that the terminal itself broke ends with ↩.
func emulated(output string, columns int) string {
	lines, row, column := [][]rune{nil}, 0, 0
	put := func(r rune) {
		for len(lines) <= row {
			lines = append(lines, nil)
		}
		for len(lines[row]) <= column {
			lines[row] = append(lines[row], ' ')
		}
		lines[row][column] = r
		column++
	}
	for rest := output; rest != ""; {
		if match := controls.FindStringSubmatch(rest); match != nil {
			n, _ := strconv.Atoi(match[1])
			switch match[2] {
			case "A":
				row = max(row-n, 0)
			case "K":
				if row < len(lines) {
					lines[row] = lines[row][:min(column, len(lines[row]))]
				}
			case "J":
				lines = lines[:min(row, len(lines))]
			}
			rest = rest[len(match[0]):]
			continue
		}
		r := []rune(rest)[0]
		rest = strings.TrimPrefix(rest, string(r))
		switch r {
		case '\r':
			column = 0
		case '\n':
			row++
		default:
			if column >= columns {
				put('↩')
				row, column = row+1, 0
			}
			put(r)
		}
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	return text.String()
}

var unsteady = []struct {
	pattern *regexp.Regexp
	steady  string
}{
	{regexp.MustCompile(`\b01[0-9a-z]{24}\b`), "01k8zq4c0vdx3y6t7k9m2n5p8r"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( UTC)?`), "DATE"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "CLOCK"},
	{regexp.MustCompile(`\b\d+[smh] ago`), "AGO"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s)\b`), "TOOK"},
	{regexp.MustCompile(`TOOK → TOOK`), "TOOK"},
	{regexp.MustCompile(`(: the figures of the week are)[^\n]*…`), "$1 …"}, // cut where a wide time leaves room
	{regexp.MustCompile(` {2,}`), "  "},
}

// steady leaves out what differs from run to run; with it goes how wide columns are.
func steady(screen string) string {
	for _, u := range unsteady {
		screen = u.pattern.ReplaceAllString(screen, u.steady)
	}
	return screen
}

// compareScreen compares a screen with the one that is kept. UPDATE=1 writes it.
func compareScreen(t *testing.T, name, screen string, columns int) {
	t.Helper()
	golden := filepath.Join("testdata", "screens", name+"."+strconv.Itoa(columns)+".golden")
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(steady(screen)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := steady(screen); got != string(want) {
		t.Errorf("%s at %d columns shows\n%s\nwant\n%s", name, columns, got, want)
	}
}

// TestWhatReadsRunsFitsTheTerminal: each command that reads runs, at 40, 80 and 200 columns.
// What they print is not broken by the terminal, and no id is cut.
func TestWhatReadsRunsFitsTheTerminal(t *testing.T) {
	t.Parallel()
	dir := readFolder(t)
	for name, args := range map[string][]string{
		"list": {"runs", "list"}, "show": {"runs", "show", "@failed"}, "stats": {"runs", "stats", "-w", "weekly-review"}, "logs": {"runs", "logs", "@failed"}, "diff": {"runs", "diff", "last"},
	} {
		for _, columns := range []int{40, 80, 200} {
			compareScreen(t, name, screenOf(t, dir, columns, args...), columns)
		}
	}
}

// TestALiveViewLeavesTheWholeRunOnTheScreen: what `run` leaves at 40, 80 and 200 columns has
// the id, each step once and all that failed.
func TestALiveViewLeavesTheWholeRunOnTheScreen(t *testing.T) {
	t.Parallel()
	dir := readFolder(t)
	write(t, dir, "items.yaml", readItems)
	for _, columns := range []int{40, 80, 200} {
		compareScreen(t, "run", screenOf(t, dir, columns, "run", "items.yaml"), columns)
	}
}
