package check

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// Check checks the authored tree against the catalog and returns the plan, or
// nil when there are errors. It reports all problems at once, in file order.
// tree may be nil or have left out parts: spec.Parse reported those.
func Check(ctx context.Context, tree *spec.Workflow, catalog Catalog) (*plan.Workflow, diag.List) {
	if tree == nil {
		return nil, nil
	}
	c := newChecker(ctx, tree, catalog)
	c.run()
	c.problems.Sort()
	if c.problems.HasErrors() {
		return nil, c.problems
	}
	return c.plan, c.problems
}

// Strict checks a workflow that Check found no errors in once more, and reports
// what may fail all the same by a type, by null or by a place that a list has not
// (`validate --strict`): each expression of which the type stays unknown, and what
// Check only warns of.
func Strict(ctx context.Context, tree *spec.Workflow, catalog Catalog) diag.List {
	c := newChecker(ctx, tree, catalog)
	c.strict = true
	c.run()
	c.problems.Sort()
	return slices.DeleteFunc(c.problems, func(p diag.Problem) bool { return p.Severity != diag.Error })
}

func newChecker(ctx context.Context, tree *spec.Workflow, catalog Catalog) *checker {
	c := &checker{
		ctx:        ctx,
		tree:       tree,
		catalog:    catalog,
		texts:      map[*spec.Node]*text{},
		actions:    map[string]*action{},
		byID:       map[string]*step{},
		chosen:     map[string]chosen{},
		undeclared: map[string]bool{},
		plan:       &plan.Workflow{Format: plan.FormatVersion, File: tree.File, Source: string(tree.Source)},
	}
	if project, ok := catalog.(LimitCatalog); ok {
		c.plan.Limits = project.Limits()
	}
	return c
}

// checker holds what the rules share while one workflow is checked.
type checker struct {
	ctx      context.Context
	tree     *spec.Workflow
	catalog  Catalog
	problems diag.List
	strict   bool // what stays unknown is an error
	foreign  []foreign
	asserts  bool // some step is a core.assert
	round    int  // counts walks over edges
	walked   int  // counts edges that were looked at

	texts      map[*spec.Node]*text
	actions    map[string]*action
	byID       map[string]*step
	chosen     map[string]chosen // the connection of a plugin where a step names none, by plugin
	undeclared map[string]bool   // inputs that were told
	main       *list
	inputs     *schema.Type
	memory     memory      // what the workflow keeps between runs
	brought    brought     // by its triggers
	roots      *eval.Scope // names that every step sees
	retry      plan.Retry  // of `defaults`
	timeout    time.Duration
	plan       *plan.Workflow
}

// run applies the rules. What a later rule builds on comes first: names before
// references, references before types.
func (c *checker) run() {
	c.head()
	c.defaults()
	c.inputSchema()
	c.stateSchema()
	c.triggers()
	c.roots = c.rootScope()

	c.main = c.newList(c.tree.Steps, nil, handlerNone)
	handlers := []*list{
		c.newList(c.tree.OnSuccess, nil, handlerOnSuccess),
		c.newList(c.tree.OnFailure, nil, handlerOnFailure),
		c.newList(c.tree.Finally, nil, handlerFinally),
	}
	lists := append([]*list{c.main}, handlers...)
	c.asserts = slices.ContainsFunc(lists, usesAssert)
	for _, l := range lists {
		c.writtenIDs(l)
	}
	for _, l := range lists {
		c.defaultIDs(l)
	}
	for _, l := range lists {
		c.needs(l)
	}
	for _, l := range lists {
		c.cycles(l)
		c.rank(l)
	}
	for _, l := range lists {
		c.reads(l)
	}
	c.askAhead(lists)
	c.plan.Steps = c.steps(c.main)
	c.plan.OnSuccess = c.steps(handlers[0])
	c.plan.OnFailure = c.steps(handlers[1])
	c.plan.Finally = c.steps(handlers[2])
	c.outputs()
	c.concurrency()
	c.reportForeign()
	c.plan.Actions = c.usedActions()
	c.plan.Connections = c.readConnections()
}

// readConnections are the project's connections, when an expression reads
// `connections`: a run goes by what they were when it began.
func (c *checker) readConnections() map[string]string {
	for _, text := range c.texts {
		for _, p := range text.parts {
			if p.parsed == nil {
				continue
			}
			reads := p.parsed.Reads()
			if slices.ContainsFunc(reads, func(r eval.Read) bool { return r.Path[0] == "connections" }) {
				return maps.Clone(c.catalog.Connections())
			}
		}
	}
	return nil
}

func (c *checker) usedActions() map[string]*plan.Action {
	used := map[string]*plan.Action{}
	for name, a := range c.actions {
		if a != nil {
			used[name] = a.plan
		}
	}
	return used
}

// errorAt reports an error.
func (c *checker) errorAt(pos diag.Pos, code, format string, args ...any) *diag.Problem {
	return c.problems.Errorf(pos, code, format, args...)
}

func position(pos diag.Pos) plan.Pos { return plan.Pos{Line: pos.Line, Column: pos.Column} }

func literal(data json.RawMessage) plan.Value {
	return plan.Value{Kind: plan.ValueLiteral, Literal: data}
}
