package diag

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Edit replaces a part of a file: the text from its place to its end, exclusive, by
// another one. Lines and columns count as those of a Pos do. An edit whose start is
// its end puts text in.
type Edit struct {
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Old       string `json:"old" doc:"What stands there now."`
	New       string `json:"new" doc:"What stands there then."`
}

// Mend puts a problem right: edits of the problem's own file, in file order, none over
// another. Certain says that it is what the author meant: a program may make it
// without asking (ADR 89).
type Mend struct {
	Certain bool   `json:"certain"`
	Edits   []Edit `json:"edits"`
}

// Fixes reports whether the problem has a mend that a program may make without asking.
func (p Problem) Fixes() bool { return p.Mend != nil && p.Mend.Certain && len(p.Mend.Edits) > 0 }

// mark is the byte order mark that a file may begin with: places do not count it.
var mark = []byte("\xEF\xBB\xBF")

// errStale says that a file is not the one that edits were made for.
var errStale = errors.New("the file is not what it was when it was checked")

// Apply returns a file with edits made; all else stays byte for byte. Edits that do not
// fit the file, or stand over each other, are an error.
func Apply(source []byte, edits []Edit) ([]byte, error) {
	rest, marked := bytes.CutPrefix(source, mark)
	type change struct {
		from, to int
		text     string
	}
	changes := make([]change, 0, len(edits))
	lines := lineStarts(rest)
	for _, e := range edits {
		from, okFrom := offsetIn(rest, lines, e.Line, e.Column)
		to, okTo := offsetIn(rest, lines, e.EndLine, e.EndColumn)
		if !okFrom || !okTo || to < from || string(rest[from:to]) != e.Old {
			return nil, fmt.Errorf("%d:%d: %w", e.Line, e.Column, errStale)
		}
		changes = append(changes, change{from, to, e.New})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var out []byte
	if marked {
		out = append(out, mark...)
	}
	at := 0
	for _, c := range changes {
		if c.from < at {
			return nil, errors.New("two edits change the same text")
		}
		out = append(append(out, rest[at:c.from]...), c.text...)
		at = c.to
	}
	return append(out, rest[at:]...), nil
}

// EditOf is the edit that replaces the bytes [from, to) of a file, without its byte
// order mark, by a text.
func EditOf(source []byte, from, to int, text string) Edit {
	lines := lineStarts(source)
	line, column := placeIn(source, lines, from)
	endLine, endColumn := placeIn(source, lines, to)
	return Edit{Line: line, Column: column, EndLine: endLine, EndColumn: endColumn, Old: string(source[from:to]), New: text}
}

func lineStarts(source []byte) []int {
	starts := []int{0}
	for i, b := range source {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

func placeIn(source []byte, lines []int, offset int) (line, column int) {
	line, found := slices.BinarySearch(lines, offset)
	if !found {
		line--
	}
	return line + 1, utf8.RuneCount(source[lines[line]:offset]) + 1
}

// offsetIn is the byte offset of a line and column; false when the file has no such
// place.
func offsetIn(source []byte, lines []int, line, column int) (int, bool) {
	if line < 1 || line > len(lines) || column < 1 {
		return 0, false
	}
	at := lines[line-1]
	for ; column > 1; column-- {
		if at >= len(source) || source[at] == '\n' {
			return 0, false
		}
		_, size := utf8.DecodeRune(source[at:])
		at += size
	}
	return at, true
}

// Fix is a mend that was made: the problem's place, as the file was at that moment, and
// the edits.
type Fix struct {
	Pos
	Code    string `json:"code"`
	Message string `json:"message"`
	Edits   []Edit `json:"edits"`
}

// FixOf is what was made of a problem with a mend.
func FixOf(p Problem) Fix {
	return Fix{Pos: p.Pos, Code: p.Code, Message: p.Message, Edits: p.Mend.Edits}
}

// String says it on one line: the place, the code, and what stands there now.
func (f Fix) String() string {
	first := f.Edits[0]
	text := fmt.Sprintf("%s: %s: %s → %s", f.Pos, f.Code, quotedPart(first.Old), quotedPart(first.New))
	if more := len(f.Edits) - 1; more > 0 {
		text += ", and " + Count(more, "place") + " more"
	}
	return text
}

// quotedPart shows the text of an edit, cut after its first line.
func quotedPart(text string) string {
	trimmed := strings.TrimSpace(text)
	line, _, more := strings.Cut(trimmed, "\n")
	switch {
	case trimmed == "" && text == "":
		return "nothing"
	case trimmed == "":
		return "indentation"
	case more:
		line += " …"
	}
	return "`" + line + "`"
}
