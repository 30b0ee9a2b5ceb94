package eval

import (
	"regexp"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// Change replaces the part [Start, End) of an expression's source.
type Change struct {
	Start, End int
	Text       string
}

// mend gives the issue the changes that put it right; sure says that they are what was
// meant.
func (i *Issue) mend(sure bool, changes ...Change) *Issue {
	i.Changes, i.Sure = changes, sure
	return i
}

// wrap puts text around a node.
func (c *checker) wrap(node ast.Node, before, behind string) []Change {
	start, end := c.x.span(node)
	return []Change{{start, start, before}, {end, end, behind}}
}

// source is the text of a node.
func (c *checker) source(node ast.Node) string {
	start, end := c.x.span(node)
	return c.x.source[start:end]
}

// insteadOfNull is what may stand for a value that is null, "" where nothing is at hand.
func insteadOfNull(t *schema.Type) string {
	switch schema.NonNull(t).Kind {
	case schema.Int, schema.Number:
		return "0"
	case schema.String:
		return "''"
	case schema.Bool:
		return "false"
	case schema.List:
		return "[]"
	case schema.Time:
		return "now()"
	}
	return ""
}

// orElse gives a node a value for null.
func (c *checker) orElse(node ast.Node, t *schema.Type) []Change {
	other := insteadOfNull(t)
	if other == "" {
		return nil
	}
	return c.wrap(node, "(", " ?? "+other+")")
}

// compared makes a condition of a value: what conditionHint says.
func (c *checker) compared(node ast.Node, t *schema.Type) []Change {
	_, end := c.x.span(node)
	switch {
	case t.MayBeNull():
		return []Change{{end, end, " != nil"}}
	case t.Kind == schema.String:
		return []Change{{end, end, " != ''"}}
	case t.Kind == schema.Int, t.Kind == schema.Number:
		return []Change{{end, end, " > 0"}}
	case t.Kind == schema.List, t.Kind == schema.Object:
		return c.wrap(node, "len(", ") > 0")
	}
	return nil
}

// choice reports `a && b || c` and `a || b` that choose a value, as other languages do;
// false where the operands are conditions, or may be.
func (c *checker) choice(n *ast.BinaryNode, scope *Scope) bool {
	if n.Operator != "||" && n.Operator != "or" || !isWritten(n.Right) {
		return false // only what is written out is looked at twice
	}
	at, to := c.x.at(n)
	and, joined := n.Left.(*ast.BinaryNode)
	switch {
	case joined && (and.Operator == "||" || and.Operator == "or"):
		return false
	case joined && (and.Operator == "&&" || and.Operator == "and") && !isWritten(and.Right):
		return false
	case joined && (and.Operator == "&&" || and.Operator == "and"):
		chosen := c.muteInfer(and.Right, assume(and.Left, true, scope))
		if notCondition(chosen) && notCondition(c.muteInfer(n.Right, scope)) {
			c.condition(and.Left, scope, "a condition")
			c.value(and.Right, assume(and.Left, true, scope))
			from, behind := c.x.at(and)
			c.report(c.issueOver(and.Right, CodeCondition, "each side of `%s` must be true or false, got %s", and.Operator, chosen.Article()).
				hint("a choice is written `a ? b : c`").
				mend(true, Change{from, behind, "?"}, Change{at, to, ":"}))
			return true
		}
		return false
	}
	left := c.muteInfer(n.Left, scope)
	if !notCondition(left) || !notCondition(c.muteInfer(n.Right, scope)) {
		return false
	}
	c.value(n.Left, scope)
	issue := c.issueOver(n.Left, CodeCondition, "each side of `%s` must be true or false, got %s", n.Operator, left.Article())
	if left.MayBeNull() {
		c.report(issue.hint("a value for null is given with `??`").mend(true, Change{at, to, "??"}))
		return true
	}
	text := c.source(n.Left)
	issue = issue.hint("a choice is written `a ? b : c`; what may be null has its other value behind `??`")
	if left.Kind == schema.String {
		issue = issue.mend(false, Change{at, to, "!= '' ? " + text + " :"})
	}
	c.report(issue)
	return true
}

// isWritten reports whether a node is a text or a number that is written out.
func isWritten(node ast.Node) bool {
	switch node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
		return true
	}
	return false
}

func notCondition(t *schema.Type) bool { return t.Known() && t.Kind != schema.Bool }

