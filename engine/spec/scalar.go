package spec

import "strings"

// tracer rebuilds the text of a scalar from its source and remembers for every
// byte where it stands. YAML libraries do not say that; without it a problem
// inside a quoted or folded text could only be shown at its start.
type tracer struct {
	source []byte
	at     int // next byte of the source
	text   []byte
	places []int32
}

// trace finds the places of n's text. n.start stands at the scalar's first
// character (quote, block sign or text); indent is the column, from 0, of the
// block map or list around it, -1 at the top. When the rebuilt text differs
// from n.Text the places stay unknown, so that no wrong place is ever shown.
func (n *Node) trace(indent int) {
	if n.standsAsItIs() {
		n.end = n.start + len(n.Text)
		return
	}
	t := &tracer{source: n.source.text, at: n.start}
	var ok bool
	switch n.Style {
	case Plain:
		ok = t.plain(n.Text)
	case Single:
		ok = t.single()
	case Double:
		ok = t.double()
	default:
		ok = t.block(indent)
	}
	if !ok || string(t.text) != n.Text {
		return
	}
	n.end = t.at
	if n.Style >= Literal && len(t.places) > 0 {
		n.end = int(t.places[len(t.places)-1]) + 1
	}
	if !t.contiguous(n.start) {
		n.places = append(t.places, int32(n.textEnd()))
	}
}

// standsAsItIs reports whether n is plain text that stands on one line of the file, byte
// for byte: then there is nothing to rebuild.
func (n *Node) standsAsItIs() bool {
	if n.Style != Plain || n.Text == "" || isBlank(n.Text[len(n.Text)-1]) || strings.ContainsAny(n.Text, "\r\n") {
		return false
	}
	end := n.start + len(n.Text)
	return end <= len(n.source.text) && string(n.source.text[n.start:end]) == n.Text
}

// contiguous reports whether the text stands in the file as it is, from start.
func (t *tracer) contiguous(start int) bool {
	for i, place := range t.places {
		if int(place) != start+i {
			return false
		}
	}
	return len(t.places) > 0 || t.at == start
}

// textEnd is the place after the last character of the text: the closing quote
// of a quoted scalar.
func (n *Node) textEnd() int {
	if n.Style == Single || n.Style == Double {
		return n.end - 1
	}
	return n.end
}

// copy takes one byte of the source over.
func (t *tracer) copy() {
	t.put(t.at, t.source[t.at])
	t.at++
}

func (t *tracer) put(place int, text ...byte) {
	for _, b := range text {
		t.text = append(t.text, b)
		t.places = append(t.places, int32(place))
	}
}

func (t *tracer) peek() byte { return t.peekAt(0) }

// peekAt returns a byte of the source, or 0 at its end: the byte 0 does not
// stand in checked files.
func (t *tracer) peekAt(ahead int) byte {
	if t.at+ahead >= len(t.source) {
		return 0
	}
	return t.source[t.at+ahead]
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }
func isBreak(b byte) bool { return b == '\n' || b == '\r' }

// skipBreak steps over one line break.
func (t *tracer) skipBreak() {
	if t.peek() == '\r' && t.peekAt(1) == '\n' {
		t.at++
	}
	t.at++
}

// gap takes blanks and line breaks inside a plain or quoted scalar: blanks
// inside a line stand as they are, one break becomes a space, more become one
// break less. After an escaped break nothing of it stays.
func (t *tracer) gap(escaped bool) {
	start, breaks := t.at, 0
	for isBlank(t.peek()) || isBreak(t.peek()) {
		if isBlank(t.peek()) {
			t.at++
			continue
		}
		t.skipBreak()
		breaks++
	}
	switch {
	case escaped:
		t.repeat(start, '\n', breaks)
	case breaks == 0:
		for t.at = start; isBlank(t.peek()); {
			t.copy()
		}
	case breaks == 1:
		t.put(start, ' ')
	default:
		t.repeat(start, '\n', breaks-1)
	}
}

func (t *tracer) repeat(place int, b byte, count int) {
	for range count {
		t.put(place, b)
	}
}

// plain follows the source as long as the text that YAML found says.
func (t *tracer) plain(text string) bool {
	for len(t.text) < len(text) {
		switch {
		case t.at >= len(t.source):
			return false
		case isBlank(t.peek()) || isBreak(t.peek()):
			t.gap(false)
		default:
			t.copy()
		}
	}
	return true
}

func (t *tracer) single() bool {
	if t.peek() != '\'' {
		return false
	}
	for t.at++; t.at < len(t.source); {
		switch {
		case t.peek() == '\'' && t.peekAt(1) == '\'':
			t.put(t.at, '\'')
			t.at += 2
		case t.peek() == '\'':
			t.at++
			return true
		case isBlank(t.peek()) || isBreak(t.peek()):
			t.gap(false)
		default:
			t.copy()
		}
	}
	return false
}

func (t *tracer) double() bool {
	if t.peek() != '"' {
		return false
	}
	for t.at++; t.at < len(t.source); {
		switch {
		case t.peek() == '"':
			t.at++
			return true
		case t.peek() == '\\' && isBreak(t.peekAt(1)):
			t.at++
			t.skipBreak()
			t.gap(true)
		case t.peek() == '\\':
			if !t.escape() {
				return false
			}
		case isBlank(t.peek()) || isBreak(t.peek()):
			t.gap(false)
		default:
			t.copy()
		}
	}
	return false
}
