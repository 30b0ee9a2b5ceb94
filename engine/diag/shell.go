package diag

import (
	"strings"
	"unicode"
)

// ShellWord writes a text so that a shell takes it as one word: as it is where it
// needs no quotes. Hints are typed.
func ShellWord(text string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./=:@,+%", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
