package page

import (
	"strings"
	"unicode/utf8"
)

// deepest is how far JSON is indented.
const deepest = 40

// layoutJSON indents the first bytes of JSON, as many as are wanted, and reports
// whether there are more. Where indenting would more than double it, as with many
// short numbers or deep nesting, it stays on one line. A letter is never cut in the
// middle, nor is an escape.
func layoutJSON(raw string, most int) (shown string, cut bool) {
	part := raw
	if len(raw) > most {
		part, cut = raw[:wholeEnd(raw, most)], true
	}
	l := jsonLayout{most: 2 * most}
	l.write(part)
	if l.out.Len() > l.most {
		return unescaper.Replace(part), cut
	}
	return unescaper.Replace(l.out.String()), cut
}

// wholeEnd is the greatest place up to most that is between two letters, and not
// inside of an escape.
func wholeEnd(text string, most int) int {
	end := wholeLetters(text, most)
	for back := end - 1; back >= 0 && back >= end-5; back-- {
		if text[back] != '\\' {
			continue
		}
		slashes := 0
		for i := back; i >= 0 && text[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 && (end == back+1 || text[back+1] == 'u') { // it begins an escape, which ends behind it
			return back
		}
		break
	}
	return end
}

// wholeLetters is the greatest place up to most that is between two letters.
func wholeLetters(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	end := most
	for end > 0 && end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// unescaper writes letters that Go's encoder escapes for HTML. It takes two
// backslashes together, so that an escaped one before u0026 is none of it.
var unescaper = strings.NewReplacer(`\\`, `\\`, `\u0026`, "&", `\u003c`, "<", `\u003e`, ">")

// jsonLayout writes JSON, or the beginning of it, with a line for each element.
type jsonLayout struct {
	out   strings.Builder
	most  int // where it stops
	depth int
	fresh bool // the last thing written opened a list or a map
}

func (l *jsonLayout) write(text string) {
	for len(text) > 0 && l.out.Len() <= l.most {
		size := 1
		switch c := text[0]; c {
		case ' ', '\n', '\t', '\r':
			text = text[1:]
			continue
		case '{', '[':
			l.element()
			l.out.WriteByte(c)
			l.depth++
			l.fresh = true
		case '}', ']':
			l.depth--
			if !l.fresh {
				l.line()
			}
			l.fresh = false
			l.out.WriteByte(c)
		case ',':
			l.out.WriteByte(c)
			l.line()
		case ':':
			l.out.WriteString(": ")
		case '"':
			l.element()
			size = stringEnd(text)
			l.out.WriteString(text[:size])
		default:
			l.element()
			l.out.WriteByte(c)
		}
		text = text[size:]
	}
}

// element begins a line for the first element of a list or map.
func (l *jsonLayout) element() {
	if l.fresh {
		l.line()
		l.fresh = false
	}
}

func (l *jsonLayout) line() {
	l.out.WriteByte('\n')
	for range max(min(l.depth, deepest), 0) {
		l.out.WriteString("  ")
	}
}
