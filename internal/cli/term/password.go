package term

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("stdin is no terminal")

// IsTerminalInput reports whether in is a terminal.
func IsTerminalInput(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ReadPassword reads a line from a terminal without showing it. A signal that
// comes meanwhile ends it: the terminal is given back as it was and the signal
// returned. ErrNoTerminal.
func ReadPassword(in io.Reader, signals <-chan os.Signal) (line []byte, signal os.Signal, err error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, nil, ErrNoTerminal
	}
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, nil, fmt.Errorf("ask on the terminal: %w", err)
	}
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // after a signal it stays in its read until the process ends, which is at once
		line, err := term.ReadPassword(fd)
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		return a.line, nil, a.err
	case signal := <-signals:
		return nil, signal, term.Restore(fd, before)
	}
}
