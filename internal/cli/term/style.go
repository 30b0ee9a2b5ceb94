package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colours text, or leaves it as it is. The zero value leaves it.
type Style struct{ Color bool }

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold makes text bold.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim makes text faint.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red is for what failed.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for what succeeded.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for what waits or warns.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan is for what runs, and for commands to type.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// defaultWidth and defaultHeight hold where a terminal does not tell.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// Size returns width and height of the terminal behind w, or 80 by 24.
func Size(w io.Writer) (width, height int) {
	if file, ok := w.(*os.File); ok {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return defaultWidth, defaultHeight
}
