package check

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// poll checks a trigger that fires for new or changed items of an action.
func (t *trigger) poll(node *spec.Node) {
	c, out := t.c, &plan.Poll{}
	t.out.Poll = out
	nodes := map[string]*spec.Node{}
	read := func(key *spec.Key, n *spec.Node) { nodes[key.Name] = n }
	c.fields(node, "poll", map[string]reader{
		"uses": read, "with": read, "connection": read, "every": into(&out.Every, c.duration), "items": read, "key": read,
	})

	result := c.polled(node, nodes, out)
	elem := t.pollItems(nodes["items"], result, out)
	t.reads = []string{itemKey}
	t.scope = t.scope.With(itemKey, elem)
	t.pollKey(nodes["key"], out)
	c.brought.item = joinedType(c.brought.item, elem)
}

func joinedType(a, b *schema.Type) *schema.Type {
	if a == nil {
		return b
	}
	return schema.Join(a, b)
}

// polled checks the action that is asked, as a step's call of it, and returns
// the type of its outputs.
func (c *checker) polled(node *spec.Node, nodes map[string]*spec.Node, out *plan.Poll) *schema.Type {
	uses, with, connection := nodes["uses"], nodes["with"], nodes["connection"]
	if connection != nil && connection.Kind != spec.Scalar {
		c.errorAt(connection.Pos, CodeShape, "`connection` must be a single value, not a %s", connection.Kind)
		connection = nil
	}
	for _, n := range []*spec.Node{with, connection} {
		c.triggerReads(n)
	}
	if uses == nil || !c.scalar(uses, "an action") {
		return schema.Of(schema.Any)
	}
	if isWorkflowPath(uses) {
		c.errorAt(uses.Pos, CodeNotForAction, "a workflow can't be polled").Hint = diag.Say("a poll asks a plugin; `after` follows a workflow")
		return schema.Of(schema.Any)
	}
	roots := c.roots
	c.roots = c.triggerScope()
	defer func() { c.roots = roots }()
	s := &step{
		src:  &spec.Step{Node: node, Kind: spec.ActionStep, Uses: uses, With: with, Connection: connection},
		list: &list{}, plan: &plan.Step{}, readsAll: true,
	}
	s.action = c.actionOf(uses)
	if s.action == nil {
		c.unknownUse(s)
		return schema.Of(schema.Any)
	}
	switch effect := s.action.plan.Effect; {
	case s.action.builtin():
		c.errorAt(uses.Pos, CodeNotForAction, "`%s` can't be polled", uses.Text).Hint = diag.Say("a poll asks a plugin")
		return schema.Of(schema.Any)
	case effect != plan.EffectRead && effect != plan.EffectIdempotent:
		c.errorAt(uses.Pos, CodeNotForAction, "`%s` can't be polled: its effect is `%s`", uses.Text, effect).Hint =
			diag.Say("only actions that read, or that may be sent twice, can be polled")
	}
	result := s.action.output
	if narrowed := c.with(s); narrowed != nil {
		result = narrowed
	}
	c.connection(s)
	out.Uses, out.With, out.Connection, out.OutputSchema = uses.Text, s.plan.With, s.plan.Connection, s.plan.OutputSchema
	return result
}

// pollExpr checks a key of a poll that is one expression. The type is nil when a
// problem was reported.
func (c *checker) pollExpr(node *spec.Node, key, example string, scope *eval.Scope, root string) (*schema.Type, plan.Expr) {
	if node.Kind != spec.Scalar {
		c.errorAt(node.Pos, CodeShape, "`%s` must be an expression, not a %s", key, node.Kind).Hint = diag.Say("write `" + key + ": " + example + "`")
		return nil, plan.Expr{}
	}
	text := c.text(node)
	if !text.bad && text.whole == nil {
		c.errorAt(node.Pos, CodeTriggerItems, "`%s` must be one expression", key).Hint = diag.Say("write `" + key + ": " + example + "`")
		return nil, plan.Expr{}
	}
	c.triggerReads(node, root)
	v := valuer{c: c, scope: scope}
	out := v.value(node, nil, "", false)
	if v.bad || out.plan.Expr == nil {
		if !v.bad && out.plan.Kind == plan.ValueSecret {
			c.errorAt(node.Pos, CodeSecretText, "a secret can't stand here")
		}
		return nil, plan.Expr{}
	}
	return out.typ, *out.plan.Expr
}

// pollItems checks `items` and returns the type of one.
func (t *trigger) pollItems(node *spec.Node, result *schema.Type, out *plan.Poll) *schema.Type {
	unknown := schema.Of(schema.Any)
	if node == nil {
		return unknown
	}
	typ, expr := t.c.pollExpr(node, "items", "${{ result.items }}", t.scope.With(resultKey, result), resultKey)
	if typ == nil {
		return unknown
	}
	out.Items = expr
	switch {
	case typ.MayBeNull():
		t.c.errorAt(node.Pos, CodeTriggerItems, "the items of a poll may be null here").Hint = diag.Say("write `?? []` behind it")
	case typ.Kind == schema.List:
		return typ.Element()
	case typ.Known():
		t.c.errorAt(node.Pos, CodeTriggerItems, "the items of a poll must be a list, got %s", typ.Article())
	}
	return unknown
}

// pollKey checks the expression that tells the items apart.
func (t *trigger) pollKey(node *spec.Node, out *plan.Poll) {
	if node == nil {
		return
	}
	typ, expr := t.c.pollExpr(node, "key", "${{ item.id }}", t.scope, itemKey)
	if typ == nil {
		return
	}
	out.Key = expr
	switch {
	case typ.HasSecret():
		t.c.errorAt(node.Pos, CodeSecretText, "a secret can't be a key")
	case typ.MayBeNull():
		t.c.errorAt(node.Pos, CodeTriggerItems, "the key of an item may be null here").Hint = diag.Say("give a value for that case with `??`")
	case !isA(typ, schema.String, schema.Int):
		t.c.errorAt(node.Pos, CodeTriggerItems, "the key of an item must be text or an integer, got %s", typ.Article()).Hint = diag.Say("string(x) makes text of it")
	}
}
