package eval

import (
	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// predicate is a function that evaluates an expression for each element of a
// list. Its parser is expr's, so that the names and arguments are fixed.
type predicate struct {
	signature, doc, example string
	// boolean says that the body must be true or false.
	boolean bool
	// result infers the type from those of the element and the body; body is
	// the element's where none is written.
	result func(p *predicateCall) *schema.Type
	run    func(m *machine, l *loop) (any, error)
}

// predicateCall is a call of a predicate with the types of its parts.
type predicateCall struct {
	c          *checker
	node       *ast.BuiltinNode
	elem, body *schema.Type
	scope      *Scope // of the body
	outer      *Scope
}

func (p *predicateCall) bodyNode() ast.Node {
	if len(p.node.Arguments) > 1 {
		return p.node.Arguments[1]
	}
	return p.node.Arguments[0]
}

func (c *checker) predicate(n *ast.BuiltinNode, p *predicate, scope *Scope) *schema.Type {
	if len(n.Arguments) == 0 {
		return c.report(c.issueAt(n, CodeArgument, "%s needs a list", n.Name).hint("%s", p.signature))
	}
	k := predicateCall{c: c, node: n, outer: scope, elem: c.elements(n, scope)}
	k.scope = scope.With("#", k.elem).With("#index", schema.Of(schema.Int))
	if n.Name == "reduce" {
		return c.bounded(k.reduce())
	}
	switch {
	case len(n.Arguments) == 1:
		k.body = k.elem
		if p.boolean && k.body.Kind != schema.Bool && k.body.Kind != schema.Any || p.boolean && k.body.Nullable {
			return c.report(c.issueOver(n.Arguments[0], CodeCondition, "%s without a condition expects a list of booleans", n.Name))
		}
	case p.boolean:
		c.condition(bodyOf(n.Arguments[1]), k.scope, "the condition of "+n.Name)
		k.body = schema.Of(schema.Bool)
	default:
		k.body = c.value(n.Arguments[1], k.scope)
	}
	return c.bounded(p.result(&k))
}

func bodyOf(node ast.Node) ast.Node {
	if p, ok := node.(*ast.PredicateNode); ok {
		return p.Node
	}
	return node
}

// elements is the type of the elements of a predicate's list.
func (c *checker) elements(n *ast.BuiltinNode, scope *Scope) *schema.Type {
	list := c.present(n.Arguments[0], scope)
	switch list.Kind {
	case schema.Any:
		return anyType
	case schema.List:
		return list.Element()
	}
	issue := c.issueOver(n.Arguments[0], CodeArgument, "%s expects a list, got %s", n.Name, list.Article())
	if list.Kind == schema.Object {
		issue.Hint = "values(x) and toPairs(x) make lists of an object"
	}
	c.report(issue)
	return anyType
}

func always(kind schema.Kind) func(*predicateCall) *schema.Type {
	return func(*predicateCall) *schema.Type { return schema.Of(kind) }
}

func testPredicates() map[string]*predicate {
	return map[string]*predicate{
		"all": {
			signature: "all(list, condition): boolean", doc: "Whether the condition is true for every element; # is the element.", example: `all(rows, .visits > 0)`,
			boolean: true, result: always(schema.Bool),
			run: func(m *machine, l *loop) (any, error) {
				found, err := l.search(m, false, 1)
				return found < 0, err
			},
		},
		"none": {
			signature: "none(list, condition): boolean", doc: "Whether the condition is true for no element.", example: `none(rows, .visits == 0)`,
			boolean: true, result: always(schema.Bool),
			run: func(m *machine, l *loop) (any, error) {
				found, err := l.search(m, true, 1)
				return found < 0, err
			},
		},
		"any": {
			signature: "any(list, condition): boolean", doc: "Whether the condition is true for at least one element.", example: `any(rows, .host == "a")`,
			boolean: true, result: always(schema.Bool),
			run: func(m *machine, l *loop) (any, error) {
				found, err := l.search(m, true, 1)
				return found >= 0, err
			},
		},
		"one": {
			signature: "one(list, condition): boolean", doc: "Whether the condition is true for exactly one element.", example: `one(rows, .host == "a")`,
			boolean: true, result: always(schema.Bool),
			run: func(m *machine, l *loop) (any, error) {
				n, err := l.count(m)
				return n == 1, err
			},
		},
		"count": {
			signature: "count(list, condition?): integer", doc: "The number of elements for which the condition is true.", example: `count(rows, .visits > 10)`,
			boolean: true, result: always(schema.Int),
			run: func(m *machine, l *loop) (any, error) { return l.count(m) },
		},
		"sum": {
			signature: "sum(list, value?): number", doc: "The sum of the elements, or of a value of each.", example: `sum(rows, .visits)`,
			result: (*predicateCall).sum,
			run:    func(m *machine, l *loop) (any, error) { return l.sum(m) },
		},
	}
}

func findPredicates() map[string]*predicate {
	element := func(p *predicateCall) *schema.Type { return schema.Nullable(p.elem) }
	place := func(*predicateCall) *schema.Type { return schema.Nullable(schema.Of(schema.Int)) }
	item := func(direction int) func(m *machine, l *loop) (any, error) {
		return func(m *machine, l *loop) (any, error) {
			found, err := l.search(m, true, direction)
			return elementAt(l.list, found), err
		}
	}
	index := func(direction int) func(m *machine, l *loop) (any, error) {
		return func(m *machine, l *loop) (any, error) {
			found, err := l.search(m, true, direction)
			if err != nil || found < 0 {
				return nil, err
			}
			return found, nil
		}
	}
	return map[string]*predicate{
		"find": {
			signature: "find(list, condition): any", doc: "The first element for which the condition is true, or null.", example: `find(rows, .host == "a")?.visits ?? 0`,
			boolean: true, result: element, run: item(1),
		},
		"findLast": {
			signature: "findLast(list, condition): any", doc: "The last element for which the condition is true, or null.", example: `findLast(rows, .visits > 0)`,
			boolean: true, result: element, run: item(-1),
		},
		"findIndex": {
			signature: "findIndex(list, condition): integer", doc: "The place from 0 of the first element for which the condition is true, or null.", example: `findIndex(rows, .host == "a") ?? -1`,
			boolean: true, result: place, run: index(1),
		},
		"findLastIndex": {
			signature: "findLastIndex(list, condition): integer", doc: "The place from 0 of the last element for which the condition is true, or null.", example: `findLastIndex(rows, .host == "a")`,
			boolean: true, result: place, run: index(-1),
		},
	}
}

func shapePredicates() map[string]*predicate {
	same := func(p *predicateCall) *schema.Type { return schema.ListOf(p.elem) }
	return map[string]*predicate{
		"filter": {
			signature: "filter(list, condition): list", doc: "The elements for which the condition is true; .name is short for #.name.", example: `filter(rows, .visits > 10)`,
			boolean: true, result: same,
			run: func(m *machine, l *loop) (any, error) { return l.filter(m) },
		},
		"map": {
			signature: "map(list, value): list", doc: "A value for each element; #index is its place.", example: `map(rows, {{host: .host, share: .visits / 100}})`,
			result: func(p *predicateCall) *schema.Type { return schema.ListOf(p.body) },
			run:    func(m *machine, l *loop) (any, error) { return l.values(m) },
		},
		"groupBy": {
			signature: "groupBy(list, value): object", doc: "The elements in lists under the text of a value of each.", example: `groupBy(rows, .country)`,
			result: (*predicateCall).grouped,
			run:    func(m *machine, l *loop) (any, error) { return l.group(m) },
		},
		"sortBy": {
			signature: "sortBy(list, value, order?): list", doc: `The elements in the order of a value of each, "asc" or "desc"; equal ones keep their order.`, example: `sortBy(rows, .visits, "desc")`,
			result: (*predicateCall).sortedBy,
			run:    func(m *machine, l *loop) (any, error) { return l.sort(m) },
		},
		"reduce": {
			signature: "reduce(list, value, initial?): any", doc: "One value out of all elements: #acc is the result so far. Without an initial value it is the first element.", example: `reduce(rows, #acc + .visits, 0)`,
			run: func(m *machine, l *loop) (any, error) { return l.reduce(m) },
		},
	}
}

func (p *predicateCall) sum() *schema.Type {
	switch body := p.body; {
	case body.MayBeNull():
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeNull, "what sum adds may be null").hint("write `?? 0` behind it"))
	case isNumber(body):
		return schema.Of(body.Kind)
	case body.Kind == schema.Any:
		return anyType
	}
	return p.c.report(p.c.issueOver(p.bodyNode(), CodeArgument, "sum adds numbers, got %s", p.body.Article()))
}

