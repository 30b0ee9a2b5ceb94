package eval

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/schema"
)

// Expression is a parsed expression. It is immutable and safe for concurrent
// use.
type Expression struct {
	source string
	root   ast.Node
	bytes  []int // byte offset of each character of source; nil when each is one byte
}

// Source returns the expression's text.
func (x *Expression) Source() string { return x.source }

// Check infers the type of the expression's result in a scope and reports what
// is wrong, in the order of the source. An erroneous part has type Any, so that
// one mistake is told once.
func (x *Expression) Check(scope *Scope) (*schema.Type, []Issue) {
	c := checker{x: x, weights: map[*schema.Type]int{}}
	t := c.infer(x.root, scope)
	order.Sort(c.issues, func(a, b Issue) int { return a.Start - b.Start })
	return t, c.issues
}

// CheckStrict is Check that also refuses what can't be checked, uses of values of
// which nothing is known, and what is a warning else. What it has nothing against
// does not fail by a type, by null or by a missing field.
func (x *Expression) CheckStrict(scope *Scope) (*schema.Type, []Issue) {
	c := checker{x: x, weights: map[*schema.Type]int{}, strict: true}
	t := c.infer(x.root, scope)
	order.Sort(c.issues, func(a, b Issue) int { return a.Start - b.Start })
	return t, c.issues
}

// CheckCondition is Check for a condition: its result must be a boolean. It
// returns what must be mended, no warnings.
func (x *Expression) CheckCondition(scope *Scope) []Issue {
	c := checker{x: x, weights: map[*schema.Type]int{}}
	c.condition(x.root, scope, "a condition")
	order.Sort(c.issues, func(a, b Issue) int { return a.Start - b.Start })
	return slices.DeleteFunc(c.issues, func(i Issue) bool { return i.Warning })
}

// HasErrors reports whether one of the issues must be mended, not just may be.
func HasErrors(issues []Issue) bool {
	return slices.ContainsFunc(issues, func(i Issue) bool { return !i.Warning })
}

// Proves returns the scope narrowed by what is known where the expression has
// given true: values that were compared with something that is not null, or
// read as booleans, are present.
func (x *Expression) Proves(scope *Scope) *Scope { return assume(x.root, true, scope) }

// Conditions lists what the expression joins with `and`, in one way of writing, so
// that equal ones are equal texts.
func (x *Expression) Conditions() []string { return conjuncts(x.root, nil) }

func conjuncts(node ast.Node, found []string) []string {
	if n, ok := node.(*ast.BinaryNode); ok && (n.Operator == "and" || n.Operator == "&&") {
		return conjuncts(n.Right, conjuncts(n.Left, found))
	}
	return append(found, node.String())
}

// Conjuncts returns the texts of what the expression joins with `and`, as they are
// written; the whole text alone where it joins nothing.
func (x *Expression) Conjuncts() []string {
	var parts []string
	rest, node := x.source, x.root
	for {
		left, right, joined := x.operands(rest, node, "and", "&&")
		if !joined {
			return append([]string{strings.TrimSpace(rest)}, parts...)
		}
		parts = append([]string{right}, parts...)
		rest, node = left, node.(*ast.BinaryNode).Left
	}
}

// Compared returns the texts of the two sides of `==`; false for all else.
func (x *Expression) Compared() (left, right string, ok bool) {
	return x.operands(x.source, x.root, "==")
}

// operands cuts the text of a node, which the source begins with, at its operator.
// What stands in brackets as a whole is one part.
func (x *Expression) operands(text string, node ast.Node, operators ...string) (left, right string, ok bool) {
	n, ok := node.(*ast.BinaryNode)
	if !ok || !slices.Contains(operators, n.Operator) {
		return "", "", false
	}
	if start, end := x.span(n); x.source[start:end] != strings.TrimSpace(text) {
		return "", "", false
	}
	from, to := x.at(n)
	return strings.TrimSpace(text[:from]), strings.TrimSpace(text[to:]), true
}

// ReadsTime reports whether the result depends on when the expression runs.
func (x *Expression) ReadsTime() bool { return callsNow(x.root) }

func callsNow(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && callee.Value == "now" {
			return true
		}
	case *ast.BuiltinNode:
		if n.Name == "now" {
			return true
		}
	}
	calls := false
	eachChild(node, func(child ast.Node) { calls = calls || callsNow(child) })
	return calls
}

// ProvesElement returns the scope narrowed by the list that the expression gives
// having an element.
func (x *Expression) ProvesElement(scope *Scope) *Scope { return notEmpty(x.root, 1, scope) }

// Literal returns the value of an expression that is a text, number, boolean or
// null literal.
func (x *Expression) Literal() (any, bool) {
	switch n := x.root.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return n.Value, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.NilNode:
		return nil, true
	}
	return nil, false
}
