package eval

import "github.com/expr-lang/expr/ast"

// assume returns the scope narrowed by what is known where node has given
// truth.
func assume(node ast.Node, truth bool, scope *Scope) *Scope {
	switch n := node.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return assume(n.Node, !truth, scope)
		}
	case *ast.BinaryNode:
		return assumeBinary(n, truth, scope)
	case *ast.IdentifierNode, *ast.MemberNode, *ast.ChainNode, *ast.PointerNode:
		if truth {
			return present(node, scope)
		}
	}
	return scope
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
		return assumeEqual(n.Left, n.Right, truth, scope)
	case "!=":
		return assumeEqual(n.Left, n.Right, !truth, scope)
	case "??":
		// Only the read value can have given what the default does not.
		if fallback, ok := n.Right.(*ast.BoolNode); ok && fallback.Value != truth {
			return present(n.Left, scope)
		}
	case "in":
		if truth && allPresent(n.Right) {
			return present(n.Left, scope)
		}
	}
	return scope
}

func assumeEqual(left, right ast.Node, equal bool, scope *Scope) *Scope {
	if isNil(left) || isLiteral(left) {
		left, right = right, left
	}
	if isNil(right) && !equal || isLiteral(right) && equal {
		return present(left, scope)
	}
	return scope
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

func allPresent(node ast.Node) bool {
	array, ok := node.(*ast.ArrayNode)
	if !ok {
		return false
	}
	for _, item := range array.Nodes {
		if !isLiteral(item) {
			return false
		}
	}
	return true
}
