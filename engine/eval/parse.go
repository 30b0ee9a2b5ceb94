package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/flowrun/flowrun/engine/diag"
)

// Parse reads an expression within the limits of the language and refuses what
// is not part of it. On issues the expression is nil.
func Parse(source string) (*Expression, []Issue) {
	x, issues := ParseAround(source)
	if len(issues) > 0 {
		return nil, issues
	}
	return x, nil
}

// ParseAround is Parse for those who check on: where all that is wrong are functions
// that the language has not, the expression is there too.
func ParseAround(source string) (*Expression, []Issue) {
	x, issues := parse(source)
	if slices.ContainsFunc(issues, func(i Issue) bool { return i.Code != CodeFunction }) {
		return nil, issues
	}
	return x, issues
}

func parse(source string) (*Expression, []Issue) {
	if len(source) > maxSource {
		return nil, []Issue{*issuef(0, len(source), CodeTooLarge,
			"the expression has %d bytes, at most %d are allowed", len(source), maxSource).
			hint("split it with a `let` step")}
	}
	if strings.TrimSpace(source) == "" {
		return nil, []Issue{*issuef(0, len(source), CodeSyntax, "the expression is empty")}
	}
	if !utf8.ValidString(source) {
		return nil, []Issue{*issuef(0, len(source), CodeSyntax, "the expression is not valid UTF-8")}
	}
	if issue := scan(source); issue != nil {
		return nil, []Issue{*issue}
	}
	x := &Expression{source: source, bytes: runeOffsets(source)}
	root, err := parseTree(source)
	if err != nil {
		return nil, []Issue{*x.syntaxIssue(err)}
	}
	x.root = root
	w := allowed{x: x}
	w.walk(root)
	return x, w.issues
}

// parseTree runs expr's parser. It must not panic on any text; should it, that
// is a text that can't be read.
func parseTree(source string) (root ast.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("%v", r)
		}
	}()
	tree, err := parser.ParseWithConfig(source, &conf.Config{MaxNodes: maxNodes})
	if err != nil {
		return nil, err
	}
	return tree.Node, nil
}

// runeOffsets returns the byte offset of every character, or nil when each is
// one byte.
func runeOffsets(source string) []int {
	if utf8.RuneCountInString(source) == len(source) {
		return nil
	}
	offsets := make([]int, 0, len(source))
	for i := range source {
		offsets = append(offsets, i)
	}
	return offsets
}

// syntaxIssue words an error of expr's parser.
func (x *Expression) syntaxIssue(err error) *Issue {
	var syntax *file.Error
	if !errors.As(err, &syntax) {
		return issuef(0, len(x.source), CodeSyntax, "the expression can't be read")
	}
	start, end := x.offset(syntax.From), x.offset(syntax.To)
	issue := issuef(start, max(end, start), CodeSyntax, "%s", syntax.Message)
	reword(issue)
	return issue
}

func reword(issue *Issue) {
	text := issue.Message
	token, unexpected := strings.CutPrefix(text, "unexpected token ")
	switch {
	case strings.Contains(text, "exceeds maximum allowed nodes"):
		issue.Code = CodeParts
		issue.Message = fmt.Sprintf("the expression has more than %d parts", maxNodes)
		issue.Hint = diag.Say("split it with a `let` step")
	case token == "EOF", text == "unexpected end of expression":
		issue.Message = "the expression ends too early"
	case unexpected:
		issue.Message = "unexpected " + tokenText(token)
		issue.Hint = diag.Say(tokenHint(tokenText(token)))
	case strings.HasPrefix(text, "Operator ("):
		issue.Message = "`??` needs parentheses beside another operator"
		issue.Hint = diag.Say("write `(a ?? b) == c`")
	case text == "expected name":
		issue.Message = "a name is missing after the dot"
		issue.Hint = diag.Say(`a name with other characters is read by ["…"]`)
	case strings.HasPrefix(text, "unrecognized character: "):
		issue.Message = "unexpected character " + strings.TrimPrefix(text, "unrecognized character: ")
	case strings.HasPrefix(text, "a map key must be"):
		issue.Message = "an object's key must be a name, text, a number or an expression in parentheses"
	case strings.HasPrefix(text, "expected at least"):
		issue.Message = "an argument is missing"
	case strings.Contains(text, "value out of range"):
		issue.Message = "the number is too large"
	case strings.HasPrefix(text, "wrap predicate with brackets"):
		issue.Message = "put the predicate into { and }"
	case strings.Contains(text, "unescape"), text == "invalid char escape":
		issue.Message = "the escape in this text is unknown"
		issue.Hint = diag.Say("a backslash is written `\\\\`, or put the text in backticks")
	}
}

