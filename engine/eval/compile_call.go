package eval

import (
	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
)

func (c *compiler) call(n *ast.CallNode) code {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		return c.function(n, callee.Value, n.Arguments)
	case *ast.MemberNode:
		return c.method(n, callee)
	}
	return c.compileComposed(n)
}

func (c *compiler) method(n *ast.CallNode, callee *ast.MemberNode) code {
	base := c.compile(callee.Node)
	if callee.Optional {
		base = c.tolerant(callee.Node)
	}
	name, _ := callee.Property.(*ast.StringNode)
	start, end := c.x.at(n)
	return func(m *machine) (any, error) {
		v, err := base(m)
		if err != nil {
			return nil, err
		}
		if v == nil && callee.Optional {
			return nil, errAbsent
		}
		if len(n.Arguments) > 0 {
			return nil, placed(failf("%s needs no arguments", name.Value), start, end)
		}
		result, err := callMethod(v, name.Value)
		return result, placed(err, start, end)
	}
}

func (c *compiler) function(node ast.Node, name string, nodes []ast.Node) code {
	f := functionTable()[name]
	start, end := c.x.at(node)
	if wanted := f.arity(len(nodes)); wanted != "" {
		return func(*machine) (any, error) {
			return nil, placed(failf("%s needs %s, got %d", name, wanted, len(nodes)), start, end)
		}
	}
	parts := make([]code, len(nodes))
	for i, node := range nodes {
		if parts[i] = c.compile(node); f.chooses {
			parts[i] = c.stored(node)
		}
	}
	return func(m *machine) (any, error) {
		args := make([]any, len(parts))
		for i, part := range parts {
			v, err := part(m)
			if err != nil {
				return nil, err
			}
			args[i] = v
		}
		if err := f.take(m, args); err != nil {
			return nil, placed(err, start, end)
		}
		v, err := f.run(m, args)
		if err != nil {
			return nil, placed(err, start, end)
		}
		return v, nil
	}
}

func (c *compiler) builtin(n *ast.BuiltinNode) code {
	p, ok := predicateTable()[n.Name]
	if !ok {
		return c.function(n, n.Name, n.Arguments)
	}
	start, end := c.x.at(n)
	list, body, extra := c.stored(n.Arguments[0]), code(nil), []code(nil)
	weight := 1
	if len(n.Arguments) > 1 {
		body = c.compile(n.Arguments[1])
		weight = 1 + countNodes(n.Arguments[1])/16
		extra = c.all(n.Arguments[2:])
	}
	names, named := []string(nil), false
	if body != nil && !p.whole {
		names, named = membersOfItem(bodyOf(n.Arguments[1]))
	}
	each := passSteps
	if n.Name == "sortBy" {
		each = sortSteps
	}
	return func(m *machine) (any, error) {
		l := loop{name: n.Name, body: body, weight: weight}
		v, err := list(m)
		if err != nil {
			return nil, err
		}
		var isList bool
		if l.list, isList = sequenceOf(v); !isList {
			return nil, placed(notList(n.Name, v), start, end)
		}
		for _, part := range extra {
			v, err := part(m)
			if err != nil {
				return nil, err
			}
			l.extra = append(l.extra, v)
		}
		if named {
			l.list.readOnly(names)
		}
		m.passed(&l.list, each)
		item, index := m.item, m.index
		m.depth++
		v, err = p.run(m, &l)
		m.depth--
		m.item, m.index = item, index
		if err != nil {
			return nil, placed(err, start, end)
		}
		return v, nil
	}
}

func notList(name string, v any) error {
	failure := failf("%s expects a list, got %s", name, article(v))
	switch v.(type) {
	case nil:
		failure.Hint = diag.Say("give a value for that case with `?? []`")
	case map[string]any:
		failure.Hint = diag.Say("values(x) and toPairs(x) make lists of an object")
	}
	return failure
}
