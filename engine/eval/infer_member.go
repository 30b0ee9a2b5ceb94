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
	if short && !t.Secret {
		return schema.Nullable(t)
	}
	return t
}

// member infers a.b and a[b]. short is set when the chain may end early.
func (c *checker) member(n *ast.MemberNode, scope *Scope, short *bool) *schema.Type {
	var base *schema.Type
	if inner, ok := n.Node.(*ast.MemberNode); ok {
		base = c.member(inner, scope, short)
	} else {
		base = c.infer(n.Node, scope)
	}
	base, ok := c.readable(n, base, short)
	if !ok {
		c.property(n, scope)
		return anyType
	}
	t := c.memberOf(n, base, scope)
	if path, ok := memberPath(n); ok {
		t = scope.refine(path, t)
	}
	return t
}

// readable takes null off the type of what a member is read of; false when that
// can't be read.
func (c *checker) readable(n *ast.MemberNode, base *schema.Type, short *bool) (*schema.Type, bool) {
	switch {
	case base.Secret:
		c.report(c.issueOver(n.Node, CodeSecret, "%s is a secret, of which nothing can be read", c.text(n.Node)))
		return nil, false
	case !base.MayBeNull():
		if n.Optional && base.Kind == schema.Any {
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
	if name, ok := n.Property.(*ast.StringNode); ok {
		start, end := c.x.span(n.Node)
		issue.Hint = "read it with `" + c.x.source[start:end] + "?." + name.Value + "`, and give a value for that case with `??`"
		if len(c.x.source[start:end]) > 60 {
			issue.Hint = "read it with `?.`, and give a value for that case with `??`"
		}
	} else {
		issue.Hint = "read it with `?.[`, and give a value for that case with `??`"
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
	index := c.present(n.Property, scope)
	switch {
	case base.Kind == schema.Any:
		return c.blind(n.Node, base, func() *Issue {
			return c.issueOver(n.Property, CodeAny, "nothing is known of %s, so that its elements can't be checked", c.text(n.Node)).
				hint("get(x, place) reads one as it comes; string(x), int(x), float(x) make a known type of it")
		})
	case base.Kind == schema.List:
		if index.Kind != schema.Int && index.Kind != schema.Any {
			return c.report(c.issueOver(n.Property, CodeMember, "a list's place must be an integer, got %s", index.Article()))
		}
		return c.placeOf(n, base)
	case base.Kind == schema.Object:
		if index.Kind != schema.String && index.Kind != schema.Any {
			return c.report(c.issueOver(n.Property, CodeMember, "a field's name must be text, got %s", index.Article()))
		}
		return c.anyField(base, index)
	case base.Kind == schema.String:
		return c.report(c.issueAt(n, CodeMember, "text has no elements").hint("x[0:1] is its first character"))
	}
	return c.report(c.issueAt(n, CodeMember, "%s has no elements", base.Article()))
}

// blind is the type of what is read of a value that nothing is known of; the
// strict check refuses it. A part that is wrong already says nothing more.
func (c *checker) blind(node ast.Node, base *schema.Type, issue func() *Issue) *schema.Type {
	if c.strict && base.Alternatives == nil && !c.failedIn(node) {
		c.report(issue())
	}
	return anyType
}

// failedIn reports whether something was found inside a node.
func (c *checker) failedIn(node ast.Node) bool {
	start, end := c.x.span(node)
	return slices.ContainsFunc(c.issues, func(i Issue) bool { return i.Start >= start && i.End <= end })
}

// placeOf is the type of one element of a list: by its place where that is
// written out and the list is known place by place.
func (c *checker) placeOf(n *ast.MemberNode, base *schema.Type) *schema.Type {
	place, literal := integerLiteral(n.Property)
	switch {
	case !literal || base.Tuple == nil:
		return base.Element()
	case place >= len(base.Tuple):
		return c.report(c.issueOver(n.Property, CodeMember, "this list has %d elements, the last one is [%d]", len(base.Tuple), len(base.Tuple)-1))
	}
	return base.Tuple[place]
}

// anyField is the type of a field whose name is computed.
func (c *checker) anyField(base, index *schema.Type) *schema.Type {
	if len(index.Enum) == 1 {
		if name, ok := index.Enum[0].(string); ok {
			if t, known := base.Field(name); known {
				return t
			}
		}
	}
	return fieldJoin(base)
}

// fieldJoin is what any field of an object may be, or null when there is none
// of the name.
func fieldJoin(base *schema.Type) *schema.Type {
	t := base.Additional
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
		return c.report(c.issueAt(n.Property, CodeMember, "%s is a list, which has no field `%s`", c.text(n.Node), name).
			hint("x[0].%s reads one element, map(x, .%s) all", name, name))
	case schema.Time, schema.Duration:
		if _, ok := methodTable()[base.Kind][name]; ok {
			return c.report(c.issueAt(n.Property, CodeMember, "`%s` must be called", name).hint("write `.%s()`", name))
		}
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
	issue.Hint = diag.DidYouMean(name, names)
	if issue.Hint == "" && len(names) > 0 && len(names) <= 8 {
		issue.Hint = "it has " + joinNames(names)
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
		if t := c.present(bound, scope); t.Kind != schema.Int && t.Kind != schema.Any {
			c.report(c.issueOver(bound, CodeMember, "a place must be an integer, got %s", t.Article()))
		}
	}
	switch base.Kind {
	case schema.Any:
		return anyType
	case schema.String:
		return schema.Of(schema.String)
	case schema.List:
		return schema.ListOf(base.Element())
	}
	return c.report(c.issueAt(n, CodeMember, "%s has no parts", base.Article()))
}
