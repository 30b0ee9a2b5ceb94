//go:build linux || darwin

package term

import (
	"bytes"
	"io"
	"unicode"
	"unicode/utf8"
)

// The keys of who types and chooses. A letter is a key of its own.
const (
	KeyUp        Key = "up"
	KeyDown      Key = "down"
	KeyPageUp    Key = "pageup"
	KeyPageDown  Key = "pagedown"
	KeyEnter     Key = "enter"
	KeyBackspace Key = "backspace"
	KeyClear     Key = "clear" // Ctrl-U, Ctrl-W: what was typed goes
)

// Letter is the letter that a key types; ok is false of any other key.
func (k Key) Letter() (letter string, ok bool) {
	_, size := utf8.DecodeRuneInString(string(k))
	return string(k), size == len(k) && size > 0
}

// Typing is Keys for who types: letters, arrows, Enter, the way back.
func Typing(in io.Reader) (keys <-chan Key, stop func() error, ok bool) {
	return keysBy(in, setTermios, typed)
}

// TypingAnew is Typing that forgets what was typed before: nobody answers a question that
// was not asked yet.
func TypingAnew(in io.Reader) (keys <-chan Key, stop func() error, ok bool) {
	return keysBy(in, setTermiosAnew, typed)
}

// sequences are what terminals send for keys without a letter.
var sequences = []struct {
	bytes string
	key   Key
}{
	{"\x1b[A", KeyUp}, {"\x1bOA", KeyUp}, {"\x10", KeyUp}, {"\x1b[B", KeyDown}, {"\x1bOB", KeyDown}, {"\x0e", KeyDown},
	{"\x1b[5~", KeyPageUp}, {"\x1b[6~", KeyPageDown}, {"\r", KeyEnter}, {"\n", KeyEnter}, {"\x7f", KeyBackspace}, {"\x08", KeyBackspace},
	{"\x15", KeyClear}, {"\x17", KeyClear},
}

// typed are the keys of what one read gave: a paste gives many.
func typed(read []byte) (keys []Key) {
next:
	for len(read) > 0 {
		for _, known := range sequences {
			if bytes.HasPrefix(read, []byte(known.bytes)) {
				keys, read = append(keys, known.key), read[len(known.bytes):]
				continue next
			}
		}
		if read[0] == 0x1b {
			if len(read) == 1 {
				keys = append(keys, KeyEscape)
			}
			return keys // of an unknown key's sequence nobody knows the end
		}
		r, size := utf8.DecodeRune(read)
		if unicode.IsPrint(r) && r != utf8.RuneError {
			keys = append(keys, Key(read[:size]))
		}
		read = read[size:]
	}
	return keys
}
