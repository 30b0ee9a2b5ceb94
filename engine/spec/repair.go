package spec

import (
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// maxRepairs bounds how many values of one file are set aside because YAML
// can't read them.
const maxRepairs = 50

// region is a part of a file, as byte offsets: a value that YAML can't read. It
// is reported once, set aside, and what stands around it is checked.
type region struct{ from, to int }

func (r region) empty() bool { return r.to <= r.from }

// masked returns the text with letters in place of the region's ASCII
// characters: every other place stays where it is, in bytes and in characters.
func masked(text []byte, r region) []byte {
	out := append([]byte{}, text...)
	for i := r.from; i < r.to && i < len(out); i++ {
		if out[i] != '\n' && out[i] != '\r' && out[i] < 0x80 {
			out[i] = 'x'
		}
	}
	return out
}

// setAside marks the scalars that hold the regions: nothing is said of them
// again. Both come in file order.
type setAside struct {
	regions []region
	last    *Node
}

// scalar notes the next scalar of the file.
func (a *setAside) scalar(n *Node) {
	for len(a.regions) > 0 && a.last != nil && a.regions[0].from < n.start {
		a.last.Bad = true
		a.regions = a.regions[1:]
	}
	a.last = n
}

func (a *setAside) end() {
	if len(a.regions) > 0 && a.last != nil {
		a.last.Bad = true
	}
}

// expressionAt returns the `${{ … }}` of a text around an offset, or none.
func expressionAt(text string, at int) region {
	from := strings.LastIndex(text[:min(at+1, len(text))], "${{")
	if from < 0 {
		return region{}
	}
	to := ExpressionEnd(text, from)
	if to < at {
		return region{}
	}
	return region{from, to}
}

// ExpressionEnd is the offset after the `}}` of the expression opened at from,
// texts and braces inside of it aside; that of the text where there is none.
func ExpressionEnd(text string, from int) int {
	depth, quote := 0, byte(0)
	for i := from + len("${{"); i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0:
			if b == '\\' && quote != '`' {
				i++
			} else if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'' || b == '`':
			quote = b
		case b == '{':
			depth++
		case b == '}' && depth > 0:
			depth--
		case strings.HasPrefix(text[i:], "}}"):
			return i + len("}}")
		}
	}
	return len(text)
}

// needsQuotes reports an expression that stands without quotes where YAML takes
// a part of it for its own.
func (f syntaxFault) needsQuotes(r region, message string) (diag.Problem, region) {
	problem := f.problem(r.from, message)
	problem.Pos = f.source.span(r.from, r.to)
	problem.Hint = diag.Say(quoted(string(f.source.text[r.from:r.to])))
	return problem, r
}

// quoted says how to quote a value.
func quoted(value string) string {
	double, single := strings.Contains(value, `"`), strings.Contains(value, "'")
	switch {
	case double && single:
		return "put it on lines of its own, below `>-`"
	case double:
		return "put the whole value into single quotes: '…'"
	}
	return "put the whole value into quotes: \"…\""
}

// flowValue is the value without quotes around an offset inside { } or [ ]: from
// the `:`, comma or bracket before it to the comma or bracket behind it, calls
// and their arguments aside.
func flowValue(text string, at int) region {
	from := at
	for round := 0; from > 0; from-- {
		b := text[from-1]
		if b == ')' {
			round++
		} else if b == '(' && round > 0 {
			round--
		} else if round == 0 && (strings.IndexByte("{[,\n", b) >= 0 || isBlank(b) && from > 1 && text[from-2] == ':') {
			break
		}
	}
	for from < at && isBlank(text[from]) {
		from++
	}
	to := at
	for round, quote := 0, byte(0); to < len(text) && text[to] != '\n'; to++ {
		b := text[to]
		if quote != 0 {
			if b == quote {
				quote = 0
			}
			continue
		}
		if b == '"' || b == '\'' {
			quote = b
		} else if b == '(' {
			round++
		} else if b == ')' && round > 0 {
			round--
		} else if round == 0 && strings.IndexByte("}],", b) >= 0 {
			break
		}
	}
	for to > from && isBlank(text[to-1]) {
		to--
	}
	return region{from, to}
}

// flowQuestion finds the ` ? ` of an expression without quotes inside { } or
// [ ], where it starts a key of YAML's. The library tells only a line near it.
func flowQuestion(s *source, line int) (region, bool) {
	for n := line; n < line+4 && n <= len(s.lines); n++ {
		text, start := s.lineText(n), s.lines[n-1]
		depth, quote := 0, byte(0)
		for i := 0; i < len(text); i++ {
			switch b := text[i]; {
			case quote != 0:
				if b == quote {
					quote = 0
				}
			case b == '"' || b == '\'':
				quote = b
			case b == '{' || b == '[':
				depth++
			case b == '}' || b == ']':
				depth--
			case b == '#' && i > 0 && isBlank(text[i-1]):
				i = len(text)
			case b == '?' && depth > 0 && i > 0 && (isBlank(text[i-1]) || i+1 == len(text) || strings.IndexByte(" ,}]", text[i+1]) >= 0):
				return flowValue(string(s.text), start+i), true
			}
		}
	}
	return region{}, false
}

// deeperKey finds a key that is indented deeper than those it belongs to, so
// that YAML takes its line for more of the text above.
func (f syntaxFault) deeperKey() (name string, like string, ok bool) {
	text, column := f.line()
	found := keyStart().FindString(text[:min(column, len(text))] + ":")
	if found == "" {
		return "", "", false
	}
	depth := indentOf(text)
	for line := f.source.pos(f.at).Line - 1; line > 0; line-- {
		above := f.source.lineText(line)
		trimmed := strings.TrimSpace(above)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		above = strings.Replace(above, "- ", "  ", 1)
		key, _, isKey := strings.Cut(strings.TrimSpace(above), ":")
		if !isKey || indentOf(above) >= depth {
			return "", "", false
		}
		return strings.TrimSuffix(strings.TrimSpace(found), ":"), key, true
	}
	return "", "", false
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
