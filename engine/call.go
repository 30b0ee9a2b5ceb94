package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// defaultCallTimeout bounds one attempt of an action that names no timeout.
const defaultCallTimeout = time.Minute

// Call makes one call of an action outside a workflow, with the checks, the
// limiter and the redaction of a step. Pending answers are followed. What the
// call says of itself comes in the result; err is a failure of the engine.
func (e *Engine) Call(ctx context.Context, request CallRequest, sink runs.Sink) (CallResult, error) {
	action, err := e.project.Action(request.Action)
	if err != nil {
		return failedCall(request.Action, e.unknownAction(request.Action, err)), nil
	}
	if e.project.Builtin(request.Action) {
		return failedCall(request.Action, &runs.Error{Kind: plan.KindUnsupported, Applied: runs.NotApplied, Message: "actions of core run inside workflows only"}), nil
	}
	input, failed := e.callInput(ctx, action, request)
	if failed != nil {
		return failedCall(request.Action, failed), nil
	}
	return e.callUntilDone(ctx, action, request, input, sink)
}

// failedCall is the result of a call that failed. A call is no step of a run.
func failedCall(action string, failed *runs.Error) CallResult {
	failed.Step = ""
	if failed.Kind == plan.KindInvalid && failed.Applied == runs.NotApplied && failed.HTTPStatus == 0 {
		failed.Attempt = 0 // RefusedCall before the first one
	}
	if failed.Action == "" {
		failed.Action = action
	}
	return CallResult{Error: failed}
}

func (e *Engine) unknownAction(name string, err error) *runs.Error {
	var broken *pluginhost.PluginError
	if errors.As(err, &broken) {
		return &runs.Error{Kind: plan.KindCrashed, Applied: runs.NotApplied, Reason: broken.Reason, Message: err.Error(), Hint: broken.Hint}
	}
	failed := &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: err.Error()}
	failed.Hint = diag.DidYouMean(name, e.project.ActionNames())
	return failed
}

// callInput checks the input as the checker would check a step's `with`.
func (e *Engine) callInput(ctx context.Context, action *plan.Action, request CallRequest) (json.RawMessage, *runs.Error) {
	input := request.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	inputType, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindInternal, Applied: runs.NotApplied, Message: fmt.Sprintf("input schema: %v", err)}
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
		e.learnClear(input, inputType)
		decode = inputType.DecodeClear
	}
	diagnostics, _, err := e.project.Host().Validate(ctx, action.FullName(), input, nil)
	if err != nil {
		return nil, &runs.Error{Kind: plan.KindCrashed, Applied: runs.NotApplied, Message: err.Error()}
	}
	for _, d := range diagnostics {
		if d.Error {
			return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: d.Summary, Hint: diag.Say(d.Detail), Pointer: d.Pointer}
		}
	}
	if _, err := decode(input); err != nil {
		failed := &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: err.Error()}
		var mismatch *schema.Mismatch
		if errors.As(err, &mismatch) {
			failed.Message, failed.Hint, failed.Pointer = mismatch.Message, mismatch.Hint, mismatch.Pointer
		}
		return nil, failed
	}
	return input, nil
}

// learnClear tells the redactor the values that stand in clear in the secret
// fields of an input, before anything can say them.
func (e *Engine) learnClear(input json.RawMessage, t *schema.Type) {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return
	}
	for name, value := range fields {
		if field, known := t.Field(name); known && (field.Secret || field.HasSecret()) {
			e.learnTexts(value)
		}
	}
}

