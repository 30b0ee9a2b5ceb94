//go:build linux

package main_test

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const needyWorkflow = `flowrun: v1
name: needy
inputs:
  site: {type: string, enum: [north, south], description: "where it is sold"}
  limit: {type: integer, minimum: 1, maximum: 50}
  loud: {type: boolean}
  since: {type: string, format: date-time}
  rows: {type: array, items: {type: string}}
  options: {type: object, properties: {a: {type: integer}}}
  name: {type: string}
  given: {type: string}
  days: {type: integer, default: 7}
steps:
  - id: tell
    uses: core.log
    with: {text: "${{ inputs.site }} ${{ inputs.limit + 1 }} ${{ inputs.loud }} ${{ inputs.since }} ${{ join(inputs.rows, '+') }} ${{ inputs.options.a ?? 0 }} ${{ inputs.name }} ${{ inputs.given }} ${{ inputs.days }}"}
`

// TestMissingInputsAreAskedFor: each by its type, with its description and the defaults of
// the others; what is wrong is told and asked for again. Leaving does nothing.
func TestMissingInputsAreAskedFor(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for _, columns := range []uint16{40, 80, 200} {
		dir := t.TempDir()
		write(t, dir, "needy.yaml", needyWorkflow)
		screen := openTerminal(t, columns, 30)
		command := screen.start(t, binary, dir, "run", "needy.yaml", "-i", "given=yes")
		answer := func(shown, keys string) {
			t.Helper()
			screen.await(t, shown)
			if _, err := io.WriteString(screen.master, keys); err != nil {
				t.Fatal(err)
			}
		}
		answer(`inputs of needy(.|\s)*by default days = 7(.|\s)*where it is sold(.|\s)*north(.|\s)*south`, "x\r")
		answer("no choice begins with `x`", "\x7f\x1b[B\r")
		answer(`site = south(.|\s)*limit: an integer; 1 to 50`, "abc\r")
		answer("(?s)limit: an integer.*›.abc.*integer.*`?abc`?", "\x1560\r")
		answer(`(?s)› 60.*50`, "\x157\r")
		answer(`limit = 7(.|\s)*true(.|\s)*false`, "f\r")
		answer(`loud = false(.|\s)*since: a time`, "yesterday\r")
		answer(`yesterday(.|\s)*not a time`, "\x152026-01-02T03:04:05Z\r")
		answer(`rows: a list`, "a, b c\r")
		answer(`options: an object`, "{a: [}\r")
		answer(`\{a: \[\}(.|\s)*did not|\{a: \[\}(.|\s)*YAML|\{a: \[\}(.|\s)*find`, "\x15a: 5\r")
		answer(`name: text`, "\r")
		answer(`it has to be given`, "Ann Lee\r")
		screen.await(t, `(?s)tell:`)
		if err := command.Wait(); err != nil {
			t.Fatalf("%d columns: %v\n%s", columns, err, screen.text())
		}
		if stdout, _ := codeOf(t, 0, binary, dir, "runs", "logs", "last"); !strings.Contains(stdout, "south 8 false 2026-01-02T03:04:05Z a+b c 5 Ann Lee yes 7") {
			t.Errorf("%d columns: the run had %s", columns, stdout)
		}
	}
}

// TestNothingIsDoneWhereNobodyAnswers: Ctrl-C and Esc leave with 130 before a store is made;
// without a terminal and with --no-input the error is told, with what to do.
func TestNothingIsDoneWhereNobodyAnswers(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	write(t, dir, "needy.yaml", needyWorkflow)
	for _, key := range []string{"\x03", "\x1b"} {
		screen := openTerminal(t, 80, 30)
		before := screen.modes(t)
		command := screen.start(t, binary, dir, "run", "needy.yaml")
		screen.await(t, "where it is sold")
		if _, err := io.WriteString(screen.master, key); err != nil {
			t.Fatal(err)
		}
		if code := exitOf(command.Wait()); code != 130 {
			t.Errorf("%q: exit code %d\n%s", key, code, screen.text())
		}
		if after := screen.modes(t); after != before {
			t.Errorf("%q: the terminal is not as it was", key)
		}
	}
	screen := openTerminal(t, 200, 30)
	command := screen.start(t, binary, dir, "run", "needy.yaml", "--no-input")
	if code := exitOf(command.Wait()); code != 2 {
		t.Errorf("--no-input: exit code %d", code)
	}
	screen.await(t, "without --no-input a terminal asks for it")
	_, stderr := codeOf(t, 2, binary, dir, "run", "needy.yaml")
	if !strings.Contains(stderr, "input `site` is missing") || !strings.Contains(stderr, "in a terminal flowrun asks for it") {
		t.Errorf("without a terminal it says %s", stderr)
	}
	if stdout, _ := codeOf(t, 0, binary, dir, "runs", "list", "-o", "json"); firstID(stdout) != "" {
		t.Errorf("there are runs: %s", stdout)
	}
}

// modes are those of the terminal.
func (term *terminal) modes(t *testing.T) unix.Termios {
	t.Helper()
	found, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *found
}
