package eval

import (
	"slices"

	"github.com/expr-lang/expr/ast"

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
	slices.SortStableFunc(c.issues, func(a, b Issue) int { return a.Start - b.Start })
	return t, c.issues
}

// CheckStrict is Check that also refuses what can't be checked: members that are
// read of a value of which nothing is known, and operators on one.
func (x *Expression) CheckStrict(scope *Scope) (*schema.Type, []Issue) {
	c := checker{x: x, weights: map[*schema.Type]int{}, strict: true}
	t := c.infer(x.root, scope)
	slices.SortStableFunc(c.issues, func(a, b Issue) int { return a.Start - b.Start })
	return t, c.issues
}

// CheckCondition is Check for a condition: its result must be a boolean.
func (x *Expression) CheckCondition(scope *Scope) []Issue {
	c := checker{x: x, weights: map[*schema.Type]int{}}
	c.condition(x.root, scope, "a condition")
	slices.SortStableFunc(c.issues, func(a, b Issue) int { return a.Start - b.Start })
	return c.issues
}

// Proves returns the scope narrowed by what is known where the expression has
// given true: values that were compared with something that is not null, or
// read as booleans, are present.
func (x *Expression) Proves(scope *Scope) *Scope { return assume(x.root, true, scope) }

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
