package check

import (
	"encoding/json"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// ProjectCatalog is a Catalog that knows the project's workflows. Without it
// the workflow of an `after` is not looked up, and its outputs may be anything.
type ProjectCatalog interface {
	// WorkflowNames returns the names of the project's workflows; nil when there
	// is no project.
	WorkflowNames() []string
	// WorkflowOutputs returns the JSON Schema of a workflow's outputs; empty when
	// it is not known, since the workflow has errors or is being checked.
	WorkflowOutputs(name string) json.RawMessage
}

// after checks a trigger that follows another workflow's runs.
func (t *trigger) after(node *spec.Node) {
	const succeeded = string(runs.RunSucceeded)
	c, out := t.c, &plan.After{Status: []string{succeeded}}
	t.out.After = out
	outputs := schema.Of(schema.Any)
	c.fields(node, "after", map[string]reader{
		"workflow": func(key *spec.Key, n *spec.Node) { outputs = c.followed(key, n, out) },
		"status":   func(key *spec.Key, n *spec.Node) { c.afterStatus(key, n, out) },
	})
	if slices.ContainsFunc(out.Status, func(s string) bool { return s != succeeded }) {
		outputs = schema.Nullable(outputs) // a run that did not succeed has none
	}
	t.reads = []string{triggerKey}
	t.scope = t.scope.With(triggerKey, triggerType(brought{outputs: outputs}, false))
	c.brought.outputs = joinedType(c.brought.outputs, outputs)
}

// followed finds the workflow that a trigger follows and the type of its
// outputs.
func (c *checker) followed(key *spec.Key, node *spec.Node, out *plan.After) *schema.Type {
	unknown := schema.Of(schema.Any)
	if !c.scalar(node, key.What) {
		return unknown
	}
	name := node.Text
	out.Workflow = name
	if name == c.plan.Name {
		c.errorAt(node.Pos, CodeTriggerAfter, "a workflow can't follow itself").Hint = diag.Say("its runs would never end")
		return unknown
	}
	projectCatalog, ok := c.catalog.(ProjectCatalog)
	if !ok {
		return unknown
	}
	names := projectCatalog.WorkflowNames()
	if names == nil {
		return unknown
	}
	if !slices.Contains(names, name) {
		c.errorAt(node.Pos, CodeTriggerAfter, "the project has no workflow `%s`", name).Hint = diag.DidYouMean(name, names)
		return unknown
	}
	text := projectCatalog.WorkflowOutputs(name)
	if len(text) == 0 {
		return unknown
	}
	t, err := schema.FromJSON(text)
	if err != nil {
		return unknown
	}
	return t
}

// afterStatus reads one status or a list of them.
func (c *checker) afterStatus(key *spec.Key, node *spec.Node, out *plan.After) {
	nodes := []*spec.Node{node}
	switch node.Kind {
	case spec.Sequence:
		nodes = node.Items
		if len(nodes) == 0 {
			c.errorAt(node.Pos, CodeShape, "`status` needs at least one status")
			return
		}
	case spec.Mapping:
		c.errorAt(node.Pos, CodeShape, "`status` is one status or a list, not a map")
		return
	}
	var status []string
	for _, n := range nodes {
		word, ok := c.word(key, n)
		switch {
		case !ok:
		case slices.Contains(status, word):
			c.errorAt(n.Pos, CodeWord, "`%s` is written twice", word)
		default:
			status = append(status, word)
		}
	}
	if len(status) > 0 {
		out.Status = status
	}
}

// triggerType is `trigger`: in a run, what every kind of trigger may have
// brought, so that it may be absent; in an `after` itself it is there.
func triggerType(b brought, inRun bool) *schema.Type {
	kinds := append([]string{string(plan.TriggerManual)}, triggerKinds()...)
	fields := []schema.Field{
		schema.Required("name", schema.Of(schema.String)), schema.Required("kind", schema.EnumOf(kinds...)),
		schema.Required("at", schema.Of(schema.Time)),
	}
	add := func(name string, t *schema.Type) {
		if t == nil {
			return
		}
		if inRun {
			t = schema.Nullable(t)
		}
		fields = append(fields, schema.Required(name, t))
	}
	add("outputs", b.outputs)
	add("item", b.item)
	return schema.ObjectOf(fields...)
}
