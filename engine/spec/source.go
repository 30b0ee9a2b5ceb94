package spec

import (
	"sort"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
)

// source is the text of a file with the starts of its lines.
type source struct {
	file  string
	text  []byte
	lines []int // byte offset of the start of every line
}

func newSource(file string, text []byte) *source {
	lines := []int{0}
	for i, b := range text {
		if b == '\n' {
			lines = append(lines, i+1)
		}
	}
	return &source{file: file, text: text, lines: lines}
}

// pos returns the place of a byte offset.
func (s *source) pos(offset int) diag.Pos {
	offset = min(max(offset, 0), len(s.text))
	line := sort.SearchInts(s.lines, offset+1) - 1
	column := utf8.RuneCount(s.text[s.lines[line]:offset]) + 1
	return diag.Pos{File: s.file, Line: line + 1, Column: column}
}

// span returns the place [from, to); the end is set when both stand on one line.
func (s *source) span(from, to int) diag.Pos {
	pos := s.pos(from)
	s.setEnd(&pos, from, to)
	return pos
}

// setEnd gives pos, which is the place of offset from, its end when that
// stands on the same line.
func (s *source) setEnd(pos *diag.Pos, from, to int) {
	to = min(to, len(s.text))
	if to <= from || to > s.lineEnd(pos.Line) {
		return
	}
	pos.EndLine = pos.Line
	pos.EndColumn = pos.Column + utf8.RuneCount(s.text[from:to])
}

// lineEnd returns the byte offset of the end of a line, without its break.
func (s *source) lineEnd(line int) int {
	if line >= len(s.lines) {
		return len(s.text)
	}
	end := s.lines[line] - 1
	if end > 0 && s.text[end-1] == '\r' {
		end--
	}
	return end
}

// lineText returns a line without its break.
func (s *source) lineText(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	return string(s.text[s.lines[line-1]:max(s.lineEnd(line), s.lines[line-1])])
}

// offset returns the byte offset of a line and column, both from 1; what is
// outside the file gives the nearest place inside.
func (s *source) offset(line, column int) int {
	if line < 1 {
		return 0
	}
	if line > len(s.lines) {
		return len(s.text)
	}
	at, end := s.lines[line-1], max(s.lineEnd(line), s.lines[line-1])
	for ; column > 1 && at < end; column-- {
		_, size := utf8.DecodeRune(s.text[at:])
		at += size
	}
	return at
}

// cursor turns places into offsets quickly when they come in file order: a
// file may be one long line.
type cursor struct {
	source             *source
	line, column, last int
}

// locate returns the offset and the place of a line and column, both inside the
// file.
func (c *cursor) locate(line, column int) (int, diag.Pos) {
	if line != c.line || column < c.column {
		c.line, c.column = line, column
		c.last = c.source.offset(line, column)
		pos := c.source.pos(c.last)
		if pos.Line != line || pos.Column != column {
			c.line = 0 // outside of the file: nothing to go on from
		}
		return c.last, pos
	}
	end := c.source.lineEnd(line)
	for ; c.column < column && c.last < end; c.column++ {
		_, size := utf8.DecodeRune(c.source.text[c.last:])
		c.last += size
	}
	return c.last, diag.Pos{File: c.source.file, Line: line, Column: c.column}
}
