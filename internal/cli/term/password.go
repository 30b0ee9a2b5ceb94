package term

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("stdin is no terminal")

// IsTerminalInput reports whether in is a terminal.
func IsTerminalInput(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ReadPassword reads a line from a terminal without showing it. The prompt is printed to
// out when nothing that is typed is shown any more: who answers at once, as by pasting, is
// not seen either. A signal that comes meanwhile ends it: the terminal is given back as it
// was and the signal returned. ErrNoTerminal.
func ReadPassword(in io.Reader, out io.Writer, prompt string, signals <-chan os.Signal) (line []byte, signal os.Signal, err error) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, nil, ErrNoTerminal
	}
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err == nil {
		err = hideTyping(fd)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ask on the terminal: %w", err)
	}
	fmt.Fprint(out, prompt)
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
		return a.line, nil, errors.Join(a.err, term.Restore(fd, before))
	case signal := <-signals:
		return nil, signal, term.Restore(fd, before)
	}
}

// hideTyping ends the showing of what is typed.
func hideTyping(fd int) error {
	modes, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	modes.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, setTermios, modes)
}