// muteInfer is the type of a node, and says nothing of it.
func (c *checker) muteInfer(node ast.Node, scope *Scope) *schema.Type {
	c.muted++
	defer func() { c.muted-- }()
	return c.infer(node, scope)
}

// counted reports `.length` and its like of a list or a text.
func (c *checker) counted(n *ast.MemberNode, name string, base *schema.Type) *Issue {
	switch name {
	case "length", "size", "count", "Length", "Count":
	default:
		return nil
	}
	if base.Kind != schema.List && base.Kind != schema.String {
		return nil
	}
	issue := c.issueAt(n.Property, CodeMember, "%s is %s, which has no field `%s`", c.text(n.Node), article1(base), name).
		hint("len(x) counts: write `len(%s)`", short(c.source(n.Node)))
	start, end := c.x.span(n.Node)
	_, last := c.x.at(n.Property)
	if strings.Contains(c.x.source[start:last], "?.") {
		return issue
	}
	return issue.mend(true, Change{start, start, "len("}, Change{end, last, ")"})
}

func article1(t *schema.Type) string {
	if t.Kind == schema.List {
		return "a list"
	}
	return t.Article()
}

func short(text string) string {
	if len(text) > 60 {
		return "x"
	}
	return text
}

// statusWords are words of other products for what becomes of steps and runs.
func statusWords() map[string]string {
	return map[string]string{
		"success": "succeeded", "successful": "succeeded", "ok": "succeeded", "done": "succeeded", "completed": "succeeded", "Succeeded": "succeeded", "finished": "succeeded",
		"failure": "failed", "error": "failed", "Failed": "failed", "Error": "failed", "cancelled": "canceled", "aborted": "canceled", "skip": "skipped", "Skipped": "skipped",
	}
}

// meantWord is the word of an enum that a text was probably meant to be.
func meantWord(text, near string, enum []any) (word string, sure bool) {
	if near != "" {
		return near, true
	}
	word = statusWords()[text]
	for _, one := range enum {
		if one == word && word != "" {
			return word, true
		}
	}
	return "", false
}

// outcome says that what became of a step is its status; the word that it is compared
// with in another product's way is meant too.
func (c *checker) outcome(n *ast.MemberNode, issue *Issue) *Issue {
	issue.Hint = diag.Meant("status")
	start, end := c.x.at(n.Property)
	changes := []Change{{start, end, "status"}}
	rest := c.x.source[end:]
	if at := comparedText().FindStringSubmatchIndex(rest); at != nil {
		if word, known := statusWords()[rest[at[2]:at[3]]]; known {
			changes = append(changes, Change{end + at[2], end + at[3], word})
		}
	}
	return issue.mend(true, changes...)
}

var comparedText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[!=]=\s*['"](\w+)['"]`) })

// textForTime reports a text that may be null beside a time: both are mended at once.
func (c *checker) textForTime(n *ast.BinaryNode, left, right *schema.Type) bool {
	switch n.Operator {
	case "-", "<", ">", "<=", ">=":
	default:
		return false
	}
	node, t, other := n.Left, left, right
	if left.Kind == schema.Time {
		node, t, other = n.Right, right, left
	}
	if other.Kind != schema.Time || other.MayBeNull() || t.Kind != schema.String || !t.MayBeNull() {
		return false
	}
	c.report(c.issueOver(node, CodeNull, "%s may be null", c.text(node)).
		hint("give a value for that case with `??`, or test it with `!= nil` first; date(x) makes a time of the text").
		mend(false, c.wrap(node, "date(", " ?? '1970-01-01')")...))
	return true
}

// countedOrNone is counted for what may be null.
func (c *checker) countedOrNone(n *ast.MemberNode, base *schema.Type, issue *Issue) bool {
	name, ok := n.Property.(*ast.StringNode)
	if !ok || base.Kind == schema.Null {
		return false
	}
	counted := c.counted(n, name.Value, schema.NonNull(base))
	if counted == nil {
		return false
	}
	none := insteadOfNull(base)
	issue = issue.hint("len(x) counts: write `len(%s ?? %s)`", short(c.source(n.Node)), none)
	if len(counted.Changes) == 2 {
		counted.Changes[1].Text = " ?? " + none + ")"
		issue = issue.mend(false, counted.Changes...)
	}
	c.report(issue)
	return true
}
