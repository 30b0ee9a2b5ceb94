package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// expectations are how encoding/json says what it looked for where a text is no
// JSON, and what a person reads instead.
var expectations = []struct{ has, due string }{
	{"looking for beginning of value", "a value"},
	{"looking for beginning of object key string", "a name in double quotes"},
	{"after object key:value pair", "`,` or `}`"},
	{"after object key", "`:`"},
	{"after array element", "`,` or `]`"},
	{"after top-level value", "the end"},
	{"in string escape code", "one of \" \\ / b f n r t u"},
	{"in \\u hexadecimal character escape", "four hexadecimal digits"},
	{"in string literal", "a character without an escape, or `\"`"},
	{"in numeric literal", "a digit"},
	{"after decimal point in numeric literal", "a digit"},
	{"in exponent of numeric literal", "a digit"},
	{"in literal true", "`true`"},
	{"in literal false", "`false`"},
	{"in literal null", "`null`"},
}

// WhyNoJSON says why a text is not one JSON value: the line and column, what stands
// there and what is due. It tells at most one character of the text, which may be a
// secret. "" = it is one.
func WhyNoJSON(text []byte) string {
	if json.Valid(text) {
		return ""
	}
	var (
		whole  json.RawMessage
		syntax *json.SyntaxError
	)
	err := json.Unmarshal(text, &whole)
	switch {
	case len(bytes.Trim(text, " \t\r\n")) == 0:
		return "it is empty"
	case !errors.As(err, &syntax):
		return JSONFault(err)
	case strings.Contains(syntax.Error(), "unexpected end of JSON"):
		return "it ends too early: a bracket or a quote is not closed"
	case strings.Contains(syntax.Error(), "exceeded max depth"):
		return JSONFault(err)
	}
	at := min(max(int(syntax.Offset)-1, 0), len(text)-1)
	line := 1 + bytes.Count(text[:at], []byte{'\n'})
	column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at])
	found := foundAt(text[at:])
	for _, one := range expectations {
		if strings.Contains(syntax.Error(), one.has) {
			return fmt.Sprintf("line %d, column %d: found %s, expected %s", line, column, found, one.due)
		}
	}
	return fmt.Sprintf("line %d, column %d: found %s, which does not belong there", line, column, found)
}

// foundAt names the first character of a text.
func foundAt(text []byte) string {
	r, size := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && size <= 1:
		return fmt.Sprintf("the byte 0x%02x", text[0])
	case r == '\n' || r == '\r':
		return "the end of the line"
	case r == '\t':
		return "a tab"
	case r == '\'':
		return "a single quote"
	case !unicode.IsPrint(r):
		return fmt.Sprintf("the character %U", r)
	}
	return "`" + string(r) + "`"
}
