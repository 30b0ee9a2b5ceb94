package preview

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

// previewer collects what the steps of a workflow need.
type previewer struct {
	project  *workspace.Workspace
	workflow *plan.Workflow
	options  Options
	result   *Preview
	used     []workspace.NamedConnection
	secrets  []string
	buckets  map[string]*previewBucket
	order    []string // of buckets, as they are met
}

// steps previews one list that runs so often. env has the inputs and the outputs
// that are known; it gains those of `let` steps. The sum bounds the calls of one
// pass, as those of the steps do.
func (v *previewer) steps(steps []plan.Step, env map[string]any, path string, run bounds) ([]Step, bounds) {
	shown := []Step{}
	total := bounds{}
	levels := plan.Levels(steps)
	for i := range steps {
		one := v.step(&steps[i], env, path, run)
		one.Level = levels[steps[i].ID]
		total = total.and(one.calls)
		shown = append(shown, one)
	}
	return shown, total
}

func (v *previewer) step(step *plan.Step, env map[string]any, path string, run bounds) Step {
	one := Step{
		ID: step.ID, Title: step.Title, Kind: step.Kind, After: step.Needs, Reads: step.Reads, Uses: step.Uses, Incremental: step.Incremental,
	}
	if step.RunIf != plan.RunIfOK {
		one.RunIf = step.RunIf
	}
	if step.Cache > 0 {
		one.Cache = schema.FormatDuration(step.Cache)
	}
	if step.If != nil {
		one.If = step.If.Source
		if value, exists := static(step.If.Source, env); exists {
			if holds, ok := value.(bool); ok {
				one.IfValue = &holds
			}
		}
	}
	switch step.Kind {
	case plan.StepLoop:
		own := v.chance(&one)
		v.loop(&one, step, env, path, own, run.by(own))
	case plan.StepLet, plan.StepSetState:
		v.values(&one, step, env)
	default:
		own := v.chance(&one)
		v.action(&one, step, env, path, own, run.by(own))
	}
	return one
}

// chance bounds how often a step is reached in one pass of its list, by its
// conditions.
func (v *previewer) chance(one *Step) bounds {
	switch {
	case one.IfValue != nil && !*one.IfValue:
		return bounds{}
	case one.RunIf != "" || one.If != "" && one.IfValue == nil:
		return bounds{least: 0, most: 1}
	}
	return bounds{least: 1, most: 1}
}

// values shows the values of a `let` or `set_state`. Those of a `let` that all
// are known, and that surely runs, are known to the steps after it.
func (v *previewer) values(one *Step, step *plan.Step, env map[string]any) {
	inside := maps.Clone(env)
	outputs, shown := map[string]any{}, map[string]any{}
	one.Static = true
	for _, binding := range step.Let {
		value, ok := v.value(binding.Value, inside)
		shown[binding.Name] = value
		if !ok {
			one.Static = false
			delete(inside, binding.Name)
			continue
		}
		outputs[binding.Name] = value
		if step.Kind == plan.StepLet {
			inside[binding.Name] = value
		}
	}
	one.Values = encoded(shown)
	sure := one.RunIf == "" && (one.If == "" || one.IfValue != nil && *one.IfValue)
	if step.Kind == plan.StepLet && sure && one.Static {
		env["steps"].(map[string]any)[step.ID] = map[string]any{"outputs": outputs, "status": string(runs.StepSucceeded), "error": nil, "attempts": 1}
	}
}

func (v *previewer) loop(one *Step, step *plan.Step, env map[string]any, path string, own, run bounds) {
	list, ok := v.value(step.Loop.Foreach, env)
	items, isList := list.([]any)
	one.Values = encoded(map[string]any{"foreach": list})
	each := bounds{least: 0, most: -1}
	if one.Static = ok && isList; one.Static {
		n := plan.Batches(len(items), step.Loop.Batch)
		one.Items, each = &n, bounds{n, n}
	}
	inside := map[string]any{"inputs": env["inputs"], "steps": maps.Clone(env["steps"].(map[string]any))}
	var calls bounds
	one.Steps, calls = v.steps(step.Loop.Steps, inside, path+step.ID+".", run.by(each))
	one.sends(calls.by(each).by(own))
}

