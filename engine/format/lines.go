package format

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/spec"
)

// printer writes a file line by line: what a line starts says how deep it
// stands, the rest of it is copied.
type printer struct {
	text   []byte
	root   *spec.Node
	bare   map[int]bool   // start offsets of bare fields
	keys   map[int]int    // block keys: start to end
	values map[int]region // values in block context by start
	edits  []edit         // in the order of the file

	stack []level
	out   bytes.Buffer
}

// level is a block map or list that is open: its column in the file and in the
// result.
type level struct {
	column, target int
	list           bool
}

func newPrinter(text []byte, root *spec.Node, bare map[int]bool) *printer {
	return &printer{text: text, root: root, bare: bare, keys: map[int]int{}, values: map[int]region{}}
}

func (p *printer) print() error {
	if err := p.collect(p.root, false); err != nil {
		return err
	}
	order.Sort(p.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	var comments []int // comments and empty lines, whose place hangs on the next line
	for at := 0; at < len(p.text); {
		end := p.lineEnd(at)
		first := p.skipBlanks(at)
		if first == end || p.text[first] == '#' {
			comments = append(comments, at)
			at = end + 1
			continue
		}
		before := slices.Clone(p.stack)
		if p.isMarker(at) {
			p.comments(comments, before, nil)
			p.line(string(bytes.TrimRight(p.text[at:end], " \t")))
			comments, at = nil, end+1
			continue
		}
		next, rendered, err := p.structural(at, end)
		if err != nil {
			return err
		}
		p.comments(comments, before, p.firstOf(first-at))
		p.out.WriteString(rendered)
		comments, at = nil, next
	}
	p.comments(p.trimBlank(comments), p.stack, nil)
	return nil
}

// firstOf is the level of the line's first sign: the deepest one at that column;
// nil for a text on a line of its own.
func (p *printer) firstOf(column int) *level {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if p.stack[i].column == column {
			return &p.stack[i]
		}
	}
	return nil
}

// trimBlank drops the empty lines at the end of the file.
func (p *printer) trimBlank(comments []int) []int {
	for len(comments) > 0 && p.skipBlanks(comments[len(comments)-1]) == p.lineEnd(comments[len(comments)-1]) {
		comments = comments[:len(comments)-1]
	}
	return comments
}

// held writes comments and empty lines between two lines: several empty lines
// are one, and a comment stands at the level that it stood at.
func (p *printer) comments(lines []int, before []level, next *level) {
	blank := p.out.Len() == 0 // none at the start of the file
	for _, at := range lines {
		first, end := p.skipBlanks(at), p.lineEnd(at)
		if first == end {
			if !blank {
				p.line("")
			}
			blank = true
			continue
		}
		blank = false
		column, target := -1, 0
		for _, open := range before {
			if open.column <= first-at && open.column > column {
				column, target = open.column, open.target
			}
		}
		if next != nil && next.column <= first-at && next.column >= column {
			target = next.target
		}
		p.line(spaces(target) + string(bytes.TrimRight(p.text[first:end], " \t")))
	}
}

// structural renders a line that starts an item, a key or a value, with all
// lines of the value that it starts. next is the start of the line after.
func (p *printer) structural(at, end int) (next int, rendered string, err error) {
	pos := p.skipBlanks(at)
	firstColumn := pos - at
	var b strings.Builder
	open := func(column int, list bool) {
		target := p.enter(column, list)
		if b.Len() == 0 {
			b.WriteString(spaces(target))
		}
	}
	for p.isDash(pos, end) {
		open(pos-at, true)
		b.WriteString("-")
		if pos = p.skipBlanks(pos + 1); pos < end && p.text[pos] != '#' {
			b.WriteString(" ")
		}
	}
	if keyEnd, ok := p.keys[pos]; ok {
		open(pos-at, false)
		colon := p.skipBlanks(keyEnd)
		if colon >= end || p.text[colon] != ':' {
			return 0, "", errors.New("a key has no colon")
		}
		b.WriteString(p.edited(pos, keyEnd) + ":")
		if pos = p.skipBlanks(colon + 1); pos < end && p.text[pos] != '#' {
			b.WriteString(" ")
		}
	} else if b.Len() == 0 {
		if p.text[pos] == '?' || p.text[pos] == ':' {
			if _, value := p.values[pos]; !value {
				return 0, "", errors.New("write `key: value`, not `? key`")
			}
		}
		b.WriteString(spaces(p.inside()))
	}
	next, tail := p.value(pos, end)
	p.finish(&b, at, firstColumn, end, tail)
	return next, b.String() + tail.more, nil
}

// tail is the rest of a line: what stands on it up to its comment, and the lines
// after it that belong to the same value.
type tail struct {
	text    string
	comment int // offset, or that of the line's end
	more    string
}

// value renders the value that starts on a line at or after pos.
func (p *printer) value(pos, end int) (next int, t tail) {
	value, ok := p.valueOn(pos, end)
	switch {
	case !ok: // no value, or one that is not written, with a tag perhaps
		t.comment = pos
		for t.comment < end && p.text[t.comment] != '#' {
			t.comment++
		}
		t.text = string(bytes.TrimRight(p.text[pos:t.comment], " \t"))
		return end + 1, t
	case value.end <= end:
		t.text, t.comment = p.edited(pos, value.end), p.skipBlanks(value.end)
		return end + 1, t
	}
	t.text, t.comment = p.edited(pos, end), end
	if value.node.Kind != spec.Scalar || value.node.Style != spec.Double {
		t.text = strings.TrimRight(t.text, " \t")
	}
	lastEnd := p.lineEnd(value.end - 1)
	if value.node.Kind == spec.Scalar && value.node.Style >= spec.Literal {
		t.more = p.block(value, end+1, lastEnd)
	} else {
		t.more = p.continued(value, end+1, lastEnd)
	}
	return lastEnd + 1, t
}

