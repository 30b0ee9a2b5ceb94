package eval

import (
	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// predicate is a function that evaluates an expression for each element of a
// list. Its parser is expr's, so that the names and arguments are fixed.
type predicate struct {
	signature, doc, example string
	// boolean says that the body must be true or false.
	boolean bool
	// whole says that it gives elements, or has them as values, besides what the body reads.
	whole bool
	// result infers the type from those of the element and the body; body is
	// the element's where none is written.
	result func(p *predicateCall) *schema.Type
	run    func(m *machine, l *loop) (any, error)
}

// predicateCall is a call of a predicate with the types of its parts.
type predicateCall struct {
	c          *checker
	node       *ast.BuiltinNode
	list       *schema.Type // as AlwaysEmpty and Least tell it
	elem, body *schema.Type
	kept       *schema.Type // elem where the condition holds
	scope      *Scope       // of the body
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
	k := predicateCall{c: c, node: n, outer: scope}
	k.list, k.elem = c.elements(n, scope)
	k.scope = scope.With("#", k.elem).With("#index", schema.Of(schema.Int))
	if n.Name == "reduce" {
		return c.bounded(k.reduce())
	}
	switch {
	case len(n.Arguments) == 1:
		k.body = k.elem
		if p.boolean && (misfit(k.body, 1<<schema.Bool) != nil || k.body.MayBeNull()) {
			return c.report(c.issueOver(n.Arguments[0], CodeCondition, "%s without a condition expects a list of booleans", n.Name))
		}
		if p.boolean {
			c.mustKnow(n.Arguments[0], k.body, n.Name+" can't be checked: its elements are of any kind")
		}
	case p.boolean:
		c.condition(bodyOf(n.Arguments[1]), k.scope, "the condition of "+n.Name)
		k.body = schema.Of(schema.Bool)
		k.kept = narrowedElement(bodyOf(n.Arguments[1]), k.scope, k.elem)
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

// elements is the type of a predicate's list and that of its elements.
func (c *checker) elements(n *ast.BuiltinNode, scope *Scope) (list, elem *schema.Type) {
	node := n.Arguments[0]
	list = c.present(node, scope)
	c.mustKnow(node, list, n.Name+" can't be checked")
	if wrong := misfit(list, lists); wrong != nil {
		issue := c.issueOver(node, CodeArgument, "%s expects a list, got %s", n.Name, wrong.Article())
		if wrong.Kind == schema.Object {
			issue.Hint = diag.Say("values(x) and toPairs(x) make lists of an object")
		}
		return Faulty, c.report(issue)
	}
	if list.Kind != schema.List { // unknown, since lists of all kinds join
		return list, list
	}
	return schema.AtLeast(list, c.least(node, list, scope)), list.Element()
}

// sized gives a list of elem the length that is known of the predicate's list.
func (p *predicateCall) sized(elem *schema.Type) *schema.Type {
	if p.list.AlwaysEmpty() {
		return schema.EmptyList()
	}
	return schema.AtLeast(schema.ListOf(elem), p.list.Least())
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
	element := func(p *predicateCall) *schema.Type { return schema.Nullable(p.found()) }
	place := func(*predicateCall) *schema.Type { return schema.Nullable(schema.Of(schema.Int)) }
	item := func(direction int) func(m *machine, l *loop) (any, error) {
		return func(m *machine, l *loop) (any, error) {
			found, err := l.search(m, true, direction)
			if err != nil {
				return nil, err
			}
			return l.list.atOrNull(m, found)
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
			boolean: true, whole: true, result: element, run: item(1),
		},
		"findLast": {
			signature: "findLast(list, condition): any", doc: "The last element for which the condition is true, or null.", example: `findLast(rows, .visits > 0)`,
			boolean: true, whole: true, result: element, run: item(-1),
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
	same := func(p *predicateCall) *schema.Type { return schema.ListOf(p.found()) }
	return map[string]*predicate{
		"filter": {
			signature: "filter(list, condition): list", doc: "The elements for which the condition is true; .name is short for #.name.", example: `filter(rows, .visits > 10)`,
			boolean: true, result: same,
			run: func(m *machine, l *loop) (any, error) { return l.filter(m) },
		},
		"map": {
			signature: "map(list, value): list", doc: "A value for each element; #index is its place.", example: `map(rows, {{host: .host, share: .visits / 100}})`,
			result: func(p *predicateCall) *schema.Type { return p.sized(p.body) },
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
			whole: true,
			run:   func(m *machine, l *loop) (any, error) { return l.reduce(m) },
		},
	}
}

func (p *predicateCall) sum() *schema.Type {
	switch body := p.body; {
	case body.MayBeNull():
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeNull, "what sum adds may be null").hint("write `?? 0` behind it"))
	case misfit(body, numbers) != nil:
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeArgument, "sum adds numbers, got %s", p.body.Article()))
	case p.list.AlwaysEmpty():
		return schema.Of(schema.Int)
	default:
		p.c.mustKnow(p.bodyNode(), body, "sum can't be checked: what it adds is of any kind")
		return schema.Join(schema.Of(schema.Int), schema.Of(body.Kind)) // of an empty list it is 0
	}
}

// found is an element for which the condition holds.
func (p *predicateCall) found() *schema.Type {
	if p.kept != nil {
		return p.kept
	}
	return p.elem
}

func (p *predicateCall) grouped() *schema.Type {
	if wrong := misfit(p.body, scalars); wrong != nil || p.body.Kind == schema.Null {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeArgument, "groupBy needs a text or another plain value, got %s", p.body.Article()))
	}
	if p.body.Nullable {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeNull, "what groupBy groups by may be null").hint("give a value for that case with `??`"))
	}
	if !p.list.AlwaysEmpty() {
		p.c.mustKnow(p.bodyNode(), p.body, "groupBy can't be checked: what it groups by is of any kind")
	}
	return schema.MapOf(schema.AtLeast(schema.ListOf(p.elem), 1))
}

