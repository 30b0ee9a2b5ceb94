package content

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is how text stands in bytes.
type Encoding string

// The encodings.
const (
	UTF8        Encoding = "utf-8"        // with a byte order mark or without
	UTF16       Encoding = "utf-16"       // the byte order mark says which one; without it big-endian
	Latin1      Encoding = "latin-1"      // ISO 8859-1
	Windows1252 Encoding = "windows-1252" // what Latin 1 files often are
)

// Encodings are all encodings, in the order of the documents.
func Encodings() []string {
	return []string{string(UTF8), string(UTF16), string(Latin1), string(Windows1252)}
}

// charmap is the table of an encoding of one byte a character; nil for the others.
func (e Encoding) charmap() *charmap.Charmap {
	switch e {
	case Latin1:
		return charmap.ISO8859_1
	case Windows1252:
		return charmap.Windows1252
	}
	return nil
}

// markUTF8 is the byte order mark that some programs put before UTF-8.
const markUTF8 = "\xef\xbb\xbf"

// decode returns bytes as text. What is not in the encoding is refused: a guess would
// change what is read.
func (e Encoding) decode(raw []byte) (string, error) {
	switch e {
	case UTF16:
		text, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Bytes(raw)
		if len(raw)%2 != 0 || err != nil {
			return "", problemf("it is no UTF-16")
		}
		return string(text), nil
	case Latin1, Windows1252:
		return e.one(string(raw)), nil
	}
	return decodeUTF8(raw)
}

// part is the text of a line or a cell, or what is wrong with it. UTF-16 has no parts.
func (e Encoding) part(raw string) (text, wrong string) {
	if e.charmap() != nil {
		return e.one(raw), ""
	}
	for i, sign := range raw {
		if sign == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(raw[i:]); size <= 1 {
				return "", fmt.Sprintf("it is no UTF-8: the byte 0x%02x", raw[i])
			}
		}
	}
	return raw, ""
}

// sayEncoding is what to do about bytes that are no UTF-8.
func sayEncoding(raw []byte) string { return "say what it is: `encoding: " + string(guess(raw)) + "`" }

// one is the text of a part in an encoding of one byte a character.
func (e Encoding) one(part string) string {
	table := e.charmap()
	if table == nil {
		return part
	}
	text, err := table.NewDecoder().String(part)
	if err != nil {
		return part // each byte has a character there
	}
	return text
}

func decodeUTF8(raw []byte) (string, error) {
	raw = bytes.TrimPrefix(raw, []byte(markUTF8))
	if utf8.Valid(raw) {
		return string(raw), nil
	}
	at := 0
	for at < len(raw) {
		sign, size := utf8.DecodeRune(raw[at:])
		if sign == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	p := problemf("it is no UTF-8: the byte 0x%02x in line %d", raw[at], 1+bytes.Count(raw[:at], []byte{'\n'}))
	p.Hint = sayEncoding(raw)
	return "", p
}

// guess is an encoding that a person may have meant.
func guess(raw []byte) Encoding {
	if bytes.HasPrefix(raw, []byte{0xff, 0xfe}) || bytes.HasPrefix(raw, []byte{0xfe, 0xff}) {
		return UTF16
	}
	return Windows1252
}
