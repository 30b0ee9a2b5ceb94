//go:build linux || darwin

package term

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Editor reads lines from a terminal: the arrows move in the line and through those that
// were read, and Tab completes a word.
type Editor struct {
	edits   *term.Terminal
	restore func() error
}

// terminal is both ends of one.
type terminal struct {
	io.Reader
	io.Writer
}

// OpenEditor begins to read lines; Close must be called. Until then the terminal hands each
// key on, also between two lines: a Ctrl-D that is typed ahead would be lost otherwise. What
// is printed meanwhile looks as it always does. complete says what the last word of a line
// may become; each begins with that word. ErrNoTerminal.
func OpenEditor(in io.Reader, out io.Writer, prompt string, complete func(line string) (word string, found []string)) (*Editor, error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, ErrNoTerminal
	}
	restore, err := handKeysOn(int(file.Fd()))
	if err != nil {
		return nil, fmt.Errorf("read from the terminal: %w", err)
	}
	e := &Editor{edits: term.NewTerminal(terminal{in, out}, prompt), restore: restore}
	if width, height := Size(out); width > 0 {
		_ = e.edits.SetSize(width, max(height, 1)) // without one it is 80 wide
	}
	e.edits.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		line, pos, choices := completed(line, pos, complete)
		if len(choices) > 1 {
			fmt.Fprintf(e.edits, "%s\n", Clean(strings.Join(choices, "  ")))
		}
		return line, pos, true
	}
	return e, nil
}

// completed is a line with the word before pos made as long as all that it may become have
// in common, and what it may become where that is several.
func completed(line string, pos int, complete func(line string) (word string, found []string)) (longer string, at int, choices []string) {
	pos = min(pos, len(line))
	word, found := complete(line[:pos])
	if len(found) == 0 {
		return line, pos, nil
	}
	common := found[0]
	for _, choice := range found {
		for !strings.HasPrefix(choice, common) {
			common = common[:len(common)-1]
		}
	}
	if common == word && len(found) > 1 {
		return line, pos, found
	}
	start := pos - len(word)
	return line[:start] + common + line[pos:], start + len(common), nil
}

// Prompt sets what stands before the next line.
func (e *Editor) Prompt(text string) { e.edits.SetPrompt(text) }

// handKeysOn makes a terminal hand each key on as it is typed, Ctrl-C and Ctrl-D too. What
// is printed is not touched: a line feed goes to the beginning of the next line.
func handKeysOn(fd int) (restore func() error, err error) {
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	restore = func() error { return term.Restore(fd, before) }
	raw, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		raw.Oflag |= unix.OPOST
		err = unix.IoctlSetTermios(fd, setTermios, raw)
	}
	if err != nil {
		return nil, errors.Join(err, restore())
	}
	return restore, nil
}

// Read reads the next line; io.EOF at Ctrl-D and Ctrl-C.
func (e *Editor) Read() (string, error) { return e.edits.ReadLine() }

// Close gives the terminal back as it was.
func (e *Editor) Close() error {
	if err := e.restore(); err != nil {
		return fmt.Errorf("give the terminal back: %w", err)
	}
	return nil
}
