// Package term writes to terminals: text without control characters, its
// width, colours, a block of lines that is drawn again in place, and a box for
// what a person must do.
package term

import (
	"strings"
	"unicode"
)

// Clean returns text as one line that is safe to print: line feeds and tabs
// become spaces; other control characters (C0, C1, escape) and the bidirectional
// ones, which make text read as something else, are left out (CWE-117).
func Clean(text string) string { return clean(text, false) }

// CleanText is Clean for text of several lines: line feeds and tabs stay.
func CleanText(text string) string { return clean(text, true) }

func clean(text string, lines bool) string {
	if isPlain(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp): // some terminals take the last two for a new line
			return -1
		}
		return r
	}, text)
}

// isPlain is the fast way out for printable ASCII.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
