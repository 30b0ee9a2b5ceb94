package eval

import (
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// assume returns the scope narrowed by what is known where node has given
// truth.
func assume(node ast.Node, truth bool, scope *Scope) *Scope {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return assume(n.Node, !truth, scope)
		}
	case *ast.PredicateNode:
		return assume(n.Node, truth, scope)
	case *ast.BinaryNode:
		return assumeBinary(n, truth, scope)
	case *ast.BuiltinNode:
		return assumeBuiltin(n, truth, scope)
	case *ast.ConditionalNode:
		return assumeConditional(n, truth, scope)
	case *ast.IdentifierNode:
		if means, ok := scope.stillMeans(n.Value); ok {
			return assume(means, truth, scope)
		}
		return assumeRead(node, truth, scope)
	case *ast.MemberNode, *ast.ChainNode, *ast.PointerNode:
		return assumeRead(node, truth, scope)
	}
	return scope
}

// assumeRead narrows by a boolean that was read: it was there.
func assumeRead(node ast.Node, truth bool, scope *Scope) *Scope {
	if truth {
		return present(node, scope)
	}
	return scope
}

// stillMeans returns what a name of `let` was made of, where all names in that
// mean what they meant there.
func (s *Scope) stillMeans(name string) (ast.Node, bool) {
	bound := s.binding(name)
	if bound == nil || bound.means == nil {
		return nil, false
	}
	same := true
	eachName(bound.means, func(read string) { same = same && bound.parent.binding(read) == s.binding(read) })
	return bound.means, same
}

// eachName calls visit with every name and pointer that is read in a part.
func eachName(node ast.Node, visit func(name string)) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		visit(n.Value)
	case *ast.PointerNode:
		visit("#" + n.Name)
	}
	eachChild(node, func(child ast.Node) { eachName(child, visit) })
}

func assumeBinary(n *ast.BinaryNode, truth bool, scope *Scope) *Scope {
	switch n.Operator {
	case "and", "&&":
		if truth {
			return assume(n.Right, true, assume(n.Left, true, scope))
		}
	case "or", "||":
		if !truth {
			return assume(n.Right, false, assume(n.Left, false, scope))
		}
	case "==":
		scope = assumeEqual(n.Left, n.Right, truth, scope)
	case "!=":
		scope = assumeEqual(n.Left, n.Right, !truth, scope)
	case "in":
		scope = assumeIn(n, truth, scope)
	}
	return assumeDefaults(n, truth, assumeLength(n, truth, scope))
}

// assumeConditional is a ternary of which one choice can't have given truth.
func assumeConditional(n *ast.ConditionalNode, truth bool, scope *Scope) *Scope {
	if then, ok := n.Exp1.(*ast.BoolNode); ok && then.Value != truth {
		return assume(n.Exp2, truth, assume(n.Cond, false, scope))
	}
	if other, ok := n.Exp2.(*ast.BoolNode); ok && other.Value != truth {
		return assume(n.Exp1, truth, assume(n.Cond, true, scope))
	}
	return scope
}

// assumeBuiltin narrows by functions: an element that was found is in a list that
// is not empty.
func assumeBuiltin(n *ast.BuiltinNode, truth bool, scope *Scope) *Scope {
	if truth && (n.Name == "any" || n.Name == "one") && len(n.Arguments) > 0 {
		scope = notEmpty(n.Arguments[0], 1, scope)
	}
	return assumeDefaults(n, truth, scope)
}

func assumeIn(n *ast.BinaryNode, truth bool, scope *Scope) *Scope {
	if array, ok := n.Right.(*ast.ArrayNode); ok {
		if texts, ok := textsOf(array); ok {
			scope = assumeTexts(n.Left, texts, truth, scope)
		}
	}
	if !truth {
		return scope
	}
	switch right := n.Right.(type) {
	case *ast.ArrayNode:
		if allPresent(right) {
			return present(n.Left, scope)
		}
	case *ast.MapNode:
		return present(n.Left, scope)
	}
	return notEmpty(n.Right, 1, scope)
}