func (v *previewer) action(one *Step, step *plan.Step, env map[string]any, path string, own, run bounds) {
	with, ok := v.value(step.With, env)
	if one.Static = ok; !step.With.IsZero() {
		one.With = encoded(with)
	}
	if step.Workflow != "" {
		v.child(one, step, v.knownInputs(step, env), path, own, run)
		return
	}
	action := v.workflow.Actions[step.Uses]
	if action == nil || action.Plugin == "core" {
		return
	}
	one.Effect, one.Writes = action.Effect, action.Effect.Writes()
	calls := v.callsOf(one, step, action, with)
	v.connect(one, step, action, env, calls.by(run))
	if one.Writes {
		v.result.Writes = append(v.result.Writes, Write{Step: path + step.ID, Action: step.Uses, Effect: action.Effect, Connection: one.Connection})
	}
	if step.Incremental != "" {
		v.cursor(step, path)
	}
	one.sends(calls.by(own))
}

// connect notes the connection of a step and what its rate limits count. One that
// an expression names from what is not known yet is shown as that expression.
func (v *previewer) connect(one *Step, step *plan.Step, action *plan.Action, env map[string]any, calls bounds) {
	ok := false
	if step.Connection != nil {
		var name any
		name, ok = v.value(*step.Connection, env)
		one.Connection, _ = name.(string)
	}
	if !ok {
		v.use(action.Plugin, "")
		return
	}
	v.use(action.Plugin, one.Connection)
	v.count(action, one.Connection, calls)
}

// child previews a workflow that is a step, with those of its inputs that are
// known.
func (v *previewer) child(one *Step, step *plan.Step, inputs map[string]any, path string, own, run bounds) {
	workflow := v.workflow.Workflows[step.Workflow]
	if workflow == nil {
		return
	}
	outer := v.workflow
	v.workflow = workflow
	defer func() { v.workflow = outer }()
	env := map[string]any{"inputs": inputs, "steps": map[string]any{}}
	var calls bounds
	one.Steps, calls = v.steps(workflow.Steps, env, path+step.ID+".", run)
	one.sends(calls.by(own))
}

func (v *previewer) knownInputs(step *plan.Step, env map[string]any) map[string]any {
	inputs := map[string]any{}
	for _, binding := range step.With.Object {
		if value, ok := v.value(binding.Value, env); ok {
			inputs[binding.Name] = value
		}
	}
	return inputs
}

func (v *previewer) cursor(step *plan.Step, path string) {
	cursor := Cursor{Name: step.Incremental, Step: path + step.ID, Action: step.Uses}
	if v.options.Positions != nil {
		cursor.Positions = append([]string{}, v.options.Positions[step.Incremental]...)
	}
	v.result.Cursors = append(v.result.Cursors, cursor)
}

func encoded(value any) json.RawMessage {
	raw, err := schema.Encode(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// value computes a value, or shows its expressions. exists is false where a part
// of it is not known.
func (v *previewer) value(value plan.Value, env map[string]any) (shown any, exists bool) {
	switch value.Kind {
	case plan.ValueLiteral:
		decoded, err := (&schema.Type{}).Decode(value.Literal)
		return decoded, err == nil
	case plan.ValueSecret:
		v.secrets = append(v.secrets, value.Secret)
		return "${{ secrets." + value.Secret + " }}", true
	case plan.ValueExpr:
		if result, ok := static(value.Expr.Source, env); ok {
			return result, true
		}
		return "${{ " + value.Expr.Source + " }}", false
	case plan.ValueText:
		return textValue(value.Text, env)
	case plan.ValueObject:
		object, all := map[string]any{}, true
		for _, binding := range value.Object {
			part, ok := v.value(binding.Value, env)
			object[binding.Name], all = part, all && ok
		}
		return object, all
	case plan.ValueList:
		list, all := make([]any, len(value.List)), true
		for i := range value.List {
			part, ok := v.value(value.List[i], env)
			list[i], all = part, all && ok
		}
		return list, all
	}
	return nil, true
}

func textValue(parts []plan.TextPart, env map[string]any) (any, bool) {
	var b strings.Builder
	all := true
	for _, part := range parts {
		if part.Expr == nil {
			b.WriteString(part.Text)
			continue
		}
		text, ok := staticText(part.Expr.Source, env)
		b.WriteString(text)
		all = all && ok
	}
	return b.String(), all
}
