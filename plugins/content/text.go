package content

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/sdk"
)

// decode returns bytes as text: UTF-8, with a byte order mark or without. Another
// encoding is refused: what it was can only be guessed.
func decode(raw []byte) (string, error) {
	for _, mark := range []struct {
		name  string
		bytes []byte
	}{
		{"UTF-32", []byte{0xff, 0xfe, 0, 0}}, {"UTF-32", []byte{0, 0, 0xfe, 0xff}},
		{"UTF-16", []byte{0xff, 0xfe}}, {"UTF-16", []byte{0xfe, 0xff}},
	} {
		if bytes.HasPrefix(raw, mark.bytes) {
			return "", notUTF8(fmt.Sprintf("it is %s by its first bytes, and only UTF-8 is read", mark.name), strings.ToLower(mark.name))
		}
	}
	raw = bytes.TrimPrefix(raw, []byte{0xef, 0xbb, 0xbf})
	if utf8.Valid(raw) {
		return string(raw), nil
	}
	offset := 0
	for offset < len(raw) {
		sign, size := utf8.DecodeRune(raw[offset:])
		if sign == utf8.RuneError && size <= 1 {
			break
		}
		offset += size
	}
	line, _ := position(string(raw[:offset]), offset)
	return "", notUTF8(fmt.Sprintf("it is no UTF-8: the byte 0x%02x in line %d", raw[offset], line), "windows-1252")
}

func notUTF8(message, from string) *Problem {
	return &Problem{Message: message, Hint: "convert it first (iconv -f " + from + " -t utf-8), or read it with `format: bytes`"}
}

// position is the line and the column of an offset, from 1.
func position(text string, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}

// splitLines cuts a text at its line ends, LF or CR LF. The end of the last line begins
// no further one.
func splitLines(text string) []string {
	if text == "" {
		return []string{}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}

// writeLines writes a list of texts, none of which has a line end in it.
func writeLines(value sdk.Value) ([]byte, error) {
	var items []json.RawMessage
	if sdk.IsNull(value) || json.Unmarshal(value, &items) != nil {
		return nil, problemf("must be a list of texts")
	}
	var out bytes.Buffer
	for i, item := range items {
		var line string
		if sdk.IsNull(item) || json.Unmarshal(item, &line) != nil {
			return nil, &Problem{Pointer: sdk.Pointer(i), Message: "must be text: it is a line"}
		}
		if strings.ContainsAny(line, "\r\n") {
			return nil, &Problem{Pointer: sdk.Pointer(i), Message: "is more than one line", Hint: "split it, or say `format: text`"}
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
