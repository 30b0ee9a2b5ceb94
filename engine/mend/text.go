package mend

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// text is a file while edits are made for it: offsets are bytes, lines count from 1.
type text struct {
	src   string
	lines []int  // offsets of their starts
	line  string // what ends a line
}

func newText(src []byte) *text {
	t := &text{src: string(bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF"))), lines: []int{0}, line: "\n"}
	for i := range len(t.src) {
		if t.src[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	if strings.Contains(t.src, "\r\n") {
		t.line = "\r\n"
	}
	return t
}

// start is the offset of a line's first character.
func (t *text) start(line int) int {
	if line > len(t.lines) {
		return len(t.src)
	}
	return t.lines[max(line, 1)-1]
}

// end is the offset behind a line's last character, without what ends it.
func (t *text) end(line int) int {
	if line >= len(t.lines) {
		return len(t.src)
	}
	end := t.lines[line] - 1
	if end > t.start(line) && t.src[end-1] == '\r' {
		end--
	}
	return end
}

func (t *text) at(line int) string { return t.src[t.start(line):t.end(line)] }

// lineOf is the line of an offset.
func (t *text) lineOf(offset int) int {
	line := 1
	for line < len(t.lines) && t.lines[line] <= offset {
		line++
	}
	return line
}

// offset is that of a place; the end of its line where it is beyond.
func (t *text) offset(line, column int) int {
	at, end := t.start(line), t.end(line)
	for ; column > 1 && at < end; column-- {
		_, size := utf8.DecodeRuneInString(t.src[at:])
		at += size
	}
	return at
}

// indent is how many spaces a line begins with.
func (t *text) indent(line int) int { return leading(t.at(line)) }

func leading(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// column is how far an offset stands from the start of its line, in bytes.
func (t *text) column(offset int) int { return offset - t.start(t.lineOf(offset)) }

// blank reports a line with nothing but a comment.
func (t *text) blank(line int) bool {
	trimmed := strings.TrimSpace(t.at(line))
	return trimmed == "" || strings.HasPrefix(trimmed, "#")
}

// edit replaces [from, to); breaks in what it writes are those of the file.
func (t *text) edit(from, to int, with string) diag.Edit {
	if t.line != "\n" {
		with = strings.ReplaceAll(with, "\n", t.line)
	}
	return diag.EditOf([]byte(t.src), from, to, with)
}

// insert puts text in at an offset.
func (t *text) insert(at int, what string) diag.Edit { return t.edit(at, at, what) }

// below is the last line of what stands deeper than a column from a line on.
func (t *text) below(line, column int) int {
	last := line
	for next := line + 1; next <= len(t.lines); next++ {
		switch {
		case t.blank(next):
			continue
		case t.indent(next) <= column:
			return last
		}
		last = next
	}
	return last
}

// shift moves lines by so many columns, those that are not blank.
func (t *text) shift(from, to, by int) []diag.Edit {
	var edits []diag.Edit
	for line := from; line <= to; line++ {
		start := t.start(line)
		switch {
		case strings.TrimSpace(t.at(line)) == "" || by == 0:
		case by > 0:
			edits = append(edits, t.insert(start, strings.Repeat(" ", by)))
		case t.indent(line) < -by:
			return nil
		default:
			edits = append(edits, t.edit(start, start-by, ""))
		}
	}
	return edits
}

// nodeEnd is the offset behind a node.
func (t *text) nodeEnd(n *spec.Node) int {
	start, end, known := n.Range()
	switch {
	case n.Kind == spec.Scalar && known:
		return end
	case n.Kind == spec.Scalar:
		return t.offset(n.Pos.Line, n.Pos.Column)
	case n.Flow:
		return t.closing(start)
	}
	last := start
	for _, pair := range n.Pairs {
		last = max(last, t.pairEnd(pair))
	}
	for _, item := range n.Items {
		last = max(last, t.nodeEnd(item))
	}
	return last
}

// keyStart is the offset of a pair.
func (t *text) keyStart(p spec.Pair) int { return t.offset(p.Key.Pos.Line, p.Key.Pos.Column) }

// pairEnd is the offset behind a pair: behind its value, or its colon where it has none.
func (t *text) pairEnd(p spec.Pair) int {
	end := t.nodeEnd(p.Key)
	if colon := strings.IndexByte(t.src[end:], ':'); colon >= 0 {
		end += colon + 1
	}
	if p.Value.Kind == spec.Scalar && p.Value.Text == "" && p.Value.Style == spec.Plain {
		return end
	}
	return max(end, t.nodeEnd(p.Value))
}

// closing is the offset behind the bracket that closes the one at an offset.
func (t *text) closing(at int) int {
	end, _ := spec.BracketEnd(t.src, at)
	return end
}

// written is what stands in the file for a node.
func (t *text) written(n *spec.Node) string {
	start, _, _ := n.Range()
	if n.Kind != spec.Scalar && !n.Flow && len(n.Pairs) > 0 {
		start = t.keyStart(n.Pairs[0])
	}
	end := t.nodeEnd(n)
	if end < start {
		return ""
	}
	return t.src[start:end]
}

// remove takes a pair out of its map.
func (t *text) remove(m *spec.Node, i int) []diag.Edit {
	from, to := t.keyStart(m.Pairs[i]), t.pairEnd(m.Pairs[i])
	switch {
	case i+1 < len(m.Pairs) && (m.Flow || t.column(from) != t.indent(t.lineOf(from))):
		return []diag.Edit{t.edit(from, t.keyStart(m.Pairs[i+1]), "")} // the next one takes its place
	case m.Flow && i > 0:
		return []diag.Edit{t.edit(t.pairEnd(m.Pairs[i-1]), to, "")}
	case m.Flow:
		return []diag.Edit{t.edit(from, to, "")}
	case t.column(from) != t.indent(t.lineOf(from)):
		return nil // the only one of a list's item
	}
	first, last := t.lineOf(from), t.lineOf(to)
	if i > 0 && last >= len(t.lines) {
		return []diag.Edit{t.edit(t.end(first-1), t.end(last), "")}
	}
	return []diag.Edit{t.edit(t.start(first), t.start(last+1), "")}
}

// replace writes something else in the place of a pair.
func (t *text) replace(p spec.Pair, with string) []diag.Edit {
	return []diag.Edit{t.edit(t.keyStart(p), t.pairEnd(p), with)}
}

// behind puts a pair behind another one of its map.
func (t *text) behind(m *spec.Node, i int, pair string) []diag.Edit {
	end := t.pairEnd(m.Pairs[i])
	if m.Flow {
		return []diag.Edit{t.insert(end, ", "+pair)}
	}
	return []diag.Edit{t.insert(t.end(t.lineOf(end)), "\n"+spaces(t.column(t.keyStart(m.Pairs[0])))+pair)}
}

func spaces(n int) string { return strings.Repeat(" ", n) }
