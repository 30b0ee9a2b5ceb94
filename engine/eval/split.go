package eval

import "strings"

const (
	opening = "${{"
	closing = "}}"
	escaped = "$${{" // stands for a literal ${{
)

// Segment is a part of a scalar's text: literal text with its escapes resolved,
// or the source of an expression without the spaces around it. Offset is the
// byte offset of its first character in the scalar's text.
type Segment struct {
	Text   string
	IsExpr bool
	Offset int
}

// Split cuts a scalar's text into literal text and the expressions between
// `${{` and `}}`. An expression ends at the first `}}` outside string literals,
// comments and open braces; `$${{` is a literal `${{`. Text without expressions
// is one segment, empty text none. The issue stands at the opening of what is
// not closed, with offsets in text; the segments before it are returned too.
func Split(text string) ([]Segment, *Issue) {
	var segments []Segment
	var literal strings.Builder
	literalAt := 0
	flush := func() {
		if literal.Len() > 0 {
			segments = append(segments, Segment{Text: literal.String(), Offset: literalAt})
			literal.Reset()
		}
	}
	for at := 0; at < len(text); {
		next := strings.Index(text[at:], opening)
		if next < 0 {
			literal.WriteString(text[at:])
			break
		}
		next += at
		if next > at && strings.HasPrefix(text[next-1:], escaped) {
			literal.WriteString(text[at:next-1] + opening)
			at = next + len(opening)
			continue
		}
		literal.WriteString(text[at:next])
		flush()
		end, issue := expressionEnd(text, next)
		if issue != nil {
			return segments, issue
		}
		segments = append(segments, trimmed(text, next+len(opening), end))
		at = end + len(closing)
		literalAt = at
	}
	flush()
	return segments, nil
}

// HasExpression reports whether text has a `${{` that is not escaped.
func HasExpression(text string) bool {
	for {
		at := strings.Index(text, opening)
		if at < 0 {
			return false
		}
		if at == 0 || text[at-1] != '$' {
			return true
		}
		text = text[at+len(opening):]
	}
}

// Bare returns the expression of a field that is an expression without `${{`,
// such as `if`, and its byte offset in text. One whole `${{ }}` around it is
// accepted and taken off.
func Bare(text string) (source string, offset int, issue *Issue) {
	whole := trimmed(text, 0, len(text))
	if !strings.HasPrefix(whole.Text, opening) {
		return whole.Text, whole.Offset, nil
	}
	segments, issue := Split(whole.Text)
	if issue != nil {
		issue.Start, issue.End = issue.Start+whole.Offset, issue.End+whole.Offset
		return "", 0, issue
	}
	if inner, ok := Whole(segments); ok {
		return inner.Text, whole.Offset + inner.Offset, nil
	}
	return whole.Text, whole.Offset, nil
}

// Whole returns the only expression of a scalar that is exactly one `${{ }}`;
// the line breaks that end a block scalar do not count. Its result keeps its
// type.
func Whole(segments []Segment) (Segment, bool) {
	var whole Segment
	ok := false
	for _, segment := range segments {
		switch {
		case segment.IsExpr && ok:
			return Segment{}, false
		case segment.IsExpr:
			whole, ok = segment, true
		case !ok || strings.Trim(segment.Text, "\r\n") != "":
			return Segment{}, false
		}
	}
	return whole, ok
}

func trimmed(text string, from, to int) Segment {
	source := text[from:to]
	left := strings.TrimLeft(source, " \t\r\n")
	return Segment{Text: strings.TrimRight(left, " \t\r\n"), IsExpr: true, Offset: from + len(source) - len(left)}
}

// expressionEnd returns the offset of the `}}` that ends the expression opened
// at offset start.
func expressionEnd(text string, start int) (int, *Issue) {
	depth := 0
	for at := start + len(opening); at < len(text); {
		switch c := text[at]; {
		case c == '"' || c == '\'' || c == '`':
			end := literalEnd(text, at)
			if end < 0 {
				return 0, issuef(at, at+1, CodeUnclosed, "the quote %c is not closed", c)
			}
			at = end
			continue
		case strings.HasPrefix(text[at:], "//"), strings.HasPrefix(text[at:], "/*"):
			end := commentEnd(text, at)
			if end < 0 {
				return 0, unclosedComment(text, start, at)
			}
			at = end
			continue
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case strings.HasPrefix(text[at:], closing):
			return at, nil
		}
		at++
	}
	return 0, issuef(start, start+len(opening), CodeUnclosed, "`${{` is not closed").
		hint("end the expression with `}}`; a literal `${{` is written `$${{`")
}

func unclosedComment(text string, start, at int) *Issue {
	if text[at+1] == '*' {
		return issuef(at, at+2, CodeUnclosed, "the comment `/*` is not closed")
	}
	return issuef(start, start+len(opening), CodeUnclosed, "`${{` is not closed").
		hint("the comment from `//` on hides the `}}`; use /* */ inside a line")
}

// literalEnd returns the offset after the string literal that starts at at, or
// -1. Only `...` may span lines; in it a doubled backtick is one.
func literalEnd(text string, at int) int {
	quote := text[at]
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '`' && c == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case c == quote:
			return i + 1
		case quote != '`' && c == '\\':
			i++
		case quote != '`' && c == '\n':
			return -1
		}
	}
	return -1
}

// commentEnd returns the offset after the comment that starts at at, or -1 when
// it has no end: a line comment has none on the last line.
func commentEnd(text string, at int) int {
	mark := "\n"
	if text[at+1] == '*' {
		mark = "*/"
	}
	end := strings.Index(text[at+2:], mark)
	if end < 0 {
		return -1
	}
	return at + 2 + end + len(mark)
}
