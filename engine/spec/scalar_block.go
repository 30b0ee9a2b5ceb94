package spec

// block takes a literal or folded block scalar: its head with indentation and
// chomping signs, then its lines.
func (t *tracer) block(parent int) bool {
	folded := t.peek() == '>'
	if !folded && t.peek() != '|' {
		return false
	}
	t.at++
	indent, chomp := t.blockHead(parent)
	if t.at < len(t.source) && !isBreak(t.peek()) {
		return false
	}
	if t.at < len(t.source) {
		t.skipBreak()
	}
	lines := blockLines{tracer: t, folded: folded}
	if indent == 0 {
		indent = lines.detect(parent)
	}
	lines.run(indent)
	lines.finish(chomp)
	return true
}

// blockHead takes the rest of the head's line. The indentation is 0 when it is
// not written.
func (t *tracer) blockHead(parent int) (indent int, chomp byte) {
	for {
		switch b := t.peek(); {
		case b == '+' || b == '-':
			chomp = b
		case b >= '1' && b <= '9':
			indent = max(parent, 0) + int(b-'0')
		default:
			for t.at < len(t.source) && !isBreak(t.peek()) {
				if !isBlank(t.peek()) && t.peek() != '#' {
					return indent, chomp
				}
				if t.peek() == '#' {
					t.skipLine()
					continue
				}
				t.at++
			}
			return indent, chomp
		}
		t.at++
	}
}

func (t *tracer) skipLine() {
	for t.at < len(t.source) && !isBreak(t.peek()) {
		t.at++
	}
}

// blockLines takes the lines of a block scalar. A break is not written when it
// is met, but when the next line shows what becomes of it.
type blockLines struct {
	*tracer
	folded   bool
	leading  int   // place of the break that ended the last line; 0 = none
	trailing []int // places of the empty lines' breaks since then
}

// detect finds the indentation from the first line that is not empty, and
// takes the empty lines before it.
func (l *blockLines) detect(parent int) int {
	deepest := 0
	for {
		start := l.at
		for l.peek() == ' ' {
			l.at++
		}
		deepest = max(deepest, l.at-start)
		if !isBreak(l.peek()) {
			l.at = start
			return max(deepest, parent+1, 1)
		}
		l.trailing = append(l.trailing, l.at)
		l.skipBreak()
	}
}

// indented steps over a line's indentation and tells whether the line belongs
// to the block; empty lines are taken on the way.
func (l *blockLines) indented(indent int) bool {
	for {
		column := 0
		for column < indent && l.peek() == ' ' {
			l.at++
			column++
		}
		if isBreak(l.peek()) {
			l.trailing = append(l.trailing, l.at)
			l.skipBreak()
			continue
		}
		return column == indent && l.at < len(l.source)
	}
}

func (l *blockLines) run(indent int) {
	leadingBlank, first := false, true
	for l.indented(indent) {
		blank := isBlank(l.peek())
		l.join(l.folded && !leadingBlank && !blank, first)
		leadingBlank, first = blank, false
		for l.at < len(l.source) && !isBreak(l.peek()) {
			l.copy()
		}
		l.leading = 0
		if l.at < len(l.source) {
			l.leading = l.at
			l.skipBreak()
		}
	}
}

// join writes what stands between two lines.
func (l *blockLines) join(fold, first bool) {
	switch {
	case first || l.leading == 0:
	case !fold:
		l.put(l.leading, '\n')
	case len(l.trailing) == 0:
		l.put(l.leading, ' ')
	}
	for _, place := range l.trailing {
		l.put(place, '\n')
	}
	l.trailing = nil
}

// finish writes the breaks at the end as the chomping sign says.
func (l *blockLines) finish(chomp byte) {
	if chomp != '-' && l.leading != 0 {
		l.put(l.leading, '\n')
	}
	if chomp == '+' {
		for _, place := range l.trailing {
			l.put(place, '\n')
		}
	}
}
