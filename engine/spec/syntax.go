package spec

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	yaml4 "go.yaml.in/yaml/v4"

	"github.com/flowrun/flowrun/engine/diag"
)

// restUnchecked says what a text that is not YAML means for the rest of its
// file.
func restUnchecked(problem diag.Problem) diag.Problem {
	if problem.Hint.Text != "" {
		problem.Hint = problem.Hint.Then("; ")
	}
	problem.Hint = problem.Hint.Then("until then nothing else in this file is checked")
	return problem
}

// syntaxProblem tells the syntax error that the library found. Its own places
// are poor, so the text is read again by the library's successor, whose errors
// carry line and column. The region is what has to be set aside to read on; it
// is empty where nothing helps.
func syntaxProblem(s *source, err error) (diag.Problem, region) {
	var node yaml4.Node
	var located *yaml4.LoadError
	if !errors.As(yaml4.Unmarshal(s.text, &node), &located) {
		return unlocated(s, err)
	}
	fault := syntaxFault{
		source:  s,
		message: located.Message,
		context: located.ContextMsg,
		at:      s.offset(located.Mark.Line, located.Mark.Column),
		opening: s.offset(located.ContextMark.Line, located.ContextMark.Column),
	}
	for _, known := range []func(syntaxFault) (diag.Problem, region, bool){
		stays(unknownAlias), stays(badAlias), flowExpression, stays(unclosed), flowTernary, ternary, stays(missingColon), stays(badStart), stays(negation),
	} {
		if problem, unreadable, ok := known(fault); ok {
			return problem, unreadable
		}
	}
	problem := fault.problem(fault.at, plainMessage(fault.message))
	problem.Hint = diag.Say(fault.hint())
	return problem, region{}
}

// stays is a fault that nothing can be set aside for.
func stays(known func(syntaxFault) (diag.Problem, bool)) func(syntaxFault) (diag.Problem, region, bool) {
	return func(f syntaxFault) (diag.Problem, region, bool) {
		problem, ok := known(f)
		return problem, region{}, ok
	}
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
	problem.Code, problem.Hint = CodeAnchor, diag.Say("a text that starts with `*` needs quotes")
	return problem, true
}

// badAlias finds a text that begins with `*` or `&`, as a schedule may.
func badAlias(f syntaxFault) (diag.Problem, bool) {
	if !strings.Contains(f.message, "alphabetic or numeric character") || f.at < 1 || strings.IndexByte("*&", f.source.text[f.at-1]) < 0 {
		return diag.Problem{}, false
	}
	problem := f.problem(f.at-1, "anchors and aliases are not allowed")
	problem.Code, problem.Hint = CodeAnchor, diag.Say("a text that starts with `*` or `&` needs quotes")
	return problem, true
}

// flowExpression finds ${{ }} without quotes inside { } or [ ].
func flowExpression(f syntaxFault) (diag.Problem, region, bool) {
	if !strings.HasPrefix(f.context, "while parsing a flow") || f.at < f.opening {
		return diag.Problem{}, region{}, false
	}
	part := string(f.source.text[f.opening:min(f.at+2, len(f.source.text))])
	at := strings.LastIndex(part, "${")
	if at < 0 || strings.ContainsAny(part[at:], "\"'\n") {
		return diag.Problem{}, region{}, false
	}
	from := f.opening + at
	problem := f.problem(from, "an expression inside `{ }` or `[ ]` needs quotes")
	problem.Hint = diag.Say("write \"${{ … }}\": YAML takes the braces and commas for its own")
	text := string(f.source.text)
	unreadable := region{}
	if strings.HasPrefix(text[from:], "${{") {
		if line, _, _ := strings.Cut(text[from:], "\n"); ExpressionEnd(line, 0) > 0 && strings.Contains(line, "}}") {
			unreadable = region{from, from + ExpressionEnd(line, 0)}
		}
	}
	return problem, unreadable, true
}

// flowTernary finds `a ? b : c` without quotes inside { } or [ ].
func flowTernary(f syntaxFault) (diag.Problem, region, bool) {
	text := string(f.source.text)
	switch {
	case !strings.HasPrefix(f.context, "while parsing a flow"), f.at >= len(text):
		return diag.Problem{}, region{}, false
	case text[f.at] == ':' || strings.HasPrefix(text[f.at:], "? "):
		problem, unreadable := f.needsQuotes(flowValue(text, f.at), "a value with `?` or `: ` inside `{ }` or `[ ]` needs quotes")
		return problem, unreadable, true
	}
	return diag.Problem{}, region{}, false
}

