package check

import (
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// text is a scalar cut into literal text and expressions. Each scalar is read
// once, so that its syntax problems are told once.
type text struct {
	node  *spec.Node
	parts []part
	whole *part // the only expression of a scalar that is exactly one
	bad   bool  // a problem was reported: nothing is known of the value

	looked bool // of a condition that is bad: what can be said of the rest was said
}

// part is literal text or an expression.
type part struct {
	literal string
	source  string
	offset  int              // of source in the node's text
	parsed  *eval.Expression // nil = literal, or not readable
	isExpr  bool
}

// hasExpr reports whether there is an expression in the scalar.
func (t *text) hasExpr() bool {
	for _, p := range t.parts {
		if p.isExpr {
			return true
		}
	}
	return false
}

// literal returns the text of a scalar without expressions.
func (t *text) literal() string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
	}
	return b.String()
}

// text reads a scalar that may hold ${{ }}.
func (c *checker) text(node *spec.Node) *text {
	t, known := c.textOf(node)
	if known || t.bad {
		return t
	}
	segments, issue := eval.Split(node.Text)
	if issue != nil {
		t.bad = true
		c.issue(node, 0, *issue)
	}
	wholeSegment, isWhole := eval.Whole(segments)
	for _, segment := range segments {
		if !segment.IsExpr {
			t.parts = append(t.parts, part{literal: segment.Text})
			continue
		}
		t.parts = append(t.parts, c.parse(t, segment.Text, segment.Offset))
	}
	if isWhole && !t.bad {
		t.whole = t.expression(wholeSegment.Offset)
	}
	c.noteForeign(t)
	return t
}

// expression returns the expression at an offset.
func (t *text) expression(offset int) *part {
	for i := range t.parts {
		if t.parts[i].isExpr && t.parts[i].offset == offset {
			return &t.parts[i]
		}
	}
	return nil
}

// textOf returns what was read of a scalar; known says that it was before.
func (c *checker) textOf(node *spec.Node) (t *text, known bool) {
	if t, known = c.texts[node]; !known {
		t = &text{node: node, bad: node.Bad}
		c.texts[node] = t
	}
	return t, known
}

// bare reads a scalar that is an expression without ${{ }}, such as `if`.
func (c *checker) bare(node *spec.Node) *text {
	t, known := c.textOf(node)
	if known || t.bad {
		return t
	}
	source, offset, issue := eval.Bare(node.Text)
	if issue != nil {
		t.bad = true
		c.issue(node, 0, *issue)
		return t
	}
	if eval.HasExpression(source) {
		at := strings.Index(source, "${{") + offset
		problem := c.errorAt(node.Span(at, at+3), CodeStatic, "`${{ }}` can't stand inside a condition")
		problem.Hint = diag.Say("a condition is one expression: write it without `${{ }}`")
		bare, signs := withoutSigns(source)
		if _, issues := eval.ParseAround(bare); signs == nil || len(issues) > 0 {
			t.bad = true
			return t
		}
		for i := range signs {
			signs[i].Start, signs[i].End = signs[i].Start+offset, signs[i].End+offset
		}
		problem.Mend = mendOf(true, node.Change(signs...))
		source = bare // the rest is checked as it is meant
	}
	if meant, ok := foreignCondition(source); ok {
		t.bad = true
		c.errorAt(node.Span(offset, offset+len(source)), CodeForeign, "`%s` is no condition", source).Hint =
			diag.Say("a condition is one expression: write `" + meant + "`")
		return t
	}
	t.parts = []part{c.parse(t, source, offset)}
	if !t.bad {
		t.whole = &t.parts[0]
	}
	return t
}

func (c *checker) parse(t *text, source string, offset int) part {
	parsed, issues := eval.ParseAround(c.withIDs(t.node, offset, source))
	for _, issue := range issues {
		c.issue(t.node, offset, issue)
	}
	t.bad = t.bad || len(issues) > 0 || parsed == nil
	return part{source: source, offset: offset, parsed: parsed, isExpr: true}
}

// issue reports what the expression reader found; base is the offset of the
// expression in the node's text.
func (c *checker) issue(node *spec.Node, base int, issue eval.Issue) {
	if c.tree.Inputs == nil && issue.Code == eval.CodeField && strings.HasSuffix(issue.Message, " in `inputs`") {
		if c.undeclared[issue.Message] {
			return // one input that is not declared, read in many places
		}
		c.undeclared[issue.Message] = true
	}
	pos := node.Span(base+issue.Start, base+issue.End)
	problem := c.errorAt(pos, issue.Code, "%s", issue.Message)
	problem.Hint = issue.Hint
	problem.Mend = mendOf(issue.Sure, node.Change(changesAt(base, issue.Changes)...))
	if issue.Warning {
		problem.Severity = diag.Warning
	}
	if node.CutByComment() && (issue.Code == eval.CodeUnclosed || issue.Code == eval.CodeSyntax) {
		problem.Hint = diag.Say("a ` #` starts a comment in YAML: put the whole value into quotes")
	}
}

// changesAt are changes of an expression as changes of the text that holds it.
func changesAt(base int, changes []eval.Change) []spec.Change {
	out := make([]spec.Change, len(changes))
	for i, c := range changes {
		out[i] = spec.Change{Start: base + c.Start, End: base + c.End, Text: c.Text}
	}
	return out
}

// mendOf is a mend with edits; nil where there are none.
func mendOf(certain bool, edits []diag.Edit) *diag.Mend {
	if len(edits) == 0 {
		return nil
	}
	return &diag.Mend{Certain: certain, Edits: edits}
}

// withoutSigns puts spaces in the place of `${{` and `}}`, so that all else stays where it
// is, and tells what to leave out of the text.
func withoutSigns(source string) (bare string, signs []spec.Change) {
	out := []byte(source)
	for at := 0; ; {
		open := strings.Index(source[at:], "${{")
		if open < 0 {
			return string(out), signs
		}
		open += at
		end := strings.Index(source[open:], "}}")
		if end < 0 {
			return source, nil
		}
		end += open
		inside := strings.TrimSpace(source[open+3 : end])
		if strings.ContainsAny(inside, " |&?") {
			inside = "(" + inside + ")"
		}
		signs = append(signs, spec.Change{Start: open, End: end + 2, Text: inside})
		copy(out[open:], "   ")
		copy(out[end:], "  ")
		at = end + 2
	}
}

// expr returns the plan's form of an expression.
func (t *text) expr(p *part) plan.Expr {
	return plan.Expr{Source: p.source, Pos: position(t.node.At(p.offset))}
}

// static reports an expression where none can stand. What it says of scalars
// that are fine is true.
func (c *checker) static(node *spec.Node) bool {
	if node.Bad {
		return false
	}
	if eval.HasExpression(node.Text) {
		at := strings.Index(node.Text, "${{")
		for at > 0 && node.Text[at-1] == '$' { // an escaped one before it
			at += 3 + strings.Index(node.Text[at+3:], "${{")
		}
		c.errorAt(node.Span(at, at+3), CodeStatic, "an expression can't stand here").Hint =
			diag.Say("the value must be known before the run")
		return false
	}
	return true
}

// place returns the place of a part of an expression.
func place(node *spec.Node, base int, span [2]int) diag.Pos {
	return node.Span(base+span[0], base+span[1])
}
