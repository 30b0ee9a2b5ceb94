// Package term writes to terminals: text without control characters, its
// width, colours, a block of lines that is drawn again in place, and a box for
// what a person must do.
package term

import (
	"strings"
	"unicode"
	"unicode/utf8"
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
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteRune(utf8.RuneError)
		case r == '\n' || r == '\t':
			if lines {
				out.WriteRune(r)
			} else {
				out.WriteByte(' ')
			}
		case unicode.IsControl(r) || isBidi(r):
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
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

// isBidi reports the characters that change the order of display, and the
// separators that some terminals take for a new line.
func isBidi(r rune) bool {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x200E, r == 0x200F, r == 0x061C, r == 0x2028, r == 0x2029:
		return true
	}
	return false
}
