package eval

import (
	"errors"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// call is a call of a function with the types of its arguments.
type call struct {
	c     *checker
	node  ast.Node
	f     *function
	args  []ast.Node
	types []*schema.Type
	scope *Scope
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
	if f == nil { // refused by Parse
		for _, arg := range args {
			c.value(arg, scope)
		}
		return Faulty
	}
	k := call{c: c, node: node, f: f, args: args, scope: scope}
	wanted, known := f.arity(len(args)), len(c.issues)
	for i, arg := range args {
		if wanted != "" {
			c.value(arg, scope)
			continue
		}
		k.types = append(k.types, c.argument(f, arg, f.param(i), scope))
	}
	if wanted != "" {
		return c.report(c.issueAt(node, CodeArgument, "%s needs %s, got %d", name, wanted, len(args)).
			hint("%s", f.signature))
	}
	switch {
	case c.failedSince(known):
		return Faulty
	case f.result == nil:
		return f.returns
	}
	return c.bounded(k.each())
}

// failedSince reports whether an error, not just a warning, was found since there
// were that many issues.
func (c *checker) failedSince(known int) bool {
	return HasErrors(c.issues[known:])
}

// maxCombinations bounds what is tried of arguments that can be of several kinds.
const maxCombinations = 64

// each infers the result for each combination of what the arguments can be: the
// call must suit all of them.
func (k *call) each() *schema.Type {
	combinations := 1
	for _, t := range k.types {
		combinations = min(combinations*len(t.Each()), maxCombinations+1)
	}
	switch {
	case combinations == 1:
		return k.f.result(k)
	case combinations > maxCombinations:
		k.c.mustKnow(k.node, anyType, "it can't be checked: its arguments can be of too many kinds")
		return anyType
	}
	var result *schema.Type
	known, types := len(k.c.issues), slices.Clone(k.types)
	for i := range combinations {
		for at, t := range types {
			alternatives := t.Each()
			k.types[at] = alternatives[i%len(alternatives)]
			if t.Nullable {
				k.types[at] = schema.Nullable(k.types[at])
			}
			i /= len(alternatives)
		}
		one := k.f.result(k)
		if k.c.failedSince(known) {
			return Faulty
		}
		result = joined(result, one)
	}
	return result
}

func (c *checker) argument(f *function, arg ast.Node, p param, scope *Scope) *schema.Type {
	t := c.value(arg, scope)
	if p.kinds == anyKinds {
		return t
	}
	t = c.nonNull(arg, t)
	wrong := misfit(t, p.kinds)
	if wrong == nil {
		if !f.converts {
			c.mustKnow(arg, t, f.name+" can't be checked")
		}
		return t
	}
	issue := c.issueOver(arg, CodeArgument, "%s expects %s, got %s", f.name, p.text, wrong.Article())
	switch {
	case p.kinds.has(schema.String) && (wrong.Kind == schema.List || wrong.Kind == schema.Object):
		issue.Hint = diag.Say("toJSON(x) makes text of it")
	case p.kinds.has(schema.String) && wrong.Kind == schema.Time:
		issue.Hint = diag.Say(`formatTime(t, "2006-01-02") makes text of a time`)
	case p.kinds.has(schema.Time) && wrong.Kind == schema.String:
		issue.Hint = diag.Say("date(x) makes a time of text")
	case p.kinds.has(schema.Int) && wrong.Kind == schema.Number:
		issue.Hint = diag.Say("int(x) makes an integer of a number")
	case p.kinds.has(schema.List) && wrong.Kind == schema.Object:
		issue.Hint = diag.Say("values(x) and toPairs(x) make lists of an object")
	}
	return c.report(issue)
}

// misfit returns what t can be, null aside, that is not of these kinds; nil when
// there is nothing.
func misfit(t *schema.Type, k kinds) *schema.Type {
	for _, one := range t.Each() {
		if one.Kind != schema.Any && one.Kind != schema.Null && !k.has(one.Kind) {
			return one
		}
	}
	return nil
}

// badElement reports whether the elements of a list, which must be of these kinds
// and not null, can be something else. The strict check refuses those of which
// nothing is known.
func (k *call) badElement(i int, elem *schema.Type, allowed kinds) bool {
	if misfit(elem, allowed) != nil || elem.MayBeNull() {
		return true
	}
	if !k.typeOf(i).AlwaysEmpty() {
		k.c.mustKnow(k.args[i], elem, k.f.name+" can't be checked: its elements are of any kind")
	}
	return false
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
	if failure, ok := errors.AsType[*RunError](err); ok {
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
	return &schema.Type{Kind: t.Kind, Nullable: t.Nullable, Elem: t.Elem, Fields: t.Fields, Additional: t.Additional, Open: t.Open}
}

func (k *call) numeric(i int) *schema.Type {
	if k.typeOf(i).Kind == schema.Int {
		return schema.Of(schema.Int)
	}
	return k.f.returns
}

// extreme is max and min: the kind of all values; null when all are lists, which
// may be empty.
func (k *call) extreme() *schema.Type {
	var t *schema.Type
	mayBeEmpty := true
	for i, arg := range k.types {
		elem := arg
		switch {
		case arg.AlwaysEmpty():
			continue
		case arg.Kind == schema.List:
			elem = flatElement(arg)
			mayBeEmpty = mayBeEmpty && !(arg.Element() == elem && k.c.least(k.args[i], arg, k.scope) > 0)
		case arg.Known():
			mayBeEmpty = false
		}
		if k.badElement(i, elem, ordered) || !alike(elem) || t != nil && !alike(schema.Join(t, elem)) {
			return k.wrong(i, "%s can't compare %s", k.f.name, arg.Article())
		}
		t = joined(t, plainOf(elem))
	}
	switch {
	case t == nil:
		return schema.Of(schema.Null)
	case mayBeEmpty:
		return schema.Nullable(t)
	}
	return t
}

// alike reports whether all values of a type can be compared with each other.
func alike(t *schema.Type) bool { return len(t.Each()) == 1 }

// numbers checks that lists hold numbers.
func (k *call) numbers() *schema.Type {
	for i, arg := range k.types {
		if arg.Kind == schema.List && k.badElement(i, flatElement(arg), numbers) {
			return k.wrong(i, "%s expects numbers, got %s", k.f.name, arg.Article())
		}
	}
	return k.f.returns
}

// flatElement is what the elements of a list and of the lists in it can be.
func flatElement(list *schema.Type) *schema.Type {
	elem := list.Element()
	if misfit(elem, anyKinds&^lists) == nil {
		return elem
	}
	var flat *schema.Type
	for _, one := range elem.Each() {
		if one.Kind == schema.List {
			if one.AlwaysEmpty() {
				continue
			}
			one = flatElement(one)
		}
		flat = joined(flat, one)
	}
	if flat == nil {
		flat = anyType
	}
	if elem.MayBeNull() {
		return schema.Nullable(flat)
	}
	return flat
}

func (k *call) joined() *schema.Type {
	if k.badElement(0, k.typeOf(0).Element(), texts) {
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

// endElement is first and last: null where the list may be empty.
func (k *call) endElement() *schema.Type {
	switch list := k.typeOf(0); {
	case list.AlwaysEmpty():
		return schema.Of(schema.Null)
	case k.c.least(k.args[0], list, k.scope) > 0:
		return list.Element()
	default:
		return schema.Nullable(list.Element())
	}
}

func (k *call) sameList() *schema.Type {
	if k.typeOf(0).Kind != schema.List {
		return schema.Of(schema.List)
	}
	return schema.ListOf(k.typeOf(0).Element())
}

func (k *call) concatenated() *schema.Type {
	t, least := schema.EmptyList(), 0
	for i, arg := range k.types {
		if arg.Kind != schema.List {
			arg = schema.Of(schema.List)
		}
		t, least = schema.Join(t, arg), least+k.c.least(k.args[i], arg, k.scope)
	}
	t = schema.ListOf(t.Elem)
	if len(k.types) > 0 && !slices.ContainsFunc(k.types, func(one *schema.Type) bool { return !one.AlwaysEmpty() }) {
		return schema.EmptyList()
	}
	return schema.AtLeast(t, least)
}

func (k *call) flattened() *schema.Type {
	if k.typeOf(0).Kind != schema.List {
		return schema.Of(schema.List)
	}
	return schema.ListOf(flatElement(k.typeOf(0)))
}

func (k *call) sorted() *schema.Type {
	elem := k.typeOf(0).Element()
	if k.badElement(0, elem, ordered) || !alike(elem) {
		issue := k.c.issueOver(k.args[0], CodeArgument, "sort can't order %s", k.typeOf(0).Article())
		return k.c.report(issue.hint("sortBy(list, .field) orders objects"))
	}
	k.checkOrder(1)
	return k.sameElements()
}

func (k *call) checkOrder(i int) {
	if order, ok := k.literal(i); ok && order != "asc" && order != "desc" {
		k.c.report(k.c.issueOver(k.args[i], CodeConstant, `the order must be "asc" or "desc"`))
	}
}

// sameElements is a list of the elements of the first argument, all of them.
func (k *call) sameElements() *schema.Type {
	return schema.AtLeast(k.sameList(), k.c.least(k.args[0], k.typeOf(0), k.scope))
}

// chunked is a list of lists, each with at least one of the elements.
func (k *call) chunked() *schema.Type {
	if size, ok := integerLiteral(k.args[1]); ok && size < 1 {
		return k.c.report(k.c.issueOver(k.args[1], CodeConstant, "chunk expects a size of 1 or more, got %d", size))
	}
	chunks := schema.ListOf(schema.AtLeast(k.sameList(), 1))
	if k.c.least(k.args[0], k.typeOf(0), k.scope) > 0 {
		chunks = schema.AtLeast(chunks, 1)
	}
	return chunks
}

func (k *call) crossed() *schema.Type {
	pairs := schema.ListOf(schema.TupleOf(k.typeOf(0).Element(), k.typeOf(1).Element()))
	return schema.AtLeast(pairs, k.c.least(k.args[0], k.typeOf(0), k.scope)*k.c.least(k.args[1], k.typeOf(1), k.scope))
}

// rowsOf is uniqueBy: the same rows. A field is checked when it is written out.
func (k *call) rowsOf() *schema.Type {
	elem := k.typeOf(0).Element()
	if k.badElement(0, elem, objects) {
		return k.wrong(0, "%s expects a list of objects, got %s", k.f.name, k.typeOf(0).Article())
	}
	if name, ok := k.literal(1); ok && elem.Kind == schema.Object {
		field, exists := follow(elem, name, k.c.strict)
		switch {
		case !exists:
			issue := k.c.issueOver(k.args[1], CodeField, "unknown field `%s`", name)
			issue.Hint = diag.DidYouMean(name, elem.FieldNames())
			return k.c.report(issue)
		case field.HasSecret():
			return k.c.report(k.c.issueOver(k.args[1], CodeSecret, "`%s` is a secret, which can't be compared", name))
		}
	}
	return k.sameList()
}

func (k *call) table() *schema.Type {
	defer k.checkColumns()
	elem := k.typeOf(0).Element()
	if k.badElement(0, elem, objects) {
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
	t := object.Others()
	for _, field := range object.Fields {
		t = joined(t, field.Type)
	}
	return orAny(t)
}

func (k *call) pairs() *schema.Type {
	return k.perField(schema.TupleOf(schema.Of(schema.String), k.fieldType(0)))
}

// perField is a list with an element for each field of the first argument.
func (k *call) perField(elem *schema.Type) *schema.Type {
	least := 0
	for _, field := range k.typeOf(0).Fields {
		if field.Required {
			least++
		}
	}
	return schema.AtLeast(schema.ListOf(elem), least)
}

// fromPairs checks the names, and in the strict check that the pairs are pairs.
func (k *call) fromPairs() *schema.Type {
	pair := k.typeOf(0).Element()
	if k.typeOf(0).AlwaysEmpty() {
		return schema.ObjectOf()
	}
	if k.badElement(0, pair, lists) {
		return k.wrong(0, "fromPairs expects pairs [name, value], got %s", k.typeOf(0).Article())
	}
	var values *schema.Type
	for _, one := range pair.Each() {
		if one.Tuple != nil && len(one.Tuple) != 2 || one.AlwaysEmpty() {
			return k.wrong(0, "fromPairs expects pairs [name, value], got lists of %s", diag.Count(len(one.Tuple), "element"))
		}
		name, value := one.Element(), one.Element()
		if one.Tuple != nil {
			name, value = one.Tuple[0], one.Tuple[1]
		} else {
			k.c.mustKnow(k.args[0], anyType, "fromPairs can't be checked: nothing says that each list in it has two elements")
		}
		switch {
		case name.MayBeNull():
			return k.c.report(k.c.issueOver(k.args[0], CodeNull, "the names that fromPairs gives may be null").hint("give a value for that case with `??`"))
		case misfit(name, scalars) != nil:
			return k.wrong(0, "%s can't name a field", misfit(name, scalars).Article())
		}
		k.c.mustKnow(k.args[0], name, "fromPairs can't be checked: its names are of any kind")
		values = joined(values, value)
	}
	return schema.MapOf(values)
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
	t, exists := follow(k.typeOf(0), path, k.c.strict)
	switch {
	case !exists:
		return anyType
	case t.Secret:
		return k.c.report(k.c.issueOver(k.node, CodeSecret, "`%s` is a secret, which can't be used in an expression", path))
	}
	return schema.Nullable(t)
}

func integerLiteral(node ast.Node) (int, bool) {
	switch n := node.(type) {
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.UnaryNode:
		if inner, ok := n.Node.(*ast.IntegerNode); ok && n.Operator == "-" {
			return -inner.Value, true
		}
	}
	return 0, false
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
		m := machine{steps: maxSteps, from: Limits{}.budget()}
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
