package eval

import "strings"

// scan looks for what is not closed and for nesting that is too deep, before
// the recursive parser sees the source.
func scan(source string) *Issue {
	s := scanner{source: source}
	for s.at < len(source) {
		if issue := s.next(); issue != nil {
			return issue
		}
	}
	if n := len(s.open); n > 0 {
		at := s.open[n-1]
		return issuef(at, at+1, CodeUnclosed, "the bracket `%c` is not closed", source[at])
	}
	return nil
}

type scanner struct {
	source string
	at     int
	open   []int // offsets of the brackets that are open
	unary  int   // operators in a row that may be unary
}

func (s *scanner) next() *Issue {
	rest := s.source[s.at:]
	switch c := rest[0]; {
	case c == ' ', c == '\t', c == '\n', c == '\r':
		s.at++
		return nil
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "/*"):
		return s.comment()
	case c == '"', c == '\'', c == '`':
		end := literalEnd(s.source, s.at)
		if end < 0 {
			return issuef(s.at, s.at+1, CodeUnclosed, "the quote %c is not closed", c)
		}
		s.at, s.unary = end, 0
		return nil
	case c == '(', c == '[', c == '{':
		return s.opens()
	case c == ')', c == ']', c == '}':
		return s.closes(c)
	case c == '-', c == '+', c == '!':
		return s.countUnary(1)
	case isWord(rest, "not"):
		return s.countUnary(len("not"))
	case isNameByte(c):
		for s.at < len(s.source) && isNameByte(s.source[s.at]) {
			s.at++
		}
	default:
		s.at++
	}
	s.unary = 0
	return nil
}

func (s *scanner) comment() *Issue {
	end := commentEnd(s.source, s.at)
	switch {
	case end >= 0:
		s.at = end
	case s.source[s.at+1] == '*':
		return issuef(s.at, s.at+2, CodeUnclosed, "the comment `/*` is not closed")
	default:
		s.at = len(s.source)
	}
	return nil
}

func (s *scanner) opens() *Issue {
	if len(s.open) == maxNesting {
		return s.tooDeep()
	}
	s.open = append(s.open, s.at)
	s.at++
	s.unary = 0
	return nil
}

func (s *scanner) closes(c byte) *Issue {
	if len(s.open) == 0 {
		return issuef(s.at, s.at+1, CodeSyntax, "`%c` closes nothing", c)
	}
	opened := s.open[len(s.open)-1]
	if want := map[byte]byte{'(': ')', '[': ']', '{': '}'}[s.source[opened]]; c != want {
		return issuef(opened, opened+1, CodeUnclosed, "the bracket `%c` is not closed", s.source[opened]).
			hint("`%c` stands where `%c` should close it", c, want)
	}
	s.open = s.open[:len(s.open)-1]
	s.at++
	s.unary = 0
	return nil
}

func (s *scanner) countUnary(width int) *Issue {
	if s.unary++; s.unary > maxNesting {
		return s.tooDeep()
	}
	s.at += width
	return nil
}

func (s *scanner) tooDeep() *Issue {
	return issuef(s.at, s.at+1, CodeNested, "the expression is nested deeper than %d", maxNesting)
}

func isWord(rest, word string) bool {
	return strings.HasPrefix(rest, word) && (len(rest) == len(word) || !isNameByte(rest[len(word)]))
}

// isNameByte counts every byte beyond ASCII as a letter: what is wrong with it
// is the parser's word.
func isNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
