package check

import (
	"context"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// WorkflowCatalog is a Catalog that can read the workflows which steps call.
type WorkflowCatalog interface {
	// Workflow checks the workflow that `uses: path` names, relative to the file
	// that is being checked. name is its own in the plan. A fault says why there is
	// no plan of it.
	Workflow(ctx context.Context, path string) (name string, workflow *plan.Workflow, fault *WorkflowFault)
}

// WorkflowFault says why a sub-workflow can't be called.
type WorkflowFault struct {
	Code    string
	Message string
	Hint    diag.Hint
	Related []diag.Related
}

// isWorkflowPath reports whether `uses` names a file.
func isWorkflowPath(node *spec.Node) bool {
	return node != nil && node.Kind == spec.Scalar && (strings.HasPrefix(node.Text, "./") || strings.HasPrefix(node.Text, "../"))
}

// workflowStep checks a step that calls a workflow: its inputs and outputs are the
// action's schema (docs/language.md, rule 19).
func (c *checker) workflowStep(s *step) {
	table := c.tree.Language.Map("step")
	for _, pair := range s.src.Node.Pairs {
		key := pair.Key.Text
		if table.KeyOf(string(spec.ActionStep), key) != nil && table.KeyOf(spec.WorkflowStep, key) == nil {
			c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` does not belong to a workflow as a step", key).Hint =
				diag.Say("it takes `uses`, `with`, `timeout` and `on_error`; the workflow itself says the rest")
		}
	}
	c.timeouts(s)
	c.reactions(s, s.plan)
	s.action = c.workflowOf(s)
	if s.action == nil {
		c.unknownUse(s)
		return
	}
	s.plan.Uses = s.src.Uses.Text
	s.output = s.action.output
	if node := s.src.With; node != nil {
		v := &valuer{c: c, scope: c.scope(s, false, true), field: true}
		s.plan.With = v.value(node, s.action.input, "", false).plan
		return
	}
	if !s.src.Written("with") && !s.misspelt("with") && c.nothingWritten(s, s.action.input) {
		s.plan.With = literal([]byte("{}"))
	}
}

// workflowOf finds the workflow that a step calls; nil when there is none, which
// is reported.
func (c *checker) workflowOf(s *step) *action {
	node := s.src.Uses
	catalog, ok := c.catalog.(WorkflowCatalog)
	if !ok {
		c.errorAt(node.Pos, CodeWorkflowFile, "workflows as steps can't be read here").Hint = diag.Say("this check knows no files")
		return nil
	}
	if !c.static(node) {
		return nil
	}
	name, child, fault := catalog.Workflow(c.ctx, node.Text)
	if fault != nil {
		problem := c.errorAt(node.Pos, fault.Code, "%s", fault.Message)
		problem.Hint, problem.Related = fault.Hint, fault.Related
		return nil
	}
	a := &action{plan: &plan.Action{Name: node.Text, Effect: plan.EffectIdempotent}, input: schema.ObjectOf(), output: schema.ObjectOf()}
	for _, part := range []struct {
		text []byte
		into **schema.Type
	}{{child.Inputs, &a.input}, {child.OutputSchema, &a.output}} {
		if len(part.text) == 0 {
			continue
		}
		t, err := schema.FromJSON(part.text)
		if err != nil {
			c.errorAt(node.Pos, CodeWorkflowBroken, "the schema of `%s` can't be read: %s", node.Text, err.Error())
			return nil
		}
		*part.into = t
	}
	if c.plan.Workflows == nil {
		c.plan.Workflows = map[string]*plan.Workflow{}
	}
	c.plan.Workflows[name] = child
	s.plan.Workflow = name
	return a
}