func (e *Engine) learnTexts(value any) {
	switch value := value.(type) {
	case string:
		e.project.Redactor().Add(value)
	case []any:
		for _, part := range value {
			e.learnTexts(part)
		}
	case map[string]any:
		if schema.IsSecretRef(value) {
			return
		}
		for _, part := range value {
			e.learnTexts(part)
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
		if _, known := t.Field(name); !known {
			return &runs.Error{
				Kind: plan.KindInvalid, Applied: runs.NotApplied, Pointer: "/" + name,
				Message: fmt.Sprintf("there is no input `%s`", name), Hint: diag.DidYouMean(name, t.FieldNames()),
			}
		}
	}
	return nil
}

func (e *Engine) callUntilDone(ctx context.Context, action *plan.Action, request CallRequest, input json.RawMessage, sink runs.Sink) (CallResult, error) {
	connection := request.Connection
	if connection == "" {
		name, err := e.project.DefaultConnection(action.Plugin)
		if err != nil {
			return failedCall(request.Action, workspace.RefusedCall(request.Action, err).Failed), nil
		}
		connection = name
	}
	if lacking := e.lackingSettings(action.Plugin, connection); lacking != nil {
		return failedCall(request.Action, lacking), nil
	}
	ctx, leave, err := e.outside.enter(ctx)
	if err != nil {
		return CallResult{}, err
	}
	defer leave()
	id, err := e.newID(e.config.Now())
	if err != nil {
		return CallResult{}, err
	}
	call := runs.Request{
		Action: request.Action, Connection: connection, RunID: upkeep.CallPrefix + id, Step: "call", Operation: "call",
		Attempt: 1, IdempotencyKey: cmp.Or(request.IdempotencyKey, id), Input: input, ScheduledAt: e.config.Now(), Timeout: action.DefaultTimeout,
	}
	if call.Timeout == 0 {
		call.Timeout = defaultCallTimeout
	}
	defer e.ForgetCall(call.RunID)
	for {
		answer := e.callOnce(ctx, action, call, sink)
		switch {
		case answer.Completed != nil:
			return CallResult{Outputs: answer.Completed.Output, Meta: answer.Completed.Meta}, nil
		case answer.Pending != nil:
			call.Checkpoint = answer.Pending.Checkpoint
			showPending(sink, answer.Pending)
			if err := e.outside.pauseBetween(ctx, answer.Pending.RetryAfter); err != nil {
				return CallResult{}, err
			}
		case call.Attempt < request.Attempts && mayRepeat(action, answer.Failed):
			delay := max(time.Second<<(call.Attempt-1), time.Duration(answer.Failed.RetryAfterS*float64(time.Second)))
			sink.Log(runs.Log{Level: "warn", Message: fmt.Sprintf("attempt %d of %d failed: %s", call.Attempt, request.Attempts, answer.Failed.Message)})
			if err := e.outside.pauseBetween(ctx, min(delay, 30*time.Second)); err != nil {
				return CallResult{}, err
			}
			call.Attempt++
		default:
			return failedCall(request.Action, answer.Failed), nil
		}
	}
}

// prompter is a sink that can show what a person must do.
type prompter interface{ Prompt(runs.Prompt) }

func showPending(sink runs.Sink, pending *runs.Pending) {
	if p, ok := sink.(prompter); ok && pending.Prompt != nil {
		p.Prompt(*pending.Prompt)
		return
	}
	sink.Log(runs.Log{Level: "info", Message: pendingText(pending)})
}

// lackingSettings is the failure of a call whose connection lacks a setting.
func (e *Engine) lackingSettings(plugin, name string) *runs.Error {
	connection, err := e.project.Connection(plugin, name)
	if err != nil {
		return nil // the call itself says so
	}
	var config map[string]json.RawMessage
	if json.Unmarshal(connection.Config, &config) != nil {
		return nil
	}
	var problems diag.List
	e.project.MissingSettings(workspace.ConnectionUse{Plugin: plugin, Name: name}, config, diag.Pos{}, &problems)
	if len(problems) == 0 {
		return nil
	}
	return &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: problems[0].Message, Hint: problems[0].Hint}
}

func pendingText(pending *runs.Pending) string {
	if prompt := pending.Prompt; prompt != nil {
		return strings.TrimSpace(fmt.Sprintf("%s: open %s and enter %s %s", prompt.Title, prompt.URL, prompt.UserCode, prompt.Message))
	}
	if pending.Message != "" {
		return pending.Message
	}
	return "not ready yet, asking again in " + pending.RetryAfter.String()
}

// mayRepeat keeps a `once` action from being sent again unless it was certainly
// not applied.
func mayRepeat(action *plan.Action, failed *runs.Error) bool {
	if !slices.Contains(plan.DefaultRetryKinds(), failed.Kind) {
		return false
	}
	return action.Effect != plan.EffectOnce || failed.Applied == runs.NotApplied
}

func (e *Engine) callOnce(ctx context.Context, action *plan.Action, call runs.Request, sink runs.Sink) runs.Answer {
	waiting, admitted := e.outside.whileOpen(ctx)
	defer admitted()
	done, err := e.limiter.Acquire(waiting, action, call.Connection, func(until time.Time) {
		if !until.IsZero() {
			sink.Log(runs.Log{Level: "info", Message: "waiting (rate limit, next " + until.Local().Format(time.TimeOnly) + ")"})
		}
	})
	if err != nil {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindCanceled, Applied: runs.NotApplied, Message: err.Error()}}
	}
	attempt, cancel := context.WithTimeout(ctx, call.Timeout)
	defer cancel()
	answer := workspace.NewCaller(e.project).Call(attempt, call, sink)
	done(answer)
	return answer
}

// referSecrets turns `${{ secrets.NAME }}` texts into references and refuses
// clear values in secret fields unless they are allowed.
func referSecrets(input json.RawMessage, t *schema.Type, literals bool) (json.RawMessage, *runs.Error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: "the input must be a JSON object"}
	}
	for name, value := range fields {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = ""
		}
		field, known := t.Field(name)
		secretField := known && field.Secret
		if match := workspace.SecretReference.FindStringSubmatch(strings.TrimSpace(text)); match != nil {
			if !secretField {
				return nil, &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Pointer: "/" + name, Message: fmt.Sprintf("`%s` is not a secret field, so it takes no secret", name)}
			}
			fields[name] = json.RawMessage(fmt.Sprintf(`{"$secret":%q}`, match[1]))
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
		return nil, &runs.Error{Kind: plan.KindInternal, Applied: runs.NotApplied, Message: err.Error()}
	}
	return encoded, nil
}