func assumeEqual(left, right ast.Node, equal bool, scope *Scope) *Scope {
	if isNil(left) || isLiteral(left) {
		left, right = right, left
	}
	if text, ok := right.(*ast.StringNode); ok {
		scope = assumeTexts(left, []string{text.Value}, equal, scope)
	}
	if !(isNil(right) && !equal || isLiteral(right) && equal) {
		return scope
	}
	if text, ok := right.(*ast.StringNode); ok {
		scope = scope.implied(left, text.Value)
	}
	if call, ok := left.(*ast.BuiltinNode); ok && isNil(right) && len(call.Arguments) > 0 {
		switch call.Name { // they are null where there is no element
		case "first", "last", "find", "findLast", "findIndex", "findLastIndex":
			return notEmpty(call.Arguments[0], 1, scope)
		}
	}
	return present(left, scope)
}

// implied adds what follows from the text at a path.
func (s *Scope) implied(node ast.Node, value string) *Scope {
	path, ok := memberPath(node)
	if !ok {
		return s
	}
	key, out := joinPath(path), s
	for at := s; at != nil && (at.typ == nil || at.name != path[0]); at = at.parent {
		if at.fact == nil || at.fact.path != key {
			continue
		}
		for _, one := range at.fact.values {
			if one == value {
				out = out.NonNull(at.fact.present)
			}
		}
	}
	return out
}

// present narrows to the value of a path, and all on the way to it, not being
// null.
func present(node ast.Node, scope *Scope) *Scope {
	if binary, ok := node.(*ast.BinaryNode); ok && binary.Operator == "??" && isNil(binary.Right) {
		node = binary.Left
	}
	path, ok := memberPath(node)
	if !ok {
		return scope
	}
	return scope.NonNull(path)
}

// notEmpty narrows to a list at a path, or one that `??` gives [] for, that has n
// elements or more.
func notEmpty(node ast.Node, n int, scope *Scope) *Scope {
	if binary, ok := node.(*ast.BinaryNode); ok && binary.Operator == "??" {
		if empty, ok := binary.Right.(*ast.ArrayNode); ok && len(empty.Nodes) == 0 {
			node = binary.Left
		}
	}
	path, ok := memberPath(node)
	if !ok || n < 1 {
		return scope
	}
	return scope.AtLeast(path, n)
}

func isNil(node ast.Node) bool {
	_, ok := node.(*ast.NilNode)
	return ok
}

// isLiteral reports whether a node is a value that is written out and not null.
func isLiteral(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.ArrayNode, *ast.MapNode:
		return true
	case *ast.UnaryNode:
		return n.Operator == "-" && isLiteral(n.Node)
	}
	return false
}

func allPresent(array *ast.ArrayNode) bool {
	for _, item := range array.Nodes {
		if !isLiteral(item) {
			return false
		}
	}
	return true
}

// narrowedElement is the type of the elements of a list for which a condition
// holds.
func narrowedElement(condition ast.Node, scope *Scope, elem *schema.Type) *schema.Type {
	after := assume(condition, true, scope)
	for ; after != scope; after = after.parent {
		parts := strings.Split(after.path, "\x00")
		if parts[0] == "#" {
			elem = narrowedPart(elem, parts[1:], after)
		}
	}
	return elem
}

func narrowedPart(t *schema.Type, path []string, fact *Scope) *schema.Type {
	if len(path) == 0 {
		if fact.narrow != nil {
			return fact.narrow
		}
		if t = schema.NonNull(t); t.Kind == schema.List && fact.least > 0 {
			return schema.AtLeast(t, fact.least)
		}
		return t
	}
	if t.Kind != schema.Object {
		return t
	}
	field, ok := t.Field(path[0])
	if !ok {
		return t
	}
	return t.WithField(schema.Required(path[0], narrowedPart(field, path[1:], fact)))
}
