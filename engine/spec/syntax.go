package spec

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	yaml4 "go.yaml.in/yaml/v4"

	"github.com/flowrun/flowrun/engine/diag"
)

// restUnchecked says what a text that is not YAML means for the rest of its
// file.
const restUnchecked = "until then nothing else in this file is checked"

// syntaxProblem reports the syntax error that the library found. Its own places
// are poor, so the text is read again by the library's successor, whose errors
// carry line and column.
func syntaxProblem(s *source, err error, problems *diag.List) {
	defer func() {
		last := &(*problems)[len(*problems)-1]
		if last.Hint != "" {
			last.Hint += "; "
		}
		last.Hint += restUnchecked
	}()
	var node yaml4.Node
	var located *yaml4.LoadError
	if !errors.As(yaml4.Unmarshal(s.text, &node), &located) {
		*problems = append(*problems, unlocated(s, err))
		return
	}
	fault := syntaxFault{
		source:  s,
		message: located.Message,
		context: located.ContextMsg,
		at:      s.offset(located.Mark.Line, located.Mark.Column),
		opening: s.offset(located.ContextMark.Line, located.ContextMark.Column),
	}
	for _, known := range []func(syntaxFault) (diag.Problem, bool){
		unknownAlias, flowExpression, unclosed, ternary, missingColon, badStart, negation,
	} {
		if problem, ok := known(fault); ok {
			*problems = append(*problems, problem)
			return
		}
	}
	problem := fault.problem(fault.at, plainMessage(fault.message))
	problem.Hint = fault.hint()
	*problems = append(*problems, problem)
}

// syntaxFault is what the library says of a syntax error, in byte offsets.
type syntaxFault struct {
	source           *source
	message, context string
	at, opening      int
}

func (f syntaxFault) problem(at int, message string) diag.Problem {
	return diag.Problem{Pos: f.source.pos(at), Code: CodeSyntax, Severity: diag.Error, Message: message}
}

// line returns the line of the fault and where in it the fault stands.
func (f syntaxFault) line() (text string, column int) {
	line := f.source.pos(f.at).Line
	return f.source.lineText(line), f.at - f.source.lines[line-1]
}

func unknownAlias(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.message, "unknown anchor") {
		return diag.Problem{}, false
	}
	problem := f.problem(f.at, "anchors and aliases are not allowed")
	problem.Code, problem.Hint = CodeAnchor, "a text that starts with `*` needs quotes"
	return problem, true
}

// flowExpression finds ${{ }} without quotes inside { } or [ ].
func flowExpression(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.context, "while parsing a flow") || f.at < f.opening {
		return diag.Problem{}, false
	}
	part := string(f.source.text[f.opening:min(f.at+2, len(f.source.text))])
	at := strings.LastIndex(part, "${")
	if at < 0 || strings.ContainsAny(part[at:], "\"'\n") {
		return diag.Problem{}, false
	}
	problem := f.problem(f.opening+at, "an expression inside `{ }` or `[ ]` needs quotes")
	problem.Hint = "write \"${{ … }}\": YAML takes the braces and commas for its own"
	return problem, true
}

// unclosed finds brackets and quotes that are never closed.
func unclosed(f syntaxFault) (diag.Problem, bool) {
	what := ""
	switch {
	case f.context == "while scanning a quoted scalar" && strings.Contains(f.message, "unexpected end of stream"):
		what = "the quote"
	case f.context == "while scanning a quoted scalar" && strings.Contains(f.message, "unexpected document indicator"):
		what = "the quote"
	case strings.HasPrefix(f.context, "while parsing a flow") && !f.closes():
		what = "the bracket"
	default:
		return diag.Problem{}, false
	}
	problem := f.problem(f.opening, what+" is not closed")
	if f.opening < len(f.source.text) {
		problem.Message = what + " `" + string(f.source.text[f.opening]) + "` is not closed"
	}
	problem.Pos = f.source.span(f.opening, f.opening+1)
	return problem, true
}

// closes reports whether the bracket at f.opening has its partner, quotes aside.
func (f syntaxFault) closes() bool {
	depth, quote := 0, byte(0)
	for i := f.opening; i < len(f.source.text); i++ {
		b := f.source.text[i]
		switch {
		case quote != 0:
			if b == '\\' && quote == '"' {
				i++
			} else if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '[' || b == '{':
			depth++
		case b == ']' || b == '}':
			if depth--; depth == 0 {
				return true
			}
		}
	}
	return false
}

var ternaryBefore = regexp.MustCompile(`\s\?\s.*$`)

func ternary(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.message, "mapping values are not allowed") {
		return diag.Problem{}, false
	}
	text, column := f.line()
	problem := f.problem(f.at, "`: ` inside an unquoted text starts a new key, which can't stand here")
	problem.Hint = "quote the whole value"
	if ternaryBefore.MatchString(text[:min(column, len(text))]) {
		problem.Hint = "put an expression with `a ? b : c` into quotes"
	}
	return problem, true
}

