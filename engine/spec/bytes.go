package spec

import (
	"bytes"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
)

// checkBytes reports what makes a file unfit before YAML sees it: its size, its
// encoding, characters that no editor shows. The YAML library takes several of
// them as line breaks, so that places would go wrong.
func checkBytes(s *source, limits Limits, problems *diag.List) {
	start := diag.Pos{File: s.file, Line: 1, Column: 1}
	if len(s.text) > limits.Bytes {
		problems.Errorf(start, CodeLimit, "the file has %d bytes, more than the limit of %d", len(s.text), limits.Bytes).Hint = diag.Say(limits.Raise)
		return
	}
	if bytes.HasPrefix(s.text, []byte{0xFF, 0xFE}) || bytes.HasPrefix(s.text, []byte{0xFE, 0xFF}) ||
		(len(s.text) > 1 && (s.text[0] == 0 || s.text[1] == 0)) {
		problems.Errorf(start, CodeEncoding, "the file is UTF-16").Hint = diag.Say("save it as UTF-8")
		return
	}
	if len(bytes.TrimSpace(s.text)) == 0 {
		problems.Errorf(start, CodeEmpty, "the file is empty")
		return
	}
	checkCharacters(s, problems)
}

// checkCharacters reports the first character that may not stand in a file.
func checkCharacters(s *source, problems *diag.List) {
	for i := 0; i < len(s.text); {
		r, size := utf8.DecodeRune(s.text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			problems.Errorf(s.pos(i), CodeEncoding, "the byte 0x%02X is not UTF-8", s.text[i]).Hint = diag.Say("save the file as UTF-8")
			return
		case r == '\r' && !bytes.HasPrefix(s.text[i:], []byte("\r\n")):
			problems.Errorf(s.pos(i), CodeEncoding, "a carriage return stands without a line feed").Hint = diag.Say("end lines with a line feed")
			return
		case forbidden(r):
			problems.Errorf(s.span(i, i+size), CodeEncoding, "the character U+%04X may not stand in the file", r).
				Hint = diag.Say("write it as an escape in double quotes")
			return
		}
		i += size
	}
}

// forbidden reports control characters, byte order marks, the line breaks of
// old YAML, and non-characters.
func forbidden(r rune) bool {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return false
	case r < 0x20, r >= 0x7F && r <= 0x9F:
		return true
	case r == 0x2028, r == 0x2029, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
		return true
	}
	return false
}