// tokenText turns `Operator("=")` into "`=`".
func tokenText(token string) string {
	_, quoted, ok := strings.Cut(token, "(\"")
	if !ok {
		return strings.ToLower(token)
	}
	return "`" + strings.TrimSuffix(quoted, "\")") + "`"
}

func tokenHint(token string) string {
	switch token {
	case "`=`":
		return "compare with `==`"
	case "`&`":
		return "write `and`"
	case "`:`":
		return "a choice is written `condition ? a : b`; an object that map and its like make stands in `{{ }}`"
	}
	return ""
}

// allowed refuses what expr can parse but the language has not.
type allowed struct {
	x      *Expression
	issues []Issue
	reduce []bool // for each predicate around: whether it is reduce's
}

func (w *allowed) refuse(node ast.Node, code string, hint diag.Hint, format string, args ...any) {
	start, end := w.x.at(node)
	issue := issuef(start, end, code, format, args...)
	issue.Hint = hint
	w.issues = append(w.issues, *issue)
}

func (w *allowed) walk(node ast.Node) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		w.name(n, n.Value)
	case *ast.VariableDeclaratorNode:
		w.name(n, n.Name)
	case *ast.BytesNode:
		w.refuse(n, CodeForbidden, diag.Say("write text without the b"), "byte texts are not part of the language")
	case *ast.PointerNode:
		w.pointer(n)
	case *ast.CallNode:
		w.call(n)
		return
	case *ast.BuiltinNode:
		w.builtin(n)
		return
	}
	eachChild(node, w.walk)
}

func (w *allowed) name(node ast.Node, name string) {
	switch {
	case strings.HasPrefix(name, "$"):
		w.refuse(node, CodeForbidden, diag.Hint{}, "`%s` is not part of the language", name)
	case strings.HasPrefix(name, "__"):
		w.refuse(node, CodeForbidden, diag.Hint{}, "names that begin with `__` are reserved")
	}
}

func (w *allowed) pointer(n *ast.PointerNode) {
	inReduce := len(w.reduce) > 0 && w.reduce[len(w.reduce)-1]
	switch {
	case n.Name == "", n.Name == "index", n.Name == "acc" && inReduce:
	case n.Name == "acc":
		w.refuse(n, CodeName, diag.Hint{}, "`#acc` has a value only in reduce")
	default:
		w.refuse(n, CodeName, diag.Say("`#` is the element, `#index` its place, `#acc` reduce's result so far"), "unknown name `#%s`", n.Name)
	}
}

func (w *allowed) call(n *ast.CallNode) {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		if _, ok := functionTable()[callee.Value]; !ok {
			w.unknownFunction(n, callee.Value)
		}
	case *ast.MemberNode:
		w.walk(callee.Node)
	default:
		w.refuse(n, CodeForbidden, diag.Hint{}, "only functions can be called")
	}
	visitAll(n.Arguments, w.walk)
}

func (w *allowed) builtin(n *ast.BuiltinNode) {
	if _, isPredicate := predicateTable()[n.Name]; isPredicate {
		for i, argument := range n.Arguments {
			if i != 1 {
				w.walk(argument)
				continue
			}
			w.reduce = append(w.reduce, n.Name == "reduce")
			w.walk(argument)
			w.reduce = w.reduce[:len(w.reduce)-1]
		}
		return
	}
	if _, ok := functionTable()[n.Name]; !ok {
		w.unknownFunction(n, n.Name)
	}
	visitAll(n.Arguments, w.walk)
}

func (w *allowed) unknownFunction(node ast.Node, name string) {
	hints := map[string]string{
		"uniq":      `uniqueBy(rows, "field") keeps the first row of each value`,
		"timezone":  "the functions for times take the zone's name",
		"success":   "a step runs when all that it needs has ended well; see `run_if`",
		"failure":   "write `run_if: failed` beside `if`",
		"always":    "write `run_if: any` beside `if`",
		"cancelled": "what must run on cancel too stands under `finally`",
		"format":    "put the values into text: \"…${{ x }}…\"",
		"toString":  "string(x) makes text of a value",
		"length":    "len(x) counts",
	}
	hint := diag.Say(hints[name]).Or(diag.DidYouMean(name, FunctionNames()))
	if name == "uniq" || name == "timezone" {
		w.refuse(node, CodeForbidden, hint, "the function `%s` is not part of the language", name)
		return
	}
	w.refuse(node, CodeFunction, hint, "unknown function `%s`", name)
}
