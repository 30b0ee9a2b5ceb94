package eval

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// chain is a group of members that ends early, with null, where a `?.` meets
// null.
func (c *checker) chain(n *ast.ChainNode, scope *Scope) *schema.Type {
	short := false
	var t *schema.Type
	switch inner := n.Node.(type) {
	case *ast.MemberNode:
		t = c.member(inner, scope, &short)
	case *ast.CallNode:
		t = c.methodCall(inner, scope, &short)
	default:
		return c.infer(n.Node, scope)
	}
	if t == skipped {
		return schema.Of(schema.Null)
	}
	if short && !t.Secret {
		return schema.Nullable(t)
	}
	return t
}

// skipped is the type of what stands in a chain behind a `?.` whose object is
// always null: it is never read, and the chain gives null.
var skipped = &schema.Type{Kind: schema.Null}

// member infers a.b and a[b]. short is set when the chain may end early.
func (c *checker) member(n *ast.MemberNode, scope *Scope, short *bool) *schema.Type {
	if n.Optional {
		c.handle(n.Node)
	}
	base := c.base(n, scope, short)
	present, ok := c.readable(n, base, short)
	if !ok {
		c.property(n, scope)
		return unread(n, base)
	}
	t := c.memberOf(n, present, scope)
	if path, ok := memberPath(n); ok {
		t = scope.refine(path, t)
	}
	return t
}

// unread is the type of a member whose object can't be read: of null behind `?.`
// nothing is read, and nothing is wrong.
func unread(n *ast.MemberNode, base *schema.Type) *schema.Type {
	if base == skipped || n.Optional && base.Kind == schema.Null {
		return skipped
	}
	return Faulty
}

// base is the type of what a member is read of.
func (c *checker) base(n *ast.MemberNode, scope *Scope, short *bool) *schema.Type {
	if inner, ok := n.Node.(*ast.MemberNode); ok {
		return c.member(inner, scope, short)
	}
	return c.infer(n.Node, scope)
}

// readable takes null off the type of what a member is read of; false when that
// can't be read.
func (c *checker) readable(n *ast.MemberNode, base *schema.Type, short *bool) (*schema.Type, bool) {
	switch {
	case base == skipped:
		return nil, false
	case base.Secret:
		c.report(c.issueOver(n.Node, CodeSecret, "%s is a secret, of which nothing can be read", c.text(n.Node)))
		return nil, false
	case !base.MayBeNull():
		if n.Optional && !base.Known() {
			*short = true
		}
		return base, true
	case n.Optional:
		*short = true
		if base.Kind == schema.Null {
			return nil, false
		}
		return schema.NonNull(base), true
	}
	issue := c.issueAt(n.Property, CodeNull, "%s may be absent here", c.text(n.Node))
	if c.countedOrNone(n, base, issue) {
		return nil, false
	}
	if name, ok := n.Property.(*ast.StringNode); ok {
		start, end := c.x.span(n.Node)
		issue.Hint = diag.Say("read it with `" + c.x.source[start:end] + "?." + name.Value + "`, and give a value for that case with `??`")
		if len(c.x.source[start:end]) > 60 {
			issue.Hint = diag.Say("read it with `?.`, and give a value for that case with `??`")
		}
	} else {
		issue.Hint = diag.Say("read it with `?.[`, and give a value for that case with `??`")
	}
	c.report(issue)
	return nil, false
}

// property looks at a computed name whose object is in error already.
func (c *checker) property(n *ast.MemberNode, scope *Scope) {
	if _, literal := n.Property.(*ast.StringNode); !literal {
		c.value(n.Property, scope)
	}
}

func (c *checker) memberOf(n *ast.MemberNode, base *schema.Type, scope *Scope) *schema.Type {
	if name, literal := n.Property.(*ast.StringNode); literal {
		return c.field(n, name.Value, base)
	}
	index, known := c.present(n.Property, scope), len(c.issues)
	var t *schema.Type
	for _, one := range base.Each() {
		t = joined(t, c.elementOf(n, one, index, scope))
		if c.failedSince(known) {
			return Faulty
		}
	}
	return t
}

