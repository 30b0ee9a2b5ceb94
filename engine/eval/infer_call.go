package eval

import (
	"errors"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// call is a call of a function with the types of its arguments.
type call struct {
	c     *checker
	node  ast.Node
	f     *function
	args  []ast.Node
	types []*schema.Type
}

func (c *checker) call(n *ast.CallNode, scope *Scope) *schema.Type {
	switch callee := n.Callee.(type) {
	case *ast.IdentifierNode:
		return c.function(n, callee.Value, n.Arguments, scope)
	case *ast.MemberNode:
		short := false
		return c.methodCall(n, scope, &short)
	}
	return anyType
}

func (c *checker) builtin(n *ast.BuiltinNode, scope *Scope) *schema.Type {
	if p, ok := predicateTable()[n.Name]; ok {
		return c.predicate(n, p, scope)
	}
	return c.function(n, n.Name, n.Arguments, scope)
}

func (c *checker) function(node ast.Node, name string, args []ast.Node, scope *Scope) *schema.Type {
	f := functionTable()[name]
	if f == nil {
		return anyType // refused by Parse
	}
	k := call{c: c, node: node, f: f, args: args}
	known := len(c.issues)
	for i, arg := range args {
		if len(f.params) == 0 {
			break
		}
		k.types = append(k.types, c.argument(f, arg, f.param(i), scope))
	}
	if wanted := f.arity(len(args)); wanted != "" {
		return c.report(c.issueAt(node, CodeArgument, "%s needs %s, got %d", name, wanted, len(args)).
			hint("%s", f.signature))
	}
	switch {
	case len(c.issues) > known:
		return anyType
	case f.result == nil:
		return f.returns
	}
	return c.bounded(f.result(&k))
}

func (c *checker) argument(f *function, arg ast.Node, p param, scope *Scope) *schema.Type {
	t := c.value(arg, scope)
	if p.kinds == anyKinds {
		return t
	}
	t = c.nonNull(arg, t)
	whole := t
	t = p.misfit(t)
	if t == nil {
		return whole
	}
	issue := c.issueOver(arg, CodeArgument, "%s expects %s, got %s", f.name, p.text, t.Article())
	switch {
	case p.kinds.has(schema.String) && (t.Kind == schema.List || t.Kind == schema.Object):
		issue.Hint = "toJSON(x) makes text of it"
	case p.kinds.has(schema.String) && t.Kind == schema.Time:
		issue.Hint = `formatTime(t, "2006-01-02") makes text of a time`
	case p.kinds.has(schema.Time) && t.Kind == schema.String:
		issue.Hint = "date(x) makes a time of text"
	case p.kinds.has(schema.Int) && t.Kind == schema.Number:
		issue.Hint = "int(x) makes an integer of a number"
	case p.kinds.has(schema.List) && t.Kind == schema.Object:
		issue.Hint = "values(x) and toPairs(x) make lists of an object"
	}
	return c.report(issue)
}

// misfit returns what t can be that the parameter does not take; nil when there
// is nothing.
func (p param) misfit(t *schema.Type) *schema.Type {
	for _, one := range t.Each() {
		if one.Kind != schema.Any && !p.kinds.has(one.Kind) {
			return one
		}
	}
	return nil
}

func (k *call) typeOf(i int) *schema.Type {
	if i < len(k.types) {
		return k.types[i]
	}
	return anyType
}

// literal returns the text of an argument that is written out.
func (k *call) literal(i int) (string, bool) {
	if i >= len(k.args) {
		return "", false
	}
	text, ok := k.args[i].(*ast.StringNode)
	if !ok {
		return "", false
	}
	return text.Value, true
}

// constant reports a literal argument that can't be used.
func (k *call) constant(i int, err error) *schema.Type {
	issue := k.c.issueOver(k.args[i], CodeConstant, "%s", err.Error())
	var failure *RunError
	if errors.As(err, &failure) {
		issue.Message, issue.Hint = failure.Message, failure.Hint
	}
	return k.c.report(issue)
}

func (k *call) wrong(i int, format string, args ...any) *schema.Type {
	return k.c.report(k.c.issueOver(k.args[i], CodeArgument, format, args...))
}

// plainOf drops what is known of a value beyond its kind, as arithmetic does.
func plainOf(t *schema.Type) *schema.Type {
	if t.Enum == nil && t.Min == nil && t.Max == nil && t.Pattern == "" {
		return t
	}
	return &schema.Type{Kind: t.Kind, Nullable: t.Nullable, Elem: t.Elem, Fields: t.Fields, Additional: t.Additional}
}

func (k *call) numeric(i int) *schema.Type {
	if k.typeOf(i).Kind == schema.Int {
		return schema.Of(schema.Int)
	}
	return k.f.returns
}

// extreme is max and min: the kind of all values; null when all are lists,
// which may be empty.
func (k *call) extreme() *schema.Type {
	var t *schema.Type
	mayBeEmpty := true
	for i, arg := range k.types {
		elem := arg
		switch arg.Kind {
		case schema.List:
			elem = flatElement(arg)
		case schema.Any:
		default:
			mayBeEmpty = false
		}
		if !ordered(elem) || t != nil && (!canEqual(t, elem)) {
			return k.wrong(i, "%s can't compare %s", k.f.name, arg.Article())
		}
		t = joined(t, plainOf(elem))
	}
	if mayBeEmpty {
		return schema.Nullable(t)
	}
	return t
}

// numbers checks that lists hold numbers.
func (k *call) numbers() *schema.Type {
	for i, arg := range k.types {
		if arg.Kind != schema.List {
			continue
		}
		if elem := flatElement(arg); elem.Kind != schema.Any && !isNumber(elem) || elem.Nullable {
			return k.wrong(i, "%s expects numbers, got %s", k.f.name, arg.Article())
		}
	}
	return k.f.returns
}

func flatElement(t *schema.Type) *schema.Type {
	for t.Kind == schema.List {
		t = t.Element()
	}
	return t
}

func (k *call) joined() *schema.Type {
	if elem := k.typeOf(0).Element(); elem.Kind != schema.Any && (elem.Kind != schema.String || elem.Nullable) {
		issue := k.c.issueOver(k.args[0], CodeArgument, "join expects a list of text, got %s", k.typeOf(0).Article())
		return k.c.report(issue.hint("map(list, string(#)) makes texts of the elements"))
	}
	return k.f.returns
}

// serialised refuses values with secrets in them.
func (k *call) serialised() *schema.Type {
	if k.typeOf(0).HasSecret() {
		return k.c.report(k.c.issueOver(k.args[0], CodeSecret, "%s has a secret in it, which can't become text", k.c.text(k.args[0])))
	}
	return k.f.returns
}

func (k *call) endElement() *schema.Type { return schema.Nullable(k.typeOf(0).Element()) }

func (k *call) sameList() *schema.Type {
	if k.typeOf(0).Kind != schema.List {
		return schema.Of(schema.List)
	}
	return schema.ListOf(k.typeOf(0).Element())
}

func (k *call) concatenated() *schema.Type {
	t := schema.EmptyList()
	for _, arg := range k.types {
		if arg.Kind != schema.List {
			arg = schema.Of(schema.List)
		}
		t = schema.Join(t, arg)
	}
	return t
}

func (k *call) flattened() *schema.Type {
	if k.typeOf(0).Kind != schema.List {
		return schema.Of(schema.List)
	}
	return schema.ListOf(flatElement(k.typeOf(0)))
}

func (k *call) sorted() *schema.Type {
	elem := k.typeOf(0).Element()
	if !ordered(elem) || elem.Nullable {
		issue := k.c.issueOver(k.args[0], CodeArgument, "sort can't order %s", k.typeOf(0).Article())
		return k.c.report(issue.hint("sortBy(list, .field) orders objects"))
	}
	k.checkOrder(1)
	return k.sameList()
}

func (k *call) checkOrder(i int) {
	if order, ok := k.literal(i); ok && order != "asc" && order != "desc" {
		k.c.report(k.c.issueOver(k.args[i], CodeConstant, `the order must be "asc" or "desc"`))
	}
}

func (k *call) crossed() *schema.Type {
	return schema.ListOf(schema.TupleOf(k.typeOf(0).Element(), k.typeOf(1).Element()))
}

// rowsOf is uniqueBy: the same rows. A field is checked when it is written out.
func (k *call) rowsOf() *schema.Type {
	elem := k.typeOf(0).Element()
	if elem.Kind != schema.Any && elem.Kind != schema.Object || elem.Nullable {
		return k.wrong(0, "%s expects a list of objects, got %s", k.f.name, k.typeOf(0).Article())
	}
	if name, ok := k.literal(1); ok && elem.Kind == schema.Object {
		field, known := follow(elem, name)
		switch {
		case !known:
			return k.c.report(k.c.issueOver(k.args[1], CodeField, "unknown field `%s`", name).
				hint("%s", nearName(name, elem.FieldNames())))
		case field.HasSecret():
			return k.c.report(k.c.issueOver(k.args[1], CodeSecret, "`%s` is a secret, which can't be compared", name))
		}
	}
	return k.sameList()
}

func (k *call) table() *schema.Type {
	elem := k.typeOf(0).Element()
	if elem.Kind != schema.Any && elem.Kind != schema.Object || elem.Nullable {
		return k.wrong(0, "%s expects a list of objects, got %s", k.f.name, k.typeOf(0).Article())
	}
	return k.serialised()
}

// fieldType is what the fields of an object have in common.
func (k *call) fieldType(i int) *schema.Type {
	object := k.typeOf(i)
	if object.Kind != schema.Object {
		return anyType
	}
	t := object.Additional
	for _, field := range object.Fields {
		read := field.Type
		t = joined(t, read)
	}
	return orAny(t)
}

func (k *call) pairs() *schema.Type {
	return schema.ListOf(schema.TupleOf(schema.Of(schema.String), k.fieldType(0)))
}

func (k *call) fromPairs() *schema.Type {
	pair := k.typeOf(0).Element()
	if pair.Kind != schema.Any && pair.Kind != schema.List {
		return k.wrong(0, "fromPairs expects pairs [name, value], got %s", k.typeOf(0).Article())
	}
	if len(pair.Tuple) == 2 {
		return schema.MapOf(pair.Tuple[1])
	}
	return schema.MapOf(pair.Element())
}

// got is get: what is declared at a written path, or null; any value where the
// path leaves what is declared.
func (k *call) got() *schema.Type {
	path, ok := k.literal(1)
	if i, isIndex := integerLiteral(k.args[1]); isIndex {
		path, ok = strconv.Itoa(i), true
	}
	if !ok {
		if k.typeOf(0).HasSecret() {
			return k.c.report(k.c.issueOver(k.args[0], CodeSecret, "%s has a secret in it, so that get needs a path that is written out", k.c.text(k.args[0])))
		}
		return anyType
	}
	t, known := follow(k.typeOf(0), path)
	switch {
	case !known:
		return anyType
	case t.Secret:
		return k.c.report(k.c.issueOver(k.node, CodeSecret, "`%s` is a secret, which can't be used in an expression", path))
	}
	return schema.Nullable(t)
}

func integerLiteral(node ast.Node) (int, bool) {
	n, ok := node.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	return n.Value, true
}

func (k *call) durationLiteral() *schema.Type {
	if text, ok := k.literal(0); ok {
		if _, err := parseDuration(text); err != nil {
			return k.constant(0, err)
		}
	}
	return k.f.returns
}

func (k *call) zoned() *schema.Type {
	if name, ok := k.literal(2); ok {
		if _, err := loadZone(name); err != nil {
			return k.constant(2, err)
		}
	}
	return k.f.returns
}

func (k *call) unitAndZone() *schema.Type {
	if unit, ok := k.literal(1); ok {
		m := machine{steps: maxSteps}
		if _, _, err := m.period([]any{referenceTime(), unit}); err != nil {
			return k.constant(1, err)
		}
	}
	return k.zoned()
}

func (k *call) amountAndZone() *schema.Type {
	if amount, ok := k.literal(1); ok {
		if _, err := addTime(referenceTime(), amount); err != nil {
			return k.constant(1, err)
		}
	}
	return k.zoned()
}
