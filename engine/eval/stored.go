package eval

import (
	"math"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// stored compiles a part whose list is chosen from, or becomes part of the result. A list
// that a name of the environment gives is kept by who stored it and never changes, so
// that what is chosen of it keeps places, and is no new value of the expression (ADR 80).
func (c *compiler) stored(node ast.Node) code {
	switch n := node.(type) {
	case *ast.BinaryNode:
		if n.Operator != "??" || n == c.instead {
			break
		}
		left, right := c.tolerant(n.Left), c.stored(n.Right)
		if c.isStored(n.Left) {
			left = keep(left)
		}
		return func(m *machine) (any, error) {
			v, err := left(m)
			if v != nil || err != nil {
				return v, err
			}
			return right(m)
		}
	case *ast.ConditionalNode:
		return c.choice(n, c.stored(n.Exp1), c.stored(n.Exp2))
	}
	if c.isStored(node) {
		return keep(c.compile(node))
	}
	return c.compile(node)
}

// isStored reports whether a part reads a name of the environment by members alone.
func (c *compiler) isStored(node ast.Node) bool {
	path, ok := memberPath(node)
	if !ok || path[0][0] == '#' {
		return false
	}
	for _, local := range c.slots {
		if local == path[0] {
			return false
		}
	}
	return true
}

func keep(read code) code {
	return func(m *machine) (any, error) {
		v, err := read(m)
		if values, ok := v.([]any); ok && !m.from.plain {
			return schema.Stored(values), err
		}
		return v, err
	}
}

// StoredBytes is about how long the stored lists in a value are as JSON, with what else
// stands in it; 0 where there is none.
func StoredBytes(v any) int64 {
	s := sizing{left: math.MaxInt, shares: true, shared: math.MaxInt64}
	if err := s.add(v, 0); err != nil || s.shared == math.MaxInt64 {
		return 0
	}
	return math.MaxInt64 - s.shared + int64(math.MaxInt-s.left)
}
