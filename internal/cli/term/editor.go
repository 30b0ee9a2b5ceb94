package term

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Editor reads lines from a terminal: the arrows move in the line and through those that
// were read, and Tab completes a word.
type Editor struct {
	fd    int
	edits *term.Terminal
}

// terminal is both ends of one.
type terminal struct {
	io.Reader
	io.Writer
}

// OpenEditor begins to read lines. complete says what the last word of a line may become;
// each begins with that word. ErrNoTerminal.
func OpenEditor(in io.Reader, out io.Writer, prompt string, complete func(line string) (word string, found []string)) (*Editor, error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, ErrNoTerminal
	}
	e := &Editor{fd: int(file.Fd()), edits: term.NewTerminal(terminal{in, out}, prompt)}
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

// Read reads the next line; io.EOF at Ctrl-D and Ctrl-C. Only while it reads is the
// terminal not as it was.
func (e *Editor) Read() (string, error) {
	before, err := term.MakeRaw(e.fd)
	if err != nil {
		return "", fmt.Errorf("read from the terminal: %w", err)
	}
	line, err := e.edits.ReadLine()
	if restored := term.Restore(e.fd, before); err == nil && restored != nil {
		err = restored
	}
	return line, err
}