// elementOf is memberOf for a computed name or place and one kind of base.
func (c *checker) elementOf(n *ast.MemberNode, base, index *schema.Type, scope *Scope) *schema.Type {
	switch base.Kind {
	case schema.Any:
		return c.blind(n.Node, base, func() *Issue {
			return c.issueOver(n.Property, CodeAny, "nothing is known of %s, so that its elements can't be checked", c.text(n.Node)).
				hint("get(x, place) reads one as it comes; string(x), int(x), float(x) make a known type of it")
		})
	case schema.List:
		if wrong := misfit(index, integers); wrong != nil {
			return c.report(c.issueOver(n.Property, CodeMember, "a list's place must be an integer, got %s", wrong.Article()))
		}
		c.mustKnow(n.Property, index, "the place can't be checked")
		return c.placeOf(n, base, scope)
	case schema.Object:
		if wrong := misfit(index, texts); wrong != nil {
			return c.report(c.issueOver(n.Property, CodeMember, "a field's name must be text, got %s", wrong.Article()))
		}
		c.mustKnow(n.Property, index, "the name can't be checked")
		return c.anyField(base, index)
	case schema.String:
		return c.report(c.issueAt(n, CodeMember, "text has no elements").hint("x[0:1] is its first character"))
	}
	return c.report(c.issueAt(n, CodeMember, "%s has no elements", base.Article()))
}

// blind is the type of what is read of a value that nothing is known of; the
// strict check refuses it. A part that is wrong already says nothing more.
func (c *checker) blind(node ast.Node, base *schema.Type, issue func() *Issue) *schema.Type {
	switch {
	case base == Faulty:
		return Faulty
	case c.strict && !c.failedIn(node):
		return c.report(issue())
	}
	return anyType
}

// failedIn reports whether something was found inside a node.
func (c *checker) failedIn(node ast.Node) bool {
	start, end := c.x.span(node)
	return slices.ContainsFunc(c.issues, func(i Issue) bool { return !i.Warning && i.Start >= start && i.End <= end })
}

// placeOf is the type of one element of a list: by its place where that is
// written out and the list is known place by place.
func (c *checker) placeOf(n *ast.MemberNode, base *schema.Type, scope *Scope) *schema.Type {
	place, literal := integerLiteral(n.Property)
	if literal && base.Tuple != nil {
		if place < 0 {
			place += len(base.Tuple)
		}
		if place < 0 || place >= len(base.Tuple) {
			return c.report(c.issueOver(n.Property, CodeMember, "this list has %s, the last one is [%d]", diag.Count(len(base.Tuple), "element"), len(base.Tuple)-1))
		}
		return base.Tuple[place]
	}
	needed := placeNeeds(n, place, literal, scope)
	switch {
	case base.AlwaysEmpty():
		return c.report(c.issueOver(n.Property, CodeMember, "this list is empty"))
	case needed > 0 && c.least(n.Node, base, scope) >= needed, scope.isPresent(n):
		return base.Element()
	case slices.Contains(c.handled, n):
		return schema.Nullable(base.Element())
	}
	if !c.failedIn(n.Node) {
		issue := c.issueOver(n.Property, CodePlace, "%s may have no element at this place", c.text(n.Node)).
			hint("give a value for that case with `??` or `?.`, or test `len(x) > 0` first")
		issue.Warning = !c.strict
		c.report(issue)
	}
	return base.Element()
}

// placeNeeds returns how many elements a list must have so that it has a place: 0
// where that can't be said.
func placeNeeds(n *ast.MemberNode, place int, literal bool, scope *Scope) int {
	if literal {
		return max(place+1, -place)
	}
	computed, ok := n.Property.(*ast.BinaryNode)
	if !ok {
		return 0
	}
	switch computed.Operator {
	case "-": // x[len(x) - 1]
		counted, isLen := lengthOf(computed.Left, scope)
		if back, isPlace := integerLiteral(computed.Right); isLen && isPlace && back >= 1 && samePath(counted, n.Node) {
			return back
		}
	case "%": // x[n % len(x)]
		if counted, isLen := lengthOf(computed.Right, scope); isLen && samePath(counted, n.Node) {
			return 1
		}
	}
	return 0
}

// handle notes that the expression provides for the absence of a list's place.
// That is seen from the tree alone, so that the program and the check agree.
func (c *checker) handle(node ast.Node) {
	if n := placeNode(node); n != nil {
		c.handled = append(c.handled, n)
	}
}

// tolerant is value for a place that `??` or a comparison provides for.
func (c *checker) tolerant(node ast.Node, scope *Scope) *schema.Type {
	c.handle(node)
	return c.value(node, scope)
}

// placeNode returns the node that reads x[i], nil for anything else.
func placeNode(node ast.Node) *ast.MemberNode {
	if chain, ok := node.(*ast.ChainNode); ok {
		node = chain.Node
	}
	n, ok := node.(*ast.MemberNode)
	if !ok || n.Method {
		return nil
	}
	if _, named := n.Property.(*ast.StringNode); named {
		return nil
	}
	return n
}

