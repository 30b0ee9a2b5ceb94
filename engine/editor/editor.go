// Package editor writes the JSON Schema by which editors complete, explain and
// check workflows while they are typed: the table of the language, with the
// actions of the project. It gives the verdict of engine/check on keys, words and
// bounds; of types of expressions it knows nothing.
package editor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// object is a JSON object; its members are written sorted by name.
type object = map[string]any

// corePlugin is the plugin name of the actions that are built in.
const corePlugin = "core"

// coreNotify is the one of them that an output can go to.
const coreNotify = "core.notify"

// Schema returns the draft-07 schema of workflows of a language that may use the
// actions, and name the connections. A typed field takes its type or text with
// `${{ }}`. The result is the same for the same actions, whatever their order.
func Schema(language *spec.Language, actions []*plan.Action, connections []string) (json.RawMessage, error) {
	actions = slices.Clone(actions)
	slices.SortFunc(actions, func(a, b *plan.Action) int { return strings.Compare(a.FullName(), b.FullName()) })
	definitions := shared(connections)
	ofLanguage(language, definitions)
	step, poll, destination := definitions["step"].(object), definitions["poll"].(object), definitions["destination"].(object)
	branches := []any{object{
		"if": usesLike("pattern", workflowPath), "then": object{"propertyNames": object{"enum": language.Map("step").KeyNames(spec.WorkflowStep)}},
	}}
	names, polls, pollBranches, destinations, destinationBranches := []any{}, []any{}, []any{}, []any{}, []any{}
	for _, action := range actions {
		name := action.FullName()
		with, must, err := actionSchema(language, action)
		if err != nil {
			return nil, err
		}
		definitions["with "+name] = with
		then := object{"properties": refusedKeys(action, object{"with": ref("with " + name)})}
		if action.Paging != nil && action.Incremental {
			then["dependencies"] = object{"incremental": []string{"paginate"}}
		}
		called := object{"properties": object{"with": ref("with " + name)}}
		if must {
			then["required"], called["required"] = []string{"with"}, []string{"with"}
		}
		branches = append(branches, object{"if": usesLike("const", name), "then": then})
		entry := object{"const": name, "description": about(action)}
		names = append(names, entry)
		if action.Plugin != corePlugin && isRepeatable(action) {
			polls = append(polls, entry)
			pollBranches = append(pollBranches, object{"if": usesLike("const", name), "then": called})
		}
		if action.Effect != plan.EffectRead && (action.Plugin != corePlugin || name == coreNotify) {
			destinations = append(destinations, entry)
			if action.Plugin == corePlugin {
				called["properties"].(object)["connection"] = false
			}
			destinationBranches = append(destinationBranches, object{"if": usesLike("const", name), "then": called})
		}
	}
	names = append(names, object{"type": "string", "pattern": workflowPath, "description": "A workflow of this project, as a step."})
	setUses(step, names)
	step["allOf"] = append(step["allOf"].([]any), branches...)
	setUses(poll, polls)
	if len(pollBranches) > 0 {
		poll["allOf"] = pollBranches
	}
	setUses(destination, destinations)
	if len(destinationBranches) > 0 {
		destination["allOf"] = destinationBranches
	}
	top := definitions["workflow"].(object)
	delete(definitions, "workflow")
	top["$schema"], top["title"], top["definitions"] = "http://json-schema.org/draft-07/schema#", "flowrun workflow", definitions
	return json.MarshalIndent(top, "", " ")
}

// workflowPath is how `uses` names a workflow as a step.
const workflowPath = `^\.{1,2}/.+\.ya?ml$`

// setUses puts the names of actions into a map that calls one. Without any action every name is taken.
func setUses(called object, names []any) {
	if properties := called["properties"].(object); len(names) > 0 {
		properties["uses"] = object{"anyOf": names, "description": properties["uses"].(object)["description"]}
	}
}

// actionSchema returns the schema of an action's `with`; must says that it has inputs that can't be left out.
func actionSchema(language *spec.Language, action *plan.Action) (with object, must bool, err error) {
	if len(action.Input) == 0 {
		return object{}, false, nil
	}
	input, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil, false, fmt.Errorf("input schema of %s: %w", action.FullName(), err)
	}
	if input.Kind != schema.Object {
		return object{}, false, nil
	}
	with = objectOf(input, input.Secret)
	withSchema(language, action.FullName(), with)
	with["description"] = about(action)
	_, must = with["required"]
	return with, must || with["minProperties"] != nil, nil
}

// isRepeatable reports whether a call may be sent again and again.
func isRepeatable(action *plan.Action) bool {
	return action.Effect == plan.EffectRead || action.Effect == plan.EffectIdempotent
}

// refusedKeys adds the keys that an action does not take.
func refusedKeys(action *plan.Action, properties object) object {
	builtin := action.Plugin == corePlugin
	for key, taken := range map[string]bool{
		"paginate":    action.Paging != nil,
		"incremental": action.Incremental,
		"cache":       !builtin && action.Effect == plan.EffectRead,
		"repeat":      !builtin && isRepeatable(action),
		"connection":  !builtin,
		"on_unknown":  !builtin,
		"retry":       !builtin || action.Effect != plan.EffectRead,
	} {
		if !taken {
			properties[key] = false
		}
	}
	return properties
}

func usesLike(word, text string) object {
	return object{"properties": object{"uses": object{word: text}}, "required": []string{"uses"}}
}

// about is what an editor shows of an action.
func about(action *plan.Action) string {
	text := strings.TrimSpace(action.Doc)
	if action.Deprecated != "" {
		text = "Deprecated: " + action.Deprecated + "\n\n" + text
	}
	return strings.TrimSpace(text + "\n\nEffect: " + string(action.Effect))
}

func requires(key string) object { return object{"required": []string{key}} }

func ref(name string) object {
	return object{"$ref": "#/definitions/" + strings.ReplaceAll(name, " ", "%20")}
}