func (p *printer) valueOn(pos, end int) (region, bool) {
	for at := pos; at < end; at++ {
		if value, ok := p.values[at]; ok {
			return value, true
		}
		if p.text[at] == '#' {
			break
		}
	}
	return region{}, false
}

// finish writes the tail and the comment of a line, which keeps its column as
// seen from the line's first sign.
func (p *printer) finish(b *strings.Builder, at, firstColumn, end int, t tail) {
	b.WriteString(t.text)
	if t.comment < end {
		line := b.String()
		indent := len(line) - len(strings.TrimLeft(line, " "))
		column := utf8.RuneCount(p.text[at:t.comment]) - firstColumn + indent
		b.WriteString(spaces(max(column-utf8.RuneCountInString(line), 1)))
		b.Write(bytes.TrimRight(p.text[t.comment:end], " \t"))
	}
	b.WriteString("\n")
}

// block renders the lines of a block scalar.
func (p *printer) block(value region, from, to int) string {
	indent, target := p.blockIndent(from, to), p.inside()
	if explicit := p.indicator(value); explicit > 0 {
		top := p.top()
		indent, target = top.column+explicit, top.target+explicit
	}
	var b strings.Builder
	for at := from; at <= to && at <= len(p.text); {
		end := p.lineEnd(at)
		if end-at > indent {
			b.WriteString(spaces(target) + p.edited(at+indent, end))
		}
		b.WriteString("\n")
		at = end + 1
	}
	return b.String()
}

// blockIndent is the indentation of the first line that is not empty.
func (p *printer) blockIndent(from, to int) int {
	for at := from; at <= to; {
		end := p.lineEnd(at)
		if first := p.skipSpaces(at); first < end {
			return first - at
		}
		at = end + 1
	}
	return 0
}

// indicator is the number in a block scalar's header, 0 without one.
func (p *printer) indicator(value region) int {
	for _, b := range p.text[value.start+1 : min(value.start+3, len(p.text))] {
		if b >= '1' && b <= '9' {
			return int(b - '0')
		}
	}
	return 0
}

// continued renders the further lines of a plain or quoted text, indented by
// two, or of a flow collection, which move as its first line does. What stands
// after the value on its last line is copied.
func (p *printer) continued(value region, from, to int) string {
	top, scalar := p.top(), value.node.Kind == spec.Scalar
	least := -1
	for at := from; at <= to && at < len(p.text); at = p.lineEnd(at) + 1 {
		if first := p.skipBlanks(at); first < p.lineEnd(at) && (least < 0 || first-at < least) {
			least = first - at
		}
	}
	var b strings.Builder
	for at := from; at <= to && at < len(p.text); {
		end, first := p.lineEnd(at), p.skipBlanks(at)
		column := max(first-at+top.target-top.column, 0)
		if scalar {
			column = p.inside() + first - at - least
		}
		if first < end {
			line := p.edited(first, end)
			if value.node.Style != spec.Double || end > value.end {
				line = strings.TrimRight(line, " \t")
			}
			b.WriteString(spaces(column) + line)
		}
		b.WriteString("\n")
		at = end + 1
	}
	return b.String()
}

// enter opens the map or list of a sign at a column, closing those that are
// deeper, and returns where it stands now.
func (p *printer) enter(column int, list bool) int {
	for len(p.stack) > 0 {
		top := p.stack[len(p.stack)-1]
		if top.column < column || top.column == column && (top.list == list || list) {
			break
		}
		p.stack = p.stack[:len(p.stack)-1]
	}
	if n := len(p.stack); n > 0 && p.stack[n-1].column == column && p.stack[n-1].list == list {
		return p.stack[n-1].target
	}
	target := p.inside()
	p.stack = append(p.stack, level{column, target, list})
	return target
}

// inside is the indentation of what stands below the innermost map or list.
func (p *printer) inside() int {
	if len(p.stack) == 0 {
		return 0
	}
	return p.top().target + 2
}

func (p *printer) top() level {
	if len(p.stack) == 0 {
		return level{}
	}
	return p.stack[len(p.stack)-1]
}

func (p *printer) line(text string) { p.out.WriteString(text + "\n") }

func (p *printer) lineEnd(at int) int {
	if i := bytes.IndexByte(p.text[min(at, len(p.text)):], '\n'); i >= 0 {
		return at + i
	}
	return len(p.text)
}

func (p *printer) skipBlanks(at int) int {
	for at < len(p.text) && (p.text[at] == ' ' || p.text[at] == '\t') {
		at++
	}
	return at
}

func (p *printer) skipSpaces(at int) int {
	for at < len(p.text) && p.text[at] == ' ' {
		at++
	}
	return at
}

func (p *printer) isDash(at, end int) bool {
	return at < end && p.text[at] == '-' && (at+1 == end || p.text[at+1] == ' ' || p.text[at+1] == '\t')
}

// isMarker reports a line that is a document's mark or a directive.
func (p *printer) isMarker(at int) bool {
	rest := p.text[at:]
	return bytes.HasPrefix(rest, []byte("---")) || bytes.HasPrefix(rest, []byte("...")) || bytes.HasPrefix(rest, []byte("%"))
}

func spaces(n int) string { return strings.Repeat(" ", n) }
