package eval

import (
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// least returns how many elements a list has at least: by its type, by what is
// known of its path, or by what it is made of.
func (c *checker) least(node ast.Node, t *schema.Type, scope *Scope) int {
	return max(t.Least(), scope.leastOf(node))
}

// lengthOf returns what a part, or what a name of `let` stands for, counts the
// elements of.
func lengthOf(node ast.Node, scope *Scope) (ast.Node, bool) {
	if name, ok := node.(*ast.IdentifierNode); ok {
		means, still := scope.stillMeans(name.Value)
		if !still {
			return nil, false
		}
		node = means
	}
	call, ok := node.(*ast.BuiltinNode)
	if !ok || call.Name != "len" && call.Name != "count" || len(call.Arguments) == 0 {
		return nil, false
	}
	return call.Arguments[0], true
}

// assumeLength narrows by comparisons of a list's length, and of a list with [].
func assumeLength(n *ast.BinaryNode, truth bool, scope *Scope) *Scope {
	operator, left, right := n.Operator, n.Left, n.Right
	if isLiteral(left) {
		left, right = right, left
		operator = mirrored(operator)
	}
	if !truth {
		operator = opposite(operator)
	}
	if empty, ok := right.(*ast.ArrayNode); ok && len(empty.Nodes) == 0 && operator == "!=" {
		// nil != [] too: only a list that is there has elements then.
		if path, ok := memberPath(left); ok && scope.isPresent(left) || ok && scope.neverNull(path) {
			return scope.AtLeast(path, 1)
		}
		return notEmptyDefault(left, scope)
	}
	counted, ok := lengthOf(left, scope)
	bound, literal := integerLiteral(right)
	if !ok || !literal {
		return scope
	}
	switch operator {
	case ">":
		return notEmpty(counted, bound+1, scope)
	case ">=", "==":
		return notEmpty(counted, bound, scope)
	case "!=":
		if bound == 0 {
			return notEmpty(counted, 1, scope)
		}
	}
	return scope
}

// notEmptyDefault narrows by `(x ?? []) != []`.
func notEmptyDefault(node ast.Node, scope *Scope) *Scope {
	if binary, ok := node.(*ast.BinaryNode); ok && binary.Operator == "??" {
		return notEmpty(node, 1, scope)
	}
	return scope
}

// neverNull reports whether the declared type at a path, and all on the way, is
// never null.
func (s *Scope) neverNull(path []string) bool {
	t, ok := s.Lookup(path[0])
	for i := 1; ok; i++ {
		t = s.refine(path[:i], t)
		if t.AcceptsNull() {
			return false
		}
		if i == len(path) {
			return true
		}
		if t.Kind != schema.Object {
			return false
		}
		t, ok = t.Field(path[i])
	}
	return false
}

func mirrored(operator string) string {
	switch operator {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return operator
}

func opposite(operator string) string {
	switch operator {
	case "<":
		return ">="
	case "<=":
		return ">"
	case ">":
		return "<="
	case ">=":
		return "<"
	case "==":
		return "!="
	case "!=":
		return "=="
	}
	return ""
}

// assumeDefaults narrows by what a part with `x ?? default` in it has given: where
// it gives the other truth with the default alone, x was there.
func assumeDefaults(node ast.Node, truth bool, scope *Scope) *Scope {
	for _, choice := range defaultsIn(node, nil) {
		path, ok := memberPath(choice.Left)
		if ok && givesOnly(node, choice, !truth) {
			scope = scope.NonNull(path)
		}
	}
	return scope
}

// defaultsIn lists the `??` in a part whose default is written out.
func defaultsIn(node ast.Node, nodes []*ast.BinaryNode) []*ast.BinaryNode {
	if n, ok := node.(*ast.BinaryNode); ok && n.Operator == "??" && isLiteral(n.Right) {
		return append(nodes, n)
	}
	eachChild(node, func(child ast.Node) { nodes = defaultsIn(child, nodes) })
	return nodes
}

// givesOnly reports whether a part with a default in the place of a choice is the
// truth value want, whatever else there is: it reads nothing else.
func givesOnly(node ast.Node, choice *ast.BinaryNode, want bool) bool {
	if readsBeside(node, choice) {
		return false
	}
	c := compiler{x: &Expression{}, instead: choice}
	run := c.compile(node)
	m := machine{}
	m.reset(nil, time.Time{}, c.most, Limits{}.budget())
	v, err := (&Program{run: run}).evaluate(&m)
	return err == nil && v == want
}

// readsBeside reports whether a part reads a name, or the time, outside of a
// choice. Elements of lists are read in their predicates.
func readsBeside(node ast.Node, choice *ast.BinaryNode) bool {
	if node == ast.Node(choice) {
		return false
	}
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return true
	case *ast.PointerNode:
		return true
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok && callee.Value != "now" {
			for _, arg := range n.Arguments {
				if readsBeside(arg, choice) {
					return true
				}
			}
			return false
		}
	case *ast.BuiltinNode:
		if n.Name == "now" {
			return true
		}
		if _, predicate := predicateTable()[n.Name]; predicate && len(n.Arguments) > 1 {
			return readsBeside(n.Arguments[0], choice) || readsNames(n.Arguments[1:])
		}
	}
	reads := false
	eachChild(node, func(child ast.Node) { reads = reads || readsBeside(child, choice) })
	return reads
}

// readsNames reports whether parts read anything but elements.
func readsNames(nodes []ast.Node) bool {
	reads := false
	for _, node := range nodes {
		eachName(node, func(name string) { reads = reads || name[0] != '#' })
	}
	return reads
}
