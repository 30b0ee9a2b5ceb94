package eval

import (
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

func (c *compiler) unary(n *ast.UnaryNode) code {
	start, end := c.x.at(n)
	if n.Operator == "not" || n.Operator == "!" {
		operand := c.boolean(n.Node, "what `"+n.Operator+"` turns over")
		return func(m *machine) (any, error) {
			holds, err := operand(m)
			if err != nil {
				return nil, err
			}
			return !holds, nil
		}
	}
	operand, minus := c.compile(n.Node), n.Operator == "-"
	return func(m *machine) (any, error) {
		v, err := operand(m)
		if err != nil {
			return nil, err
		}
		if !minus {
			switch v.(type) {
			case int, float64, time.Duration:
				return v, nil
			}
			return nil, placed(failf("`+` needs a number, got %s", article(v)), start, end)
		}
		negated, err := negate(v)
		return negated, placed(err, start, end)
	}
}

func negate(v any) (any, error) {
	switch v := v.(type) {
	case int:
		return multiply(v, -1)
	case float64:
		return -v, nil
	case time.Duration:
		negated, err := multiply(int(v), -1)
		if err != nil {
			return nil, err
		}
		return time.Duration(negated.(int)), nil
	}
	return nil, failf("`-` needs a number, got %s", article(v))
}

// two evaluates the operands of a binary operator and computes the result.
func (c *compiler) two(n *ast.BinaryNode, compute func(m *machine, a, b any) (any, error)) code {
	return c.computed(n, c.compile(n.Left), c.compile(n.Right), compute)
}

func (c *compiler) computed(n *ast.BinaryNode, left, right code, compute func(m *machine, a, b any) (any, error)) code {
	start, end := c.x.at(n)
	return func(m *machine) (any, error) {
		a, err := left(m)
		if err != nil {
			return nil, err
		}
		b, err := right(m)
		if err != nil {
			return nil, err
		}
		v, err := compute(m, a, b)
		if err != nil {
			return nil, placed(err, start, end)
		}
		return v, nil
	}
}

func (c *compiler) binary(n *ast.BinaryNode) code {
	switch n.Operator {
	case "and", "&&":
		return c.shortCircuit(n, false)
	case "or", "||":
		return c.shortCircuit(n, true)
	case "??":
		if n == c.instead {
			return c.compile(n.Right)
		}
		left, right := c.tolerant(n.Left), c.compile(n.Right)
		return func(m *machine) (any, error) {
			v, err := left(m)
			if v != nil || err != nil {
				return v, err
			}
			return right(m)
		}
	case "==":
		return c.computed(n, c.tolerant(n.Left), c.tolerant(n.Right), func(m *machine, a, b any) (any, error) { return boxed(m.equal(a, b)) })
	case "!=":
		return c.computed(n, c.tolerant(n.Left), c.tolerant(n.Right), func(m *machine, a, b any) (any, error) {
			same, err := m.equal(a, b)
			return boxed(!same, err)
		})
	case "<", "<=", ">", ">=":
		return c.ordering(n)
	case "in":
		return c.two(n, func(m *machine, a, b any) (any, error) { return boxed(m.isIn(b, a)) })
	case "matches":
		return c.matches(n)
	case "contains", "startsWith", "endsWith":
		return c.textTest(n)
	}
	operator := n.Operator
	return c.two(n, func(m *machine, a, b any) (any, error) { return m.arithmetic(operator, a, b) })
}

func boxed(holds bool, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return holds, nil
}

// shortCircuit evaluates the right side unless the left one is decisive.
func (c *compiler) shortCircuit(n *ast.BinaryNode, decisive bool) code {
	what := "each side of `" + n.Operator + "`"
	left, right := c.boolean(n.Left, what), c.boolean(n.Right, what)
	return func(m *machine) (any, error) {
		holds, err := left(m)
		if err != nil {
			return nil, err
		}
		if holds == decisive {
			return holds, nil
		}
		return boxed(right(m))
	}
}

func (c *compiler) ordering(n *ast.BinaryNode) code {
	operator := n.Operator
	return c.two(n, func(m *machine, a, b any) (any, error) {
		order, err := m.order(a, b)
		if err != nil {
			return nil, err
		}
		switch operator {
		case "<":
			return order < 0, nil
		case "<=":
			return order <= 0, nil
		case ">":
			return order > 0, nil
		}
		return order >= 0, nil
	})
}

// contains reports whether a list has an element, or an object a name.
func (m *machine) contains(container, v any) (bool, error) {
	switch container := container.(type) {
	case []any, *schema.Encoded:
		list, _ := sequenceOf(container)
		if !list.isText() {
			if err := m.step(list.len() / 16); err != nil {
				return false, err
			}
		}
		for i := range list.len() {
			item, err := list.at(m, i)
			if err != nil {
				return false, err
			}
			if same, err := m.equal(item, v); same || err != nil {
				return same, err
			}
		}
		return false, nil
	case map[string]any:
		name, ok := v.(string)
		if !ok {
			return false, failf("an object's names are text, got %s", article(v))
		}
		_, there := container[name]
		return there, nil
	}
	return false, failf("`in` needs a list or an object on the right, got %s", article(container))
}

func (c *compiler) textTest(n *ast.BinaryNode) code {
	operator := n.Operator
	return c.two(n, func(m *machine, a, b any) (any, error) {
		text, part, err := twoTexts(operator, a, b)
		if err != nil {
			return nil, err
		}
		if err := m.read(len(text)); err != nil {
			return nil, err
		}
		switch operator {
		case "startsWith":
			return strings.HasPrefix(text, part), nil
		case "endsWith":
			return strings.HasSuffix(text, part), nil
		}
		return strings.Contains(text, part), nil
	})
}

func twoTexts(operator string, a, b any) (string, string, error) {
	text, ok := a.(string)
	part, alsoOK := b.(string)
	if ok && alsoOK {
		return text, part, nil
	}
	wrong := a
	if ok {
		wrong = b
	}
	return "", "", failf("`%s` needs text on both sides, got %s", operator, article(wrong))
}

func (c *compiler) matches(n *ast.BinaryNode) code {
	literal, ok := n.Right.(*ast.StringNode)
	if !ok {
		return c.two(n, func(m *machine, a, b any) (any, error) {
			text, pattern, err := twoTexts("matches", a, b)
			if err != nil {
				return nil, err
			}
			if err := m.step(20 + len(pattern)); err != nil {
				return nil, err
			}
			compiled, size, err := compilePattern(pattern)
			if err != nil {
				return nil, err
			}
			if err := m.step(size / 4); err != nil {
				return nil, err
			}
			return boxed(m.match(compiled, size, text))
		})
	}
	compiled, size, broken := compilePattern(literal.Value)
	return c.two(n, func(m *machine, a, b any) (any, error) {
		if broken != nil {
			return nil, failf("%v", broken) // a new one for each run: errors get their place later
		}
		text, _, err := twoTexts("matches", a, b)
		if err != nil {
			return nil, err
		}
		return boxed(m.match(compiled, size, text))
	})
}
