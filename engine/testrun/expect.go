package testrun

import (
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// wantedThat reads the expectations and checks their types: a misspelled name is
// told before anything runs.
func (b *binder) wantedThat(w *wanted, node *spec.Node) {
	nodes := []*spec.Node{node}
	if node.Kind == spec.Sequence {
		nodes = node.Items
	}
	for _, n := range nodes {
		if !b.scalar(n, "an expression") {
			if n.Kind == spec.Mapping {
				b.problems[len(b.problems)-1].Hint = diag.Say("put an expression with `: ` in it in quotes")
			}
			continue
		}
		source, offset, issue := eval.Bare(n.Text)
		if issue != nil {
			b.issue(n, 0, *issue)
			continue
		}
		parsed, issues := eval.Parse(source)
		if parsed == nil && n.CutByComment() {
			b.problems.Errorf(n.Pos, CodeExpression, "a ` #` cuts the expression off").Hint = diag.Say("put the expression in quotes")
			continue
		}
		if parsed != nil {
			if !b.stepsRead(n, offset, parsed) {
				continue
			}
			issues = parsed.CheckCondition(b.scope(parsed))
		}
		for _, issue := range issues {
			b.issue(n, offset, issue)
		}
		if len(issues) == 0 {
			w.that = append(w.that, expectation{node: n, offset: offset, source: source, parsed: parsed})
		}
	}
}

func (b *binder) issue(n *spec.Node, offset int, issue eval.Issue) {
	problem := b.problems.Errorf(n.Span(offset+issue.Start, offset+issue.End), CodeExpression, "%s", issue.Message)
	problem.Hint = issue.Hint
	if issue.Hint.Text == "" && n.IsPlain() && strings.Contains(issue.Message, "not closed") {
		problem.Hint = diag.Say("inside { } and [ ] of YAML a comma ends the text: put the expression in quotes")
	}
}

// stepsRead reports steps of an expectation that the workflow does not have; a
// path with an item's key is written steps["domains[a].whois"].
func (b *binder) stepsRead(n *spec.Node, offset int, parsed *eval.Expression) bool {
	ok := true
	for _, read := range parsed.Reads() {
		if read.Path[0] != "steps" || len(read.Path) < 2 || b.steps.find(read.Path[1]) != nil {
			continue
		}
		ok = false
		place := read.Places[1]
		problem := b.problems.Errorf(n.Span(offset+place[0], offset+place[1]), CodeUnknownStep, "the workflow has no step `%s`", read.Path[1])
		problem.Hint = b.nearSteps(read.Path[1], func(*stepInfo) bool { return true })
	}
	return ok
}

// scope holds what an expectation sees. Values are those that `run -o json`
// prints, so times are text; what may be null is of no known type, so that a test
// needs no `?.`.
func (b *binder) scope(x *eval.Expression) *eval.Scope {
	any, text, number := &schema.Type{}, schema.Of(schema.String), schema.Of(schema.Int)
	var outputs []schema.Field
	for _, output := range b.workflow.Outputs {
		outputs = append(outputs, schema.Required(output.Name, any))
	}
	call := schema.ObjectOf(
		schema.Required("step", text), schema.Required("action", text), schema.Required("connection", text),
		schema.Required("input", any), schema.Required("attempt", number), schema.Required("cursor", text),
		schema.Required("at", text), schema.Required("after_s", schema.Of(schema.Number)), schema.Required("answer", text),
	)
	delivery := schema.ObjectOf(
		schema.Required("output", text), schema.Required("to", text), schema.Required("action", text), schema.Required("connection", text), schema.Required("input", any),
	)
	log := schema.ObjectOf(
		schema.Required("level", text), schema.Required("step", text), schema.Required("message", text), schema.Required("at", text),
	)
	run := schema.ObjectOf(
		schema.Required("id", text), schema.Required("workflow", text),
		schema.Required("status", schema.EnumOf("succeeded", "failed", "paused", "canceled", "timed_out", "waiting", "running")),
		schema.Required("paused", text), schema.Required("scheduled_at", text), schema.Required("started_at", text),
		schema.Required("finished_at", text), schema.Required("duration_s", schema.Of(schema.Number)), schema.Required("attempt", number),
		schema.Required("trigger", text),
	)
	inputs := any
	if t, err := schema.FromJSON(b.workflow.Inputs); err == nil {
		inputs = relaxed(t)
	}
	return eval.NewScope().With("run", run).With("inputs", inputs).With("outputs", orAny(outputs)).With("error", any).
		With("steps", b.stepsType(x)).With("calls", schema.ListOf(call)).With("logs", schema.ListOf(log)).With("deliveries", schema.ListOf(delivery)).With("state", any).With("cursors", any)
}

func orAny(fields []schema.Field) *schema.Type {
	if len(fields) == 0 {
		return &schema.Type{}
	}
	return schema.ObjectOf(fields...)
}

// stepsType knows the steps that an expression reads, those of items by their
// paths, and for "did you mean" all that are not in a loop.
func (b *binder) stepsType(x *eval.Expression) *schema.Type {
	var fields []schema.Field
	set := map[string]bool{}
	add := func(path string) {
		if info := b.steps.find(path); info != nil && !set[path] {
			set[path] = true
			fields = append(fields, schema.Required(path, stepType(info.outputsType())))
		}
	}
	for _, info := range b.steps.list {
		if !info.loop && runs.ParsePath(info.path).Handler == "" {
			add(info.path)
		}
	}
	for _, read := range x.Reads() {
		if len(read.Path) > 1 && read.Path[0] == "steps" {
			add(read.Path[1])
		}
	}
	return schema.ObjectOf(fields...)
}

func stepType(outputs *schema.Type) *schema.Type {
	return schema.ObjectOf(
		schema.Required("status", schema.EnumOf(stepStatuses()...)), schema.Required("outputs", outputs),
		schema.Required("error", &schema.Type{}), schema.Required("attempts", schema.Of(schema.Int)), schema.Required("calls", schema.Of(schema.Int)),
	)
}

// outputsType is the type of steps.x.outputs as expectations see it.
func (i *stepInfo) outputsType() *schema.Type {
	any := &schema.Type{}
	switch {
	case i.step.Kind == plan.StepLet:
		var fields []schema.Field
		for _, binding := range i.step.Let {
			fields = append(fields, schema.Required(binding.Name, any))
		}
		return orAny(fields)
	case i.step.Kind == plan.StepLoop:
		return schema.ObjectOf(schema.Required("items", schema.ListOf(any)), schema.Required("errors", schema.ListOf(any)))
	case i.step.Kind != plan.StepAction, i.output == nil:
		return any
	case i.step.Paginate == nil:
		return relaxed(i.output)
	}
	items := schema.ListOf(any)
	if name, ok := i.itemsField(); ok && name != "" {
		if t, exists := i.output.Field(name); exists {
			items = relaxed(schema.NonNull(t))
		}
	}
	return schema.ObjectOf(
		schema.Required("items", items), schema.Required("next_cursor", any), schema.Required("pages", schema.Of(schema.Int)),
		schema.Required("truncated", schema.Of(schema.Bool)), schema.Required("windows", any),
	)
}

// relaxed is a type as JSON shows its values, with nothing known of what may be
// null or missing.
func relaxed(t *schema.Type) *schema.Type {
	switch {
	case t.Nullable || t.Secret || t.Kind == schema.Any || t.Kind == schema.Null:
		return &schema.Type{}
	case t.Kind == schema.Time, t.Kind == schema.Duration:
		return schema.Of(schema.String)
	case t.Kind == schema.List:
		return schema.ListOf(relaxed(t.Element()))
	case t.Kind != schema.Object:
		return t
	case len(t.Fields) == 0:
		return &schema.Type{}
	}
	clone := &schema.Type{Kind: schema.Object}
	if t.Additional != nil {
		clone.Additional = &schema.Type{}
	}
	for _, f := range t.Fields {
		field := schema.Required(f.Name, relaxed(f.Type))
		if !f.Required {
			field.Type = &schema.Type{}
		}
		clone.Fields = append(clone.Fields, field)
	}
	return clone
}
