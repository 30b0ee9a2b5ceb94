package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// input checks the input as the checker would check a step's `with`.
func (c *Caller) input(ctx context.Context, action *plan.Action, request Request) (json.RawMessage, *runs.Error) {
	input := request.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	inputType, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil, runs.Failure(plan.KindInternal, runs.NotApplied, "input schema: %v", err)
	}
	if failed := refuseUnknownKeys(input, inputType); failed != nil {
		return nil, failed
	}
	input, failed := referSecrets(input, inputType, request.LiteralSecrets)
	if failed != nil {
		return nil, failed
	}
	decode := inputType.Decode
	if request.LiteralSecrets {
		c.learnClear(input, inputType)
		decode = inputType.DecodeClear
	}
	diagnostics, _, err := c.project.Host().Validate(ctx, action.FullName(), action.PluginDigest, input, nil)
	if err != nil {
		return nil, runs.Failure(plan.KindCrashed, runs.NotApplied, "%v", err)
	}
	for _, d := range diagnostics {
		if d.Error {
			return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: d.Summary, Hint: diag.Say(d.Detail), Pointer: d.Pointer}
		}
	}
	if _, err := decode(input); err != nil {
		failed := runs.Failure(plan.KindInvalid, runs.NotApplied, "%v", err)
		if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok {
			failed.Message, failed.Hint, failed.Pointer = mismatch.Message, mismatch.Hint, mismatch.Pointer
		}
		return nil, failed
	}
	return input, nil
}

// learnClear tells the redactor the values that stand in clear in the secret
// fields of an input, before anything can say them.
func (c *Caller) learnClear(input json.RawMessage, t *schema.Type) {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return
	}
	for name, value := range fields {
		if field, ok := t.Field(name); ok && (field.Secret || field.HasSecret()) {
			schema.Walk(value, func(part any) bool {
				if text, ok := part.(string); ok {
					c.project.Redactor().Add(text)
				}
				return !schema.IsSecretRef(part)
			})
		}
	}
}

// refuseUnknownKeys finds a misspelt key before the one that it stands for is
// missed.
func refuseUnknownKeys(input json.RawMessage, t *schema.Type) *runs.Error {
	var given map[string]json.RawMessage
	if json.Unmarshal(input, &given) != nil || t.Additional != nil {
		return nil // what is no object is refused later
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := t.Field(name); !ok {
			return &runs.Error{
				Kind: plan.KindInvalid, Applied: runs.NotApplied, Pointer: "/" + name,
				Message: fmt.Sprintf("there is no input `%s`", name), Hint: diag.DidYouMean(name, t.FieldNames()),
			}
		}
	}
	return nil
}

// referSecrets turns `${{ secrets.NAME }}` texts into references and refuses
// clear values in secret fields unless they are allowed.
func referSecrets(input json.RawMessage, t *schema.Type, literals bool) (json.RawMessage, *runs.Error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, runs.Failure(plan.KindInvalid, runs.NotApplied, "the input must be a JSON object")
	}
	for name, value := range fields {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = ""
		}
		field, ok := t.Field(name)
		secretField := ok && field.Secret
		if secret, ok := project.SecretName(text); ok {
			if !secretField {
				return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Pointer: "/" + name, Message: fmt.Sprintf("`%s` is not a secret field, so it takes no secret", name)}
			}
			fields[name] = json.RawMessage(fmt.Sprintf(`{"$secret":%q}`, secret))
			continue
		}
		if secretField && !literals && string(value) != "null" {
			return nil, &runs.Error{
				Kind: plan.KindInvalid, Applied: runs.NotApplied, Pointer: "/" + name,
				Message: fmt.Sprintf("`%s` is secret: its value must not stand in the arguments of a command", name),
				Hint:    diag.Say("write ${{ secrets.NAME }}, or read the input from a file with --with @FILE"),
			}
		}
	}
	encoded, err := json.Marshal(fields)
	if err != nil {
		return nil, runs.Failure(plan.KindInternal, runs.NotApplied, "%v", err)
	}
	return encoded, nil
}