// anyField is the type of a field whose name is computed.
func (c *checker) anyField(base, index *schema.Type) *schema.Type {
	if len(index.Enum) == 0 || index.Kind != schema.String {
		return fieldJoin(base)
	}
	var t *schema.Type
	for _, one := range index.Enum {
		name, ok := one.(string)
		if !ok {
			return fieldJoin(base)
		}
		field, declared := base.Field(name)
		switch {
		case declared:
		case base.Open:
			field = schema.BeyondOrNull()
		default:
			field = schema.Of(schema.Null)
		}
		t = joined(t, field)
	}
	return t
}

// fieldJoin is what any field of an object may be, or null when there is none
// of the name.
func fieldJoin(base *schema.Type) *schema.Type {
	t := base.Additional
	if base.Open {
		t = schema.BeyondOrNull()
	}
	for _, field := range base.Fields {
		t = joined(t, field.Type)
	}
	if t == nil {
		return schema.Of(schema.Null)
	}
	if t.Secret {
		return t
	}
	return schema.Nullable(t)
}

func (c *checker) field(n *ast.MemberNode, name string, base *schema.Type) *schema.Type {
	var t *schema.Type
	known := len(c.issues)
	for _, one := range base.Each() {
		t = joined(t, c.fieldOf(n, name, one))
		if c.failedSince(known) {
			return Faulty
		}
	}
	return t
}

// fieldOf is field for one kind of base.
func (c *checker) fieldOf(n *ast.MemberNode, name string, base *schema.Type) *schema.Type {
	switch base.Kind {
	case schema.Any:
		return c.blind(n.Node, base, func() *Issue {
			return c.issueAt(n.Property, CodeAny, "nothing is known of %s, so that `%s` can't be checked", c.text(n.Node), name).
				hint("get(x, %q) reads it as it comes; string(x), int(x), float(x) make a known type of it", name)
		})
	case schema.Object:
		if t, ok := base.Field(name); ok {
			return t
		}
		return c.report(c.unknownField(n, name, base))
	case schema.List:
		if counted := c.counted(n, name, base); counted != nil {
			return c.report(counted)
		}
		return c.report(c.issueAt(n.Property, CodeMember, "%s is a list, which has no field `%s`", c.text(n.Node), name).
			hint("x[0].%s reads one element, map(x, .%s) all", name, name))
	case schema.Time, schema.Duration:
		if _, ok := methodTable()[base.Kind][name]; ok {
			return c.report(c.issueAt(n.Property, CodeMember, "`%s` must be called", name).hint("write `.%s()`", name))
		}
	}
	if counted := c.counted(n, name, base); counted != nil {
		return c.report(counted)
	}
	return c.report(c.issueAt(n.Property, CodeMember, "%s is %s, which has no field `%s`", c.text(n.Node), base.Article(), name))
}

func (c *checker) unknownField(n *ast.MemberNode, name string, base *schema.Type) *Issue {
	of := ""
	if owner := c.text(n.Node); owner != "this" {
		of = " in " + owner
	}
	issue := c.issueAt(n.Property, CodeField, "unknown field `%s`%s", name, of)
	names := base.FieldNames()
	if outputs, ok := base.Field("outputs"); ok && of != "" {
		if _, ok := schema.NonNull(outputs).Field(name); ok {
			start, _ := c.x.at(n.Property)
			return issue.hint("write `outputs.%s`", name).mend(true, Change{start, start, "outputs."})
		}
		if name == "outcome" || name == "conclusion" || name == "result" || name == "state" {
			return c.outcome(n, issue)
		}
	}
	issue.Hint = diag.DidYouMean(name, names)
	if issue.Hint.Text == "" && len(names) > 0 && len(names) <= 8 {
		issue.Hint = diag.Say("it has " + joinNames(names))
	}
	return issue
}

func joinNames(names []string) string {
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

func (c *checker) slice(n *ast.SliceNode, scope *Scope) *schema.Type {
	base := c.present(n.Node, scope)
	for _, bound := range []ast.Node{n.From, n.To} {
		if bound == nil {
			continue
		}
		t := c.present(bound, scope)
		if wrong := misfit(t, integers); wrong != nil {
			c.report(c.issueOver(bound, CodeMember, "a place must be an integer, got %s", wrong.Article()))
		}
		c.mustKnow(bound, t, "the place can't be checked")
	}
	c.mustKnow(n.Node, base, "its parts can't be checked")
	if wrong := misfit(base, texts|lists); wrong != nil {
		return c.report(c.issueAt(n, CodeMember, "%s has no parts", wrong.Article()))
	}
	var t *schema.Type
	for _, one := range base.Each() {
		part := schema.Of(one.Kind)
		if one.Kind == schema.List && !one.AlwaysEmpty() {
			part = schema.ListOf(one.Element())
		}
		t = joined(t, part)
	}
	return t
}
