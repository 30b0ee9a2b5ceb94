package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/workspace"
)

// askForCall asks on a terminal for the inputs that an action needs and nobody gave.
// Without a terminal, and for an action that is not known, the call itself says what is
// wrong.
func (a *app) askForCall(ctx context.Context, request *calls.Request) error {
	if !a.asksPeople() {
		return nil
	}
	given := map[string]json.RawMessage{}
	if len(request.Input) > 0 && json.Unmarshal(request.Input, &given) != nil {
		return nil
	}
	form := a.inputForm(ctx, request.Action)
	fields, _ := workspace.FormOf(form) // the call tells what is wrong
	secrets := map[string]bool{}
	filled := map[string]workspace.Input{}
	for _, field := range fields {
		value, there := given[field.Name]
		if field.Kind == workspace.FieldSecret {
			secrets[field.Name] = true
			if there && !request.LiteralSecrets && !namesSecret(value) {
				return nil // it stands in the arguments, which is refused
			}
		}
		if there {
			filled[field.Name] = workspace.Input{JSON: value}
		}
	}
	if err := a.askForFields("inputs of "+request.Action, "makes the call", form, filled); err != nil {
		return err
	}
	typed := maps.Clone(filled)
	maps.DeleteFunc(typed, func(name string, _ workspace.Input) bool { _, there := given[name]; return there })
	if len(typed) == 0 {
		return nil
	}
	return addTyped(request, form, given, typed, secrets)
}

// addTyped puts what was typed to the inputs of a call.
func addTyped(request *calls.Request, form json.RawMessage, given map[string]json.RawMessage, typed map[string]workspace.Input, secrets map[string]bool) (err error) {
	for _, name := range slices.Collect(maps.Keys(typed)) {
		if secrets[name] {
			given[name], request.LiteralSecrets = typed[name].JSON, true
			delete(typed, name)
		}
	}
	values, err := workspace.ConvertSome(request.Action, form, typed)
	if err != nil {
		return err
	}
	maps.Copy(given, values)
	request.Input, err = json.Marshal(given)
	return err
}

// namesSecret reports whether a value is `${{ secrets.NAME }}`.
func namesSecret(value json.RawMessage) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "${{")
}

// inputForm is the schema of the inputs of an action; none where the action is not known.
func (a *app) inputForm(ctx context.Context, action string) json.RawMessage {
	form, _ := inProject(ctx, a, func(project *workspace.Workspace) (json.RawMessage, error) { // the call tells what is wrong
		known, err := project.Action(action)
		if err != nil {
			return nil, err
		}
		return known.Input, nil
	})
	return form
}
