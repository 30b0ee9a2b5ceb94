// Package editor writes the JSON Schema by which editors complete, explain and
// check workflows while they are typed.
package editor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
)

// object is a JSON object; its members are written sorted by name.
type object = map[string]any

// Schema returns the draft-07 schema of workflows that may use the actions, and
// name the connections. A typed field takes its type or text with `${{ }}`. The
// result is the same for the same actions, whatever their order.
func Schema(actions []*plan.Action, connections []string) (json.RawMessage, error) {
	actions = slices.Clone(actions)
	slices.SortFunc(actions, func(a, b *plan.Action) int { return strings.Compare(a.FullName(), b.FullName()) })
	definitions := words(connections)
	branches := kindBranches()
	names := []any{}
	for _, action := range actions {
		with, branch, err := actionSchemas(action)
		if err != nil {
			return nil, err
		}
		definitions["with "+action.FullName()] = with
		branches = append(branches, branch)
		names = append(names, object{"const": action.FullName(), "description": about(action)})
	}
	names = append(names, object{"type": "string", "pattern": `^\.{1,2}/.+\.ya?ml$`, "description": "A workflow of this project, as a step."})
	step := stepWords()
	step["uses"] = object{"anyOf": names, "description": "The action: `plugin.action`, `core.action`, or `./other.yaml` for a workflow."}
	definitions["step"] = object{
		"type": "object", "properties": step, "additionalProperties": false, "allOf": branches,
		"anyOf": []any{requires("uses"), requires("let"), requires("set_state"), requires("foreach")},
	}
	return json.MarshalIndent(object{
		"$schema":              "http://json-schema.org/draft-07/schema#",
		"title":                "flowrun workflow",
		"type":                 "object",
		"required":             []string{"flowrun", "steps"},
		"properties":           workflowWords(),
		"additionalProperties": false,
		"definitions":          definitions,
	}, "", " ")
}

// actionSchemas returns the schema of an action's `with`, and the branch that
// applies it to the steps that use the action.
func actionSchemas(action *plan.Action) (with, branch object, err error) {
	input, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil, nil, fmt.Errorf("input schema of %s: %w", action.FullName(), err)
	}
	then := object{"properties": object{"with": ref("with " + action.FullName())}}
	if slices.ContainsFunc(input.Fields, func(f schema.Field) bool { return f.Required }) {
		then["required"] = []string{"with"}
	}
	if input.Kind != schema.Object {
		return object{}, object{"if": uses(action), "then": then}, nil
	}
	with = objectOf(input)
	with["description"] = about(action)
	return with, object{"if": uses(action), "then": then}, nil
}

func uses(action *plan.Action) object {
	return object{"properties": object{"uses": object{"const": action.FullName()}}, "required": []string{"uses"}}
}

// about is what an editor shows of an action.
func about(action *plan.Action) string {
	text := strings.TrimSpace(action.Doc)
	if action.Deprecated != "" {
		text = "Deprecated: " + action.Deprecated + "\n\n" + text
	}
	return strings.TrimSpace(text + "\n\nEffect: " + string(action.Effect))
}

// kindBranches keep the keys of the four kinds of steps apart.
func kindBranches() []any {
	common := []string{"id", "name", "needs", "if", "run_if"}
	kinds := []struct {
		key  string
		keys []string
		must []string
	}{
		{"uses", []string{"uses", "with", "connection", "repeat", "retry", "timeout", "within", "cache", "paginate", "incremental", "on_error", "on_unknown"}, nil},
		{"let", []string{"let"}, nil},
		{"set_state", []string{"set_state"}, nil},
		{"foreach", []string{"foreach", "as", "key", "max_parallel", "collect", "steps", "on_error"}, []string{"steps"}},
	}
	var branches []any
	for _, kind := range kinds {
		then := object{"propertyNames": object{"enum": append(slices.Clone(common), kind.keys...)}}
		if kind.must != nil {
			then["required"] = kind.must
		}
		branches = append(branches, object{"if": requires(kind.key), "then": then})
	}
	return branches
}

func requires(key string) object { return object{"required": []string{key}} }

func ref(name string) object {
	return object{"$ref": "#/definitions/" + strings.NewReplacer(" ", "%20").Replace(name)}
}