func (p *predicateCall) sortedBy() *schema.Type {
	if p.body.MayBeNull() {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeNull, "what sortBy orders by may be null").hint("give a value for that case with `??`"))
	}
	if !p.list.AlwaysEmpty() {
		p.c.mustKnow(p.bodyNode(), p.body, "sortBy can't be checked: what it orders by is of any kind")
	}
	if misfit(p.body, ordered) != nil || !alike(p.body) {
		return p.c.report(p.c.issueOver(p.bodyNode(), CodeArgument, "sortBy can't order by %s", p.body.Article()))
	}
	if len(p.node.Arguments) == 3 {
		t := p.c.present(p.node.Arguments[2], p.outer)
		p.c.mustKnow(p.node.Arguments[2], t, "the order can't be checked")
		order, literal := p.node.Arguments[2].(*ast.StringNode)
		switch {
		case literal && order.Value != "asc" && order.Value != "desc", misfit(t, texts) != nil:
			p.c.report(p.c.issueOver(p.node.Arguments[2], CodeConstant, `the order must be "asc" or "desc"`))
		}
	}
	return p.sized(p.elem)
}

// maxRounds bounds how often the body of a reduce is looked at.
const maxRounds = 4

// reduce infers the accumulator in rounds: what the body makes of it joins the
// type with which the body is checked, until nothing is added. What is wrong with
// the initial value itself is wrong already: the body sees it first.
func (p *predicateCall) reduce() *schema.Type {
	if len(p.node.Arguments) < 2 {
		return p.c.report(p.c.issueAt(p.node, CodeArgument, "reduce needs a list and a value").
			hint("%s", predicateTable()["reduce"].signature))
	}
	initial := p.elem
	switch {
	case len(p.node.Arguments) == 3:
		initial = p.c.value(p.node.Arguments[2], p.outer)
	case p.list.Least() == 0 && p.list.Known():
		p.c.report(p.c.emptyReduce(p.node))
	}
	acc, known := plainOf(initial), len(p.c.issues)
	for round := range maxRounds {
		body := p.round(acc, round)
		if p.c.failedSince(known) {
			return Faulty
		}
		next := plainOf(schema.Join(acc, body))
		if next.Equal(acc) && round > 0 {
			return acc
		}
		acc = next
	}
	p.round(anyType, maxRounds)
	return anyType
}

// round infers the body with one type of the accumulator. An initial value that
// may be null says too little of what comes after it to report anything.
func (p *predicateCall) round(acc *schema.Type, round int) *schema.Type {
	if round == 0 && acc.MayBeNull() {
		p.c.muted++
		defer func() { p.c.muted-- }()
	}
	return p.c.value(p.node.Arguments[1], p.scope.With("#acc", acc))
}

func (c *checker) emptyReduce(node *ast.BuiltinNode) *Issue {
	issue := c.issueOver(node.Arguments[0], CodePlace, "%s may be empty, and reduce has nothing to begin with then", c.text(node.Arguments[0])).
		hint("write an initial value as the third argument")
	issue.Warning = !c.strict
	return issue
}
