package eval

import (
	"errors"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// chain ends with null where a `?.` in it met null.
func (c *compiler) chain(n *ast.ChainNode) code {
	return ending(c.compile(n.Node))
}

func ending(inner code) code {
	return func(m *machine) (any, error) {
		v, err := inner(m)
		if errors.Is(err, errAbsent) {
			return nil, nil
		}
		return v, err
	}
}

func (c *compiler) member(n *ast.MemberNode) code {
	if run := c.plainPath(n); run != nil {
		return run
	}
	return c.memberOf(n, false)
}

// tolerant compiles a part whose absence the expression provides for: a place
// that a list has not is null there.
func (c *compiler) tolerant(node ast.Node) code {
	n := placeNode(node)
	switch {
	case n == nil:
		return c.compile(node)
	case node == ast.Node(n):
		return c.memberOf(n, true)
	}
	return ending(c.memberOf(n, true))
}

// memberOf compiles the reading of a member. A place that a list has not is an
// error, or null where the expression provides for that.
func (c *compiler) memberOf(n *ast.MemberNode, orNull bool) code {
	base := c.compile(n.Node)
	if n.Optional {
		base = c.tolerant(n.Node)
	}
	start, end := c.x.at(n.Property)
	source := c.sourceOf(n.Node)
	optional := n.Optional
	if name, literal := n.Property.(*ast.StringNode); literal {
		return func(m *machine) (any, error) {
			v, err := base(m)
			if err != nil {
				return nil, err
			}
			if v == nil && optional {
				return nil, errAbsent
			}
			if object, ok := v.(map[string]any); ok {
				return made(object[name.Value])
			}
			return nil, placed(noField(v, source, name.Value), start, end)
		}
	}
	index := c.compile(n.Property)
	return func(m *machine) (any, error) {
		v, err := base(m)
		if err != nil {
			return nil, err
		}
		if v == nil && optional {
			return nil, errAbsent
		}
		i, err := index(m)
		if err != nil {
			return nil, err
		}
		if list, at := sequenceOf(v); at && orNull {
			if place, ok := i.(int); ok {
				return list.atOrNull(m, fromEnd(place, list.len()))
			}
		}
		item, err := m.itemOf(v, i, source)
		return item, placed(err, start, end)
	}
}

// plainPath compiles a.b.c, the most frequent expression, into one walk. Nil
// when n is anything else.
func (c *compiler) plainPath(n *ast.MemberNode) code {
	var nodes []*ast.MemberNode
	var node ast.Node = n
	for {
		member, ok := node.(*ast.MemberNode)
		if !ok {
			break
		}
		if _, literal := member.Property.(*ast.StringNode); !literal || member.Optional {
			return nil
		}
		nodes = append(nodes, member)
		node = member.Node
	}
	root, ok := node.(*ast.IdentifierNode)
	if !ok {
		return nil
	}
	first := c.name(root)
	names := make([]string, len(nodes))
	for i, member := range nodes {
		names[len(nodes)-1-i] = member.Property.(*ast.StringNode).Value
	}
	return func(m *machine) (any, error) {
		v, err := first(m)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			object, ok := v.(map[string]any)
			if !ok {
				member := nodes[len(nodes)-1-i]
				start, end := c.x.at(member.Property)
				return nil, placed(noField(v, c.sourceOf(member.Node), name), start, end)
			}
			if v, err = made(object[name]); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
}

func (c *compiler) sourceOf(node ast.Node) string {
	start, end := c.x.span(node)
	if end-start > 60 {
		return "this"
	}
	return "`" + c.x.source[start:end] + "`"
}

func noField(v any, source, name string) error {
	if v == nil {
		return failf("%s is null, so it has no field `%s`", source, name).
			hint("read it with `?.`, and give a value for that case with `??`")
	}
	return failf("%s is %s, which has no field `%s`", source, article(v), name)
}

// itemOf reads an element by its place, which counts from the end when it is
// negative, or a field by its name.
func (m *machine) itemOf(v, index any, source string) (any, error) {
	switch base := v.(type) {
	case []any, *schema.Encoded:
		list, _ := sequenceOf(base)
		i, ok := index.(int)
		if !ok {
			return nil, failf("a list's place must be an integer, got %s", article(index))
		}
		at := fromEnd(i, list.len())
		if at < 0 || at >= list.len() {
			return nil, failf("%s has no element %d: it has %s", source, i, diag.Count(list.len(), "element")).
				hint("get(list, %d) gives null there", i)
		}
		return list.at(m, at)
	case map[string]any:
		name, ok := index.(string)
		if !ok {
			return nil, failf("a field's name must be text, got %s", article(index))
		}
		return base[name], nil
	case nil:
		return nil, failf("%s is null, so nothing can be read of it", source).
			hint("read it with `?.[`, and give a value for that case with `??`")
	}
	return nil, failf("%s is %s, which has no elements", source, article(v))
}

// fromEnd counts a negative place from the end.
func fromEnd(i, n int) int {
	if i < 0 {
		return i + n
	}
	return i
}

// slice cuts lists by elements and text by characters.
func (c *compiler) slice(n *ast.SliceNode) code {
	base := c.stored(n.Node)
	from, to := constant(nil), constant(nil)
	if n.From != nil {
		from = c.compile(n.From)
	}
	if n.To != nil {
		to = c.compile(n.To)
	}
	start, end := c.x.span(n)
	return func(m *machine) (any, error) {
		v, err := base(m)
		if err != nil {
			return nil, err
		}
		low, err := from(m)
		if err != nil {
			return nil, err
		}
		high, err := to(m)
		if err != nil {
			return nil, err
		}
		part, err := m.cut(v, low, high)
		return part, placed(err, start, end)
	}
}

func (m *machine) cut(v, low, high any) (any, error) {
	switch v := v.(type) {
	case []any, *schema.Encoded:
		list, _ := sequenceOf(v)
		from, to, err := bounds(low, high, list.len())
		if err != nil {
			return nil, err
		}
		return list.cut(from, to), nil
	case string:
		if err := m.read(2 * len(v)); err != nil {
			return nil, err
		}
		from, to, err := bounds(low, high, utf8.RuneCountInString(v))
		if err != nil {
			return nil, err
		}
		return v[runeOffset(v, from):runeOffset(v, to)], nil
	}
	return nil, failf("%s has no parts", article(v))
}

// bounds clamps the places of a slice; negative ones count from the end.
func bounds(low, high any, n int) (from, to int, err error) {
	from, to = 0, n
	for _, bound := range []struct {
		value any
		into  *int
	}{{low, &from}, {high, &to}} {
		if bound.value == nil {
			continue
		}
		i, ok := bound.value.(int)
		if !ok {
			return 0, 0, failf("a place must be an integer, got %s", article(bound.value))
		}
		if i < 0 {
			i += n
		}
		*bound.into = min(max(i, 0), n)
	}
	return min(from, to), to, nil
}

// runeOffset is the byte offset of the n-th character.
func runeOffset(text string, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
