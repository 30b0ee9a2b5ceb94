package spec

import (
	"strconv"
	"unicode/utf8"
)

// escape takes one backslash escape of a double-quoted scalar. All bytes of
// its character stand at the backslash.
func (t *tracer) escape() bool {
	if text, ok := simpleEscape(t.peekAt(1)); ok {
		t.put(t.at, []byte(text)...)
		t.at += 2
		return true
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[t.peekAt(1)]
	if digits == 0 || t.at+2+digits > len(t.source) {
		return false
	}
	code, err := strconv.ParseUint(string(t.source[t.at+2:t.at+2+digits]), 16, 32)
	if err != nil || code > utf8.MaxRune {
		return false
	}
	t.put(t.at, utf8.AppendRune(nil, rune(code))...)
	t.at += 2 + digits
	return true
}

func simpleEscape(b byte) (string, bool) {
	switch b {
	case '0':
		return "\x00", true
	case 'a':
		return "\a", true
	case 'b':
		return "\b", true
	case 't', '\t':
		return "\t", true
	case 'n':
		return "\n", true
	case 'v':
		return "\v", true
	case 'f':
		return "\f", true
	case 'r':
		return "\r", true
	case 'e':
		return "\x1B", true
	case ' ', '"', '\'', '\\', '/':
		return string(rune(b)), true
	case 'N':
		return "\u0085", true
	case '_':
		return "\u00A0", true
	case 'L':
		return "\u2028", true
	case 'P':
		return "\u2029", true
	}
	return "", false
}
