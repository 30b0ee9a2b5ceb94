package eval

import (
	"errors"

	"github.com/expr-lang/expr/ast"
)

// code is a compiled part of an expression.
type code func(m *machine) (any, error)

// errAbsent ends a chain of members where `?.` met null.
var errAbsent = errors.New("absent")

// compiler turns a tree into code. Names of `let` become slots.
type compiler struct {
	x     *Expression
	slots []string // visible names of let; the place is the slot
	most  int      // slots in use at once

	instead *ast.BinaryNode // a `??` of which only the default counts
}

func (c *compiler) compile(node ast.Node) code {
	switch n := node.(type) {
	case *ast.NilNode:
		return constant(nil)
	case *ast.BoolNode:
		return constant(n.Value)
	case *ast.IntegerNode:
		return constant(n.Value)
	case *ast.FloatNode:
		return constant(n.Value)
	case *ast.StringNode:
		return constant(n.Value)
	case *ast.IdentifierNode:
		return c.name(n)
	case *ast.PointerNode:
		return pointer(n.Name)
	case *ast.ChainNode:
		return c.chain(n)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.CallNode:
		return c.call(n)
	case *ast.BuiltinNode:
		return c.builtin(n)
	}
	return c.compileComposed(node)
}

func (c *compiler) compileComposed(node ast.Node) code {
	switch n := node.(type) {
	case *ast.PredicateNode:
		return c.compile(n.Node)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.ArrayNode:
		return c.array(n)
	case *ast.MapNode:
		return c.object(n)
	case *ast.VariableDeclaratorNode:
		return c.let(n)
	case *ast.SequenceNode:
		parts := c.all(n.Nodes)
		return func(m *machine) (v any, err error) {
			for _, part := range parts {
				if v, err = part(m); err != nil {
					return nil, err
				}
			}
			return v, nil
		}
	}
	return func(*machine) (any, error) { return nil, failf("this expression can't be evaluated") }
}

func constant(v any) code { return func(*machine) (any, error) { return v, nil } }

func (c *compiler) all(nodes []ast.Node) []code {
	parts := make([]code, len(nodes))
	for i, node := range nodes {
		parts[i] = c.compile(node)
	}
	return parts
}

func (c *compiler) name(n *ast.IdentifierNode) code {
	name := n.Value
	for slot := len(c.slots) - 1; slot >= 0; slot-- {
		if c.slots[slot] == name {
			return func(m *machine) (any, error) { return m.vars[slot], nil }
		}
	}
	start, end := c.x.at(n)
	return func(m *machine) (any, error) {
		v, ok := m.env[name]
		if !ok {
			return nil, placed(failf("unknown name `%s`", name), start, end)
		}
		return v, nil
	}
}

func pointer(name string) code {
	switch name {
	case "acc":
		return func(m *machine) (any, error) { return m.acc, nil }
	case "index":
		return func(m *machine) (any, error) { return m.index, nil }
	}
	return func(m *machine) (any, error) { return m.item, nil }
}

func (c *compiler) let(n *ast.VariableDeclaratorNode) code {
	value := c.stored(n.Value)
	slot := len(c.slots)
	c.slots = append(c.slots, n.Name)
	c.most = max(c.most, len(c.slots))
	body := c.compile(n.Expr)
	c.slots = c.slots[:slot]
	return func(m *machine) (any, error) {
		v, err := value(m)
		if err != nil {
			return nil, err
		}
		m.vars[slot] = v
		return body(m)
	}
}

func (c *compiler) conditional(n *ast.ConditionalNode) code {
	return c.choice(n, c.compile(n.Exp1), c.compile(n.Exp2))
}

func (c *compiler) choice(n *ast.ConditionalNode, then, other code) code {
	condition := c.boolean(n.Cond, "a condition")
	return func(m *machine) (any, error) {
		holds, err := condition(m)
		if err != nil {
			return nil, err
		}
		if holds {
			return then(m)
		}
		return other(m)
	}
}

// boolean compiles a part that must be true or false; what names it in errors.
func (c *compiler) boolean(node ast.Node, what string) func(m *machine) (bool, error) {
	run := c.compile(node)
	start, end := c.x.span(node)
	return func(m *machine) (bool, error) {
		v, err := run(m)
		if err != nil {
			return false, err
		}
		holds, ok := v.(bool)
		if !ok {
			return false, placed(failf("%s must be true or false, got %s", what, article(v)), start, end)
		}
		return holds, nil
	}
}

func (c *compiler) array(n *ast.ArrayNode) code {
	items := make([]code, len(n.Nodes))
	for i, node := range n.Nodes {
		items[i] = c.stored(node)
	}
	return func(m *machine) (any, error) {
		if err := m.grow(len(items) + 1); err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for i, item := range items {
			v, err := item(m)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	}
}

type pairCode struct {
	name       string
	key, value code // key is nil when the name is written out
	start, end int
}

func (c *compiler) object(n *ast.MapNode) code {
	var pairs []pairCode
	for _, node := range n.Pairs {
		pair, ok := node.(*ast.PairNode)
		if !ok {
			continue
		}
		p := pairCode{value: c.stored(pair.Value)}
		if name, literal := pair.Key.(*ast.StringNode); literal {
			p.name = name.Value
		} else {
			p.key = c.compile(pair.Key)
			p.start, p.end = c.x.span(pair.Key)
		}
		pairs = append(pairs, p)
	}
	return func(m *machine) (any, error) {
		if err := m.grow(len(pairs) + 2); err != nil {
			return nil, err
		}
		object := make(map[string]any, len(pairs))
		for i := range pairs {
			name, err := pairs[i].evalName(m)
			if err != nil {
				return nil, err
			}
			if object[name], err = pairs[i].value(m); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
}

func (p *pairCode) evalName(m *machine) (string, error) {
	if p.key == nil {
		return p.name, nil
	}
	v, err := p.key(m)
	if err != nil {
		return "", err
	}
	name, ok := v.(string)
	if !ok {
		return "", placed(failf("a field's name must be text, got %s", article(v)), p.start, p.end)
	}
	return name, nil
}
