package eval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// eachChild calls visit for the parts of a node in the order of the source.
func eachChild(node ast.Node, visit func(ast.Node)) {
	switch n := node.(type) {
	case *ast.UnaryNode:
		visit(n.Node)
	case *ast.BinaryNode:
		visit(n.Left)
		visit(n.Right)
	case *ast.ChainNode:
		visit(n.Node)
	case *ast.MemberNode:
		visit(n.Node)
		visit(n.Property)
	case *ast.SliceNode:
		visit(n.Node)
		if n.From != nil {
			visit(n.From)
		}
		if n.To != nil {
			visit(n.To)
		}
	case *ast.CallNode:
		visit(n.Callee)
		visitAll(n.Arguments, visit)
	case *ast.BuiltinNode:
		visitAll(n.Arguments, visit)
	case *ast.PredicateNode:
		visit(n.Node)
	case *ast.ConditionalNode:
		visit(n.Cond)
		visit(n.Exp1)
		visit(n.Exp2)
	case *ast.VariableDeclaratorNode:
		visit(n.Value)
		visit(n.Expr)
	case *ast.SequenceNode:
		visitAll(n.Nodes, visit)
	case *ast.ArrayNode:
		visitAll(n.Nodes, visit)
	case *ast.MapNode:
		visitAll(n.Pairs, visit)
	case *ast.PairNode:
		visit(n.Key)
		visit(n.Value)
	}
}

func visitAll(nodes []ast.Node, visit func(ast.Node)) {
	for _, node := range nodes {
		visit(node)
	}
}

// countNodes returns the number of parts of a tree.
func countNodes(node ast.Node) int {
	n := 1
	eachChild(node, func(child ast.Node) { n += countNodes(child) })
	return n
}

// offset turns expr's position, which counts characters, into bytes.
func (x *Expression) offset(char int) int {
	switch {
	case x.bytes == nil:
		return min(char, len(x.source))
	case char < len(x.bytes):
		return x.bytes[char]
	}
	return len(x.source)
}

// at returns the place of a node's own token: the name of a member or function,
// the operator of two operands.
func (x *Expression) at(node ast.Node) (start, end int) {
	loc := node.Location()
	return x.offset(loc.From), x.offset(loc.To)
}

// span returns the place of a whole node, from its first token to its last.
func (x *Expression) span(node ast.Node) (start, end int) {
	from, to := charSpan(node)
	return x.balanced(x.offset(from), x.offset(to))
}

// balanced widens a place to the brackets that belong to it: the tree has no
// place of those.
func (x *Expression) balanced(start, end int) (int, int) {
	open, unopened := 0, 0
	for at := start; at < end; {
		at = x.bracket(at, &open, &unopened)
	}
	for at := end; open > 0 && at < len(x.source); {
		at = x.bracket(at, &open, &unopened)
		if open == 0 {
			end = at
		}
	}
	for at := start - 1; unopened > 0 && at >= 0 && strings.IndexByte(" \t\n([{", x.source[at]) >= 0; at-- {
		if strings.IndexByte("([{", x.source[at]) >= 0 {
			start, unopened = at, unopened-1
		}
	}
	return start, end
}

// bracket counts a bracket at an offset and returns the next one.
func (x *Expression) bracket(at int, open, unopened *int) int {
	switch c := x.source[at]; {
	case c == '"' || c == '\'' || c == '`':
		if end := literalEnd(x.source, at); end > 0 {
			return end
		}
	case strings.HasPrefix(x.source[at:], "//"), strings.HasPrefix(x.source[at:], "/*"):
		if end := commentEnd(x.source, at); end > 0 {
			return end
		}
	case strings.IndexByte("([{", c) >= 0:
		*open++
	case strings.IndexByte(")]}", c) >= 0 && *open > 0:
		*open--
	case strings.IndexByte(")]}", c) >= 0:
		*unopened++
	}
	return at + 1
}

func charSpan(node ast.Node) (from, to int) {
	loc := node.Location()
	from, to = loc.From, loc.To
	exists := to > 0
	if conditional, ok := node.(*ast.ConditionalNode); ok && conditional.Ternary {
		exists = false // expr puts it behind its last part
	}
	eachChild(node, func(child ast.Node) {
		childFrom, childTo := charSpan(child)
		if childTo == 0 {
			return
		}
		if !exists {
			from, to, exists = childFrom, childTo, true
			return
		}
		from, to = min(from, childFrom), max(to, childTo)
	})
	return from, to
}

// memberPath returns the literal path of a member chain from its root: a name,
// or "#", "#acc", "#index" in a predicate. Places that are written out are parts
// such as "[0]". False when it is no such chain.
func memberPath(node ast.Node) ([]string, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}, true
	case *ast.PointerNode:
		return []string{"#" + n.Name}, true
	case *ast.ChainNode:
		return memberPath(n.Node)
	case *ast.MemberNode:
		part, ok := pathPart(n)
		if !ok {
			return nil, false
		}
		path, ok := memberPath(n.Node)
		if !ok {
			return nil, false
		}
		return append(path, part), true
	}
	return nil, false
}

func pathPart(n *ast.MemberNode) (string, bool) {
	if n.Method {
		return "", false
	}
	if name, ok := n.Property.(*ast.StringNode); ok {
		return name.Value, true
	}
	place, ok := integerLiteral(n.Property)
	return placePart(place), ok
}

// placePart is the part of a path for a place in a list. No field is written so:
// the mark before it is no character of a name.
func placePart(place int) string { return "\x01" + strconv.Itoa(place) }

func samePath(a, b ast.Node) bool {
	left, ok := memberPath(a)
	right, alsoOK := memberPath(b)
	return ok && alsoOK && slices.Equal(left, right)
}