func (p *predicateCall) grouped() *schema.Type {
	switch p.body.Kind {
	case schema.List, schema.Object, schema.Null:
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeArgument, "groupBy needs a text or another plain value, got %s", p.body.Article()))
	}
	if p.body.Nullable {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeNull, "what groupBy groups by may be null").hint("give a value for that case with `??`"))
	}
	return schema.MapOf(schema.ListOf(p.elem))
}

func (p *predicateCall) sortedBy() *schema.Type {
	if p.body.MayBeNull() {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeNull, "what sortBy orders by may be null").hint("give a value for that case with `??`"))
	}
	if !ordered(p.body) {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeArgument, "sortBy can't order by %s", p.body.Article()))
	}
	if len(p.node.Arguments) == 3 {
		t := p.c.present(p.node.Arguments[2], p.outer)
		order, literal := p.node.Arguments[2].(*ast.StringNode)
		switch {
		case literal && order.Value != "asc" && order.Value != "desc",
			t.Kind != schema.Any && t.Kind != schema.String:
			p.c.report(p.c.issueOver(p.node.Arguments[2], CodeConstant, `the order must be "asc" or "desc"`))
		}
	}
	return schema.ListOf(p.elem)
}

// reduce infers the accumulator in two rounds: what the body makes of the
// initial value joins the type with which the body is checked. What is wrong
// with the initial value itself is wrong already: the body sees it first.
func (p *predicateCall) reduce() *schema.Type {
	if len(p.node.Arguments) < 2 {
		return p.c.report(p.c.issueAt(p.node, CodeArgument, "reduce needs a list and a value").
			hint("%s", predicateTable()["reduce"].signature))
	}
	initial := p.elem
	if len(p.node.Arguments) == 3 {
		initial = p.c.value(p.node.Arguments[2], p.outer)
	}
	acc, known := plainOf(initial), len(p.c.issues)
	first := p.firstRound(acc)
	if len(p.c.issues) > known {
		return anyType
	}
	acc = plainOf(schema.Join(acc, first))
	body := p.c.value(p.node.Arguments[1], p.scope.With("#acc", acc))
	return plainOf(schema.Join(acc, body))
}

// firstRound infers the body with the initial value. An initial value that may
// be null says too little of what comes after it to report anything.
func (p *predicateCall) firstRound(acc *schema.Type) *schema.Type {
	if acc.MayBeNull() {
		p.c.muted++
		defer func() { p.c.muted-- }()
	}
	return p.c.value(p.node.Arguments[1], p.scope.With("#acc", acc))
}
