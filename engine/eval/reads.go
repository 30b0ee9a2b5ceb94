package eval

import (
	"github.com/expr-lang/expr/ast"
)

// Read is a value that an expression reads: a root name and the members that
// are read by a literal name, as far as they reach. Dynamic says that the
// reading goes on by a computed name or an index. Start and End are byte
// offsets of all of it, Places those of each part.
type Read struct {
	Path       []string
	Optional   []bool // for each part of Path: read with ?.
	Dynamic    bool
	Start, End int
	Places     [][2]int
}

// Reads returns every root that the expression reads, with its members, in the
// order of the source. Names of `let` inside the expression are no roots.
func (x *Expression) Reads() []Read {
	r := reading{x: x}
	r.walk(x.root)
	return r.reads
}

type reading struct {
	x      *Expression
	reads  []Read
	locals []string
}

func (r *reading) walk(node ast.Node) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		r.add(r.root(n))
		return
	case *ast.MemberNode, *ast.ChainNode:
		if read, ok := r.chain(node); ok {
			r.add(read)
			return
		}
	case *ast.CallNode:
		if member, ok := n.Callee.(*ast.MemberNode); ok {
			r.walk(member.Node)
		}
		visitAll(n.Arguments, r.walk)
		return
	case *ast.VariableDeclaratorNode:
		r.walk(n.Value)
		r.locals = append(r.locals, n.Name)
		r.walk(n.Expr)
		r.locals = r.locals[:len(r.locals)-1]
		return
	}
	eachChild(node, r.walk)
}

func (r *reading) add(read Read) {
	for _, local := range r.locals {
		if local == read.Path[0] {
			return
		}
	}
	r.reads = append(r.reads, read)
}

func (r *reading) root(n *ast.IdentifierNode) Read {
	start, end := r.x.at(n)
	return Read{Path: []string{n.Value}, Optional: []bool{false}, Start: start, End: end, Places: [][2]int{{start, end}}}
}

// chain follows a member chain down to its root; false when it has none. The
// computed names in it are walked as reads of their own, after the root's.
func (r *reading) chain(node ast.Node) (Read, bool) {
	switch n := node.(type) {
	case *ast.IdentifierNode:
		return r.root(n), true
	case *ast.ChainNode:
		return r.chain(n.Node)
	case *ast.MemberNode:
		read, ok := r.chain(n.Node)
		if !ok {
			return Read{}, false
		}
		name, literal := n.Property.(*ast.StringNode)
		if !literal || read.Dynamic {
			read.Dynamic = true
			r.walk(n.Property)
			return read, true
		}
		start, end := r.x.at(n.Property)
		read.Path = append(read.Path, name.Value)
		read.Optional = append(read.Optional, n.Optional)
		read.Places = append(read.Places, [2]int{start, end})
		read.End = end
		return read, true
	}
	return Read{}, false
}