func missingColon(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.message, "could not find expected ':'") {
		return diag.Problem{}, false
	}
	problem := f.problem(f.opening, "the line is neither `key: value` nor `- item`")
	rest := string(f.source.text[f.opening:])
	switch {
	case strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "- "):
		problem.Hint = "a list item is `- ` with a space"
	default:
		problem.Hint = "a key needs a colon and a space after it; text over several lines is indented deeper than its key"
	}
	return problem, true
}

func badStart(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.message, "found character that cannot start any token") || f.at >= len(f.source.text) {
		return diag.Problem{}, false
	}
	sign := f.source.text[f.at]
	problem := f.problem(f.at, "a text can't start with `"+string(rune(sign))+"` without quotes")
	problem.Hint = "quote the value"
	if sign == '\t' {
		problem.Message, problem.Hint = "a tab can't indent a line", "indent with spaces"
	}
	return problem, true
}

// negation finds `if: !a && b` and its like, where YAML takes `!a` for a tag.
func negation(f syntaxFault) (diag.Problem, bool) {
	text, column := f.line()
	before := text[:min(column, len(text))]
	at := strings.LastIndex(before, ": !")
	if at < 0 {
		return diag.Problem{}, false
	}
	start := f.source.lines[f.source.pos(f.at).Line-1]
	problem := f.problem(start+at+2, "YAML takes `!` at the start of a text for a tag")
	problem.Code, problem.Hint = CodeTag, "write `not` instead of `!`, or quote the value"
	return problem, true
}

// unlocated is a problem of what the library refuses and its successor takes:
// only the line is known, and perhaps not well.
func unlocated(s *source, err error) diag.Problem {
	line := lineOf(err, len(s.lines))
	problem := diag.Problem{
		Pos: diag.Pos{File: s.file, Line: line, Column: 1}, Code: CodeSyntax, Severity: diag.Error, Message: plainMessage(err.Error()),
	}
	if !strings.Contains(problem.Message, "alphabetic or numeric character") {
		return problem
	}
	for ; line <= len(s.lines); line++ {
		fault := syntaxFault{source: s, at: max(s.lineEnd(line), s.lines[line-1])}
		if negated, ok := negation(fault); ok {
			return negated
		}
		if at := nameSign.FindStringIndex(s.lineText(line)); at != nil {
			problem = fault.problem(s.lines[line-1]+at[1]-1, "anchors and aliases are not allowed")
			problem.Code, problem.Hint = CodeAnchor, "a text that starts with `&` or `*` needs quotes"
			return problem
		}
	}
	return problem
}

var nameSign = regexp.MustCompile(`(?:^|[\s\[{,])[&*]`)

func (f syntaxFault) hint() string {
	text, column := f.line()
	before := strings.TrimSpace(text[:min(column, len(text))])
	switch {
	case strings.Contains(f.message, "tab character"):
		return "indent with spaces"
	case strings.HasSuffix(before, "\"") || strings.HasSuffix(before, "'"):
		return "text follows the closing quote: quote the whole value; inside '…' write a quote twice"
	case before == "" && strings.HasPrefix(f.message, "did not find expected"):
		return "compare the indentation with the lines above"
	}
	return ""
}

var yamlPrefix = regexp.MustCompile(`^yaml: (?:line \d+: )?`)

// plainMessage says the library's message in our words where we have some.
func plainMessage(message string) string {
	message = yamlPrefix.ReplaceAllString(message, "")
	switch {
	case strings.HasPrefix(message, "did not find expected key"):
		return "a key of the map is expected here"
	case strings.HasPrefix(message, "did not find expected '-' indicator"):
		return "an item `- …` of the list is expected here"
	case strings.HasPrefix(message, "did not find expected ',' or"):
		return "a comma or the closing bracket is expected here"
	case strings.HasPrefix(message, "did not find expected node content"):
		return "a value is expected here"
	case strings.HasPrefix(message, "block sequence entries are not allowed"):
		return "a list item can't stand on the line of its key"
	case strings.HasPrefix(message, "found a tab character"):
		return "a tab can't indent a line"
	case strings.HasPrefix(message, "found unknown escape character"):
		return "the escape is not known in double quotes; write `\\\\` for a backslash"
	case strings.HasPrefix(message, "exceeded max depth"):
		return "maps and lists are nested too deep"
	}
	return message
}

var lineInMessage = regexp.MustCompile(`line (\d+)`)

func lineOf(err error, lines int) int {
	if found := lineInMessage.FindStringSubmatch(err.Error()); found != nil {
		if line, convErr := strconv.Atoi(found[1]); convErr == nil {
			return min(max(line, 1), lines)
		}
	}
	return 1
}
