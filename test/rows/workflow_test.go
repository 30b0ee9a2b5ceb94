package rows

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// workflow runs the cases of a chunk as steps of one workflow.
func (s *stage) workflow(ctx context.Context, name string, acts []*act) error {
	var steps []any
	outputs, inputs := map[string]any{}, map[string]any{}
	for _, a := range acts {
		made, err := s.steps(a, inputs)
		if err != nil {
			return err
		}
		steps = append(steps, made...)
		for i, c := range a.calls {
			if c.want.outputs != nil {
				outputs[stepOf(a, i)] = readable(a, i, c)
			}
		}
	}
	s.write(name+".yaml", map[string]any{
		"flowrun": "v1", "name": name, "inputs": map[string]any{"w": map[string]any{"type": "object"}}, "steps": steps, "outputs": outputs,
	})
	s.write(name+".inputs.json", map[string]any{"w": inputs})
	from := time.Now()
	r, err := s.run(ctx, "run", name+".yaml", "--inputs", name+".inputs.json", "-o", "json")
	if err != nil {
		return err
	}
	var result runResult
	if err := json.Unmarshal([]byte(r.stdout), &result); err != nil {
		return fmt.Errorf("%s: exit code %d: %w\n%s%s", name, r.code, err, r.stdout, shorten(r.stderr))
	}
	to := time.Now()
	for _, a := range acts {
		a.seen.from, a.seen.to, a.seen.code, a.seen.text = from, to, r.code, linesOf(r.stderr, a.id)
		for i := range a.calls {
			step := stepOf(a, i)
			a.seen.results = append(a.seen.results, callResult{Outputs: result.Outputs[step], Error: result.Steps[step].Error})
			a.seen.text += string(result.Outputs[step])
			if result.Steps[step].Status != "succeeded" && result.Steps[step].Error == nil {
				a.seen.trouble = append(a.seen.trouble, fmt.Sprintf("step %s is %s, the run %s", step, result.Steps[step].Status, result.Run.Status))
			}
			if text, err := json.Marshal(result.Steps[step]); err == nil {
				a.seen.text += string(text)
			}
		}
	}
	return nil
}

// secretOutputs are outputs that no expression can read.
var secretOutputs = map[string]string{"auth.token": "token", "tasks.migrate_personal_token": "response"}

// readable is the expression of a call's outputs: all of them, or those that are
// no secret.
func readable(a *act, call int, c call) any {
	from := "steps." + stepOf(a, call) + ".outputs"
	hidden := secretOutputs[c.action]
	if hidden == "" {
		return "${{ " + from + " }}"
	}
	fields := map[string]string{}
	for name := range fieldsOf(c.want.outputs) {
		if name != hidden {
			fields[name] = "${{ " + from + "?." + name + " }}"
		}
	}
	return fields
}

// fieldsOf are the members of an object; none of anything else.
func fieldsOf(raw json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// workflowAgain runs one workflow as often as the case has calls: what a run
// stores is there for the next one.
func (s *stage) workflowAgain(ctx context.Context, a *act) error {
	all := a.example
	defer func() { a.example = all }()
	var results []callResult
	var text string
	for i := range all.calls {
		once := *all
		once.calls = all.calls[i : i+1]
		a.example = &once
		if err := s.workflow(ctx, "again-"+a.id, []*act{a}); err != nil {
			return err
		}
		results, text = append(results, a.seen.results[len(a.seen.results)-1]), text+a.seen.text
	}
	a.seen.results, a.seen.text = results, text
	return nil
}

// linesOf are the lines of the live view about one case.
func linesOf(text, id string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, id+"_") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// steps are the calls of a case one after the other. Where the case is that an
// input is refused, the inputs are those of the run: what is written down would
// not pass the check of the workflow.
func (s *stage) steps(a *act, inputs map[string]any) ([]any, error) {
	var steps []any
	from := bindings(a)
	for i, c := range a.calls {
		with, err := s.with(a, c, func(name string) string { return "${{ " + from[name] + ` ?? "" }}` })
		if err != nil {
			return nil, err
		}
		object := map[string]json.RawMessage{}
		if err := json.Unmarshal(with, &object); err != nil {
			return nil, err
		}
		step := map[string]any{
			"id": stepOf(a, i), "uses": c.action, "connection": a.id, "with": s.dynamic(a, i, object, inputs),
			"needs": []string{}, "retry": map[string]any{"attempts": 1}, "on_error": "continue",
		}
		if once[c.action] {
			step["on_unknown"] = "fail"
		}
		if a.alone {
			delete(step, "on_error")
		}
		if i > 0 {
			step["needs"] = []string{stepOf(a, i-1)}
		}
		if c.wait > 0 {
			sleep := stepOf(a, i) + "_sleep"
			steps = append(steps, map[string]any{"id": sleep, "uses": "core.sleep", "needs": step["needs"], "with": map[string]any{"for": fmt.Sprintf("%dms", c.wait.Milliseconds())}})
			step["needs"] = []string{sleep}
		}
		for name, value := range a.step {
			step[name] = json.RawMessage(s.expand(a, string(value)))
		}
		if len(object) == 0 {
			delete(step, "with")
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// dynamic puts the values of a refused input into the run's inputs.
func (s *stage) dynamic(a *act, call int, with map[string]json.RawMessage, inputs map[string]any) map[string]json.RawMessage {
	if !a.refusedBefore() || a.alone {
		return with
	}
	out, given := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range with {
		if strings.Contains(string(value), "${{") {
			out[name] = value
			continue
		}
		given[name] = value
		out[name], _ = compact(fmt.Sprintf("${{ inputs.w.%s.%s }}", stepOf(a, call), name)) // a text
	}
	inputs[stepOf(a, call)] = given
	return out
}

// bindings says from which step's output each name comes.
func bindings(a *act) map[string]string {
	from := map[string]string{}
	for i, c := range a.calls {
		var want map[string]any
		if json.Unmarshal(c.want.outputs, &want) != nil {
			continue
		}
		for field, value := range want {
			if name, ok := boundName(value); ok {
				from[name] = fmt.Sprintf("steps.%s.outputs?.%s", stepOf(a, i), field)
			}
		}
	}
	return from
}

func stepOf(a *act, call int) string { return fmt.Sprintf("%s_%d", a.id, call+1) }
