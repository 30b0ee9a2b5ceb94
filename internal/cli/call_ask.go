package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// askForSecrets asks on a terminal for the secret inputs that an action needs and
// --with does not give. Without a terminal, and for an action that is not known,
// the call itself says what is wrong.
func (a *app) askForSecrets(ctx context.Context, request *calls.Request) error {
	if !term.IsTerminalInput(a.sys.Stdin) || !term.IsTerminal(a.sys.Stderr) {
		return nil
	}
	given := map[string]json.RawMessage{}
	if len(request.Input) > 0 && json.Unmarshal(request.Input, &given) != nil {
		return nil
	}
	hasAnswers := false
	for _, field := range a.secretInputs(ctx, request.Action) {
		value, there := given[field.Name]
		if there && !request.LiteralSecrets && !namesSecret(value) {
			return nil // it stands in the arguments, which is refused
		}
		if there || !field.Required {
			continue
		}
		answer, err := a.askHidden(field.Name + " (not shown): ")
		if err != nil {
			return err
		}
		if len(answer) == 0 {
			return usageError(errors.New("no value was given for "+field.Name), "")
		}
		if given[field.Name], err = json.Marshal(string(answer)); err != nil {
			return err
		}
		hasAnswers = true
	}
	if !hasAnswers {
		return nil
	}
	input, err := json.Marshal(given)
	if err != nil {
		return err
	}
	request.Input, request.LiteralSecrets = input, true
	return nil
}

// namesSecret reports whether a value is `${{ secrets.NAME }}`.
func namesSecret(value json.RawMessage) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "${{")
}

// secretInputs are the inputs of an action that are secret; none where the action
// is not known.
func (a *app) secretInputs(ctx context.Context, action string) []workspace.FormField {
	fields, _ := inProject(ctx, a, func(project *workspace.Workspace) ([]workspace.FormField, error) { // the call tells what is wrong
		known, err := project.Action(action)
		if err != nil {
			return nil, err
		}
		return workspace.FormOf(known.Input)
	})
	return slices.DeleteFunc(fields, func(field workspace.FormField) bool { return field.Kind != workspace.FieldSecret })
}
