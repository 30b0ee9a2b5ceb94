package eval

import "github.com/expr-lang/expr/ast"

// membersOfItem are the names of the members that the body of a predicate reads of the
// element; false where it reads it in another way, or in the body of a predicate in it. So
// of a list that is kept as text no more is decoded than is read.
func membersOfItem(body ast.Node) (names []string, ok bool) {
	ok = true
	var look func(node ast.Node)
	look = func(node ast.Node) {
		switch n := node.(type) {
		case *ast.PredicateNode:
			ok = false
		case *ast.PointerNode:
			ok = ok && n.Name != ""
		case *ast.MemberNode:
			item, isItem := n.Node.(*ast.PointerNode)
			name, isName := n.Property.(*ast.StringNode)
			if isItem && item.Name == "" && isName && !n.Method {
				names = append(names, name.Value)
				return
			}
		}
		eachChild(node, look)
	}
	look(body)
	return names, ok
}
