package term

import (
	"strings"
	"unicode"
)

// wide holds the ranges of characters that take two cells.
var wide = []struct{ first, last rune }{
	{0x1100, 0x115F}, {0x231A, 0x231B}, {0x23E9, 0x23EC}, {0x2E80, 0x303E}, {0x3041, 0x33FF}, {0x3400, 0x4DBF},
	{0x4E00, 0x9FFF}, {0xA000, 0xA4CF}, {0xA960, 0xA97F}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},
	{0xFF00, 0xFF60}, {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
}

// runeWidth returns how many cells a character takes.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	for _, span := range wide {
		if r >= span.first && r <= span.last {
			return 2
		}
	}
	return 1
}

// Width returns how many cells text takes; colours of a Style take none. Text has
// no other control characters.
func Width(text string) int {
	width, inColour := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			inColour = true
		case inColour:
			inColour = r != 'm'
		default:
			width += runeWidth(r)
		}
	}
	return width
}

// Truncate cuts text to at most width cells, with an ellipsis where it was cut.
func Truncate(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	used := 0
	for i, r := range text {
		if used+runeWidth(r) > width-1 {
			return text[:i] + "…"
		}
		used += runeWidth(r)
	}
	return text
}

// Pad fills text with spaces to width cells.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-Width(text), 0))
}

// Wrap breaks text into lines of at most width cells, at any character: nothing
// is left out.
func Wrap(text string, width int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	for _, r := range text {
		if used+runeWidth(r) > width && used > 0 {
			lines = append(lines, line.String())
			line.Reset()
			used = 0
		}
		line.WriteRune(r)
		used += runeWidth(r)
	}
	return append(lines, line.String())
}

// WrapWords breaks text at spaces into lines of at most width cells; a word that
// is longer is broken as Wrap does.
func WrapWords(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && Width(line)+1+Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		parts := Wrap(word, width)
		lines, line = append(lines, parts[:len(parts)-1]...), parts[len(parts)-1]
	}
	return append(lines, line)
}