// unclosed finds brackets and quotes that are never closed.
func unclosed(f syntaxFault) (diag.Problem, bool) {
	what := ""
	switch {
	case f.context == "while scanning a quoted scalar" && strings.Contains(f.message, "unexpected end of stream"):
		what = "the quote"
	case f.context == "while scanning a quoted scalar" && strings.Contains(f.message, "unexpected document indicator"):
		what = "the quote"
	case strings.HasPrefix(f.context, "while parsing a flow") && f.opens() && !f.closes():
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

// opens reports whether a bracket stands at f.opening.
func (f syntaxFault) opens() bool {
	return f.opening >= len(f.source.text) || strings.IndexByte("{[", f.source.text[f.opening]) >= 0
}

// closes reports whether the bracket at f.opening has its partner, quotes aside.
func (f syntaxFault) closes() bool {
	_, found := BracketEnd(string(f.source.text), f.opening)
	return found
}

// BracketEnd is the offset behind the bracket that closes the one at an offset of YAML's
// text, what stands in quotes aside; the text's end, and false, where none does.
func BracketEnd(text string, at int) (end int, found bool) {
	depth, quote := 0, byte(0)
	for i := at; i < len(text); i++ {
		switch b := text[i]; {
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
				return i + 1, true
			}
		}
	}
	return len(text), false
}

var (
	ternaryBefore = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s\?\s.*$`) })
	keyStart      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[A-Za-z_][\w-]*:$`) })
)

func ternary(f syntaxFault) (diag.Problem, region, bool) {
	if !strings.HasPrefix(f.message, "mapping values are not allowed") {
		return diag.Problem{}, region{}, false
	}
	text, column := f.line()
	start := f.at - column
	if name, like, deeper := f.deeperKey(); deeper {
		problem := f.problem(start+indentOf(text), "`"+name+"` is indented deeper than the key above it, which has a value already")
		problem.Pos = f.source.span(start+indentOf(text), f.at)
		problem.Hint = diag.Say("indent it like `" + like + "`")
		return problem, region{}, true
	}
	if found := expressionAt(text, column); !found.empty() {
		problem, _ := f.needsQuotes(region{start + found.from, start + found.to}, "an expression with `: ` needs quotes: YAML takes what stands before it for a key")
		return problem, region{start + found.from, start + len(text)}, true
	}
	problem := f.problem(f.at, "`: ` inside an unquoted text starts a new key, which can't stand here")
	problem.Hint = diag.Say("quote the whole value")
	if ternaryBefore().MatchString(text[:min(column, len(text))]) {
		problem.Hint = diag.Say("put an expression with `a ? b : c` into quotes")
	}
	return problem, region{f.at, start + len(text)}, true
}

func missingColon(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.message, "could not find expected ':'") {
		return diag.Problem{}, false
	}
	problem := f.problem(f.opening, "the line is neither `key: value` nor `- item`")
	rest := string(f.source.text[f.opening:])
	switch {
	case strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "- "):
		problem.Hint = diag.Say("a list item is `- ` with a space")
	default:
		problem.Hint = diag.Say("a key needs a colon and a space after it; text over several lines is indented deeper than its key")
	}
	return problem, true
}

func badStart(f syntaxFault) (diag.Problem, bool) {
	if !strings.HasPrefix(f.message, "found character that cannot start any token") || f.at >= len(f.source.text) {
		return diag.Problem{}, false
	}
	sign := f.source.text[f.at]
	problem := f.problem(f.at, "a text can't start with `"+string(rune(sign))+"` without quotes")
	problem.Hint = diag.Say("quote the value")
	if sign == '\t' {
		problem.Message, problem.Hint = "a tab can't indent a line", diag.Say("indent with spaces")
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
	problem.Code, problem.Hint = CodeTag, diag.Say("write `not` instead of `!`, or quote the value")
	return problem, true
}

// unlocated is a problem of what the library refuses and its successor takes:
// only the line is known, and perhaps not well.
func unlocated(s *source, err error) (diag.Problem, region) {
	line := lineOf(err, len(s.lines))
	if found, ok := flowQuestion(s, line); ok {
		return syntaxFault{source: s}.needsQuotes(found, "a value with `?` or `: ` inside `{ }` or `[ ]` needs quotes")
	}
	problem := diag.Problem{
		Pos: diag.Pos{File: s.file, Line: line, Column: 1}, Code: CodeSyntax, Severity: diag.Error, Message: plainMessage(err.Error()),
	}
	if !strings.Contains(problem.Message, "alphabetic or numeric character") {
		return problem, region{}
	}
	for ; line <= len(s.lines); line++ {
		fault := syntaxFault{source: s, at: max(s.lineEnd(line), s.lines[line-1])}
		if negated, ok := negation(fault); ok {
			return negated, region{}
		}
		if at := nameSign().FindStringIndex(s.lineText(line)); at != nil {
			problem = fault.problem(s.lines[line-1]+at[1]-1, "anchors and aliases are not allowed")
			problem.Code, problem.Hint = CodeAnchor, diag.Say("a text that starts with `&` or `*` needs quotes")
			return problem, region{}
		}
	}
	return problem, region{}
}

var nameSign = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s\[{,])[&*]`) })

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

var yamlPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: (?:line \d+: )?`) })

// plainMessage says the library's message in our words where we have some.
func plainMessage(message string) string {
	message = yamlPrefix().ReplaceAllString(message, "")
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

var lineInMessage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`line (\d+)`) })

func lineOf(err error, lines int) int {
	if found := lineInMessage().FindStringSubmatch(err.Error()); found != nil {
		if line, convErr := strconv.Atoi(found[1]); convErr == nil {
			return min(max(line, 1), lines)
		}
	}
	return 1
}
