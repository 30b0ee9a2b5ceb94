package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// How often a request of a login is repeated after a passing failure: while a
// person is at it, a lost answer must not end it.
const (
	startAttempts = 4
	waitAttempts  = 20
)

// waitGrace is how long after the code's end the plugin may take to say so.
const waitGrace = time.Minute

// LoginRequest asks for a login. Scopes empty means those of the connection's
// config, else the usual ones.
type LoginRequest struct {
	Scopes []string `json:"scopes,omitempty"`
}

// usualScopes are asked for where nobody names any.
func usualScopes() []string { return []string{"openid", "email", "profile"} }

// Login lets a person log in to a connection: the plugin gets a code, sink shows
// it, and the plugin polls until the person has decided. A login that was broken
// off goes on with the same code, by its idempotency key. The failure comes in
// the result; an unknown connection is an *UnknownError.
func (e *Engine) Login(ctx context.Context, connection string, request LoginRequest, sink runs.Sink) (CallResult, error) {
	found, err := e.project.FindConnection(connection)
	if err != nil {
		return CallResult{}, err
	}
	if refusal := refuseLogin(e.project, found); refusal != nil {
		return CallResult{Error: refusal}, nil
	}
	scopes := loginScopes(e.project, found, request.Scopes)
	result, err := e.loginOnce(ctx, found, scopes, sink, "")
	if err == nil && result.Error != nil && result.Error.Reason == deadCode {
		return e.loginOnce(ctx, found, scopes, sink, result.Error.Message)
	}
	return result, err
}

// deadCode is the reason of a code that the service does not know any more, such
// as the one of a login that was broken off long ago (RFC 6749).
const deadCode = "invalid_grant"

// loginOnce is a login with one code. because tells why the code before it is of
// no use, "" where there was none; the prompt says so.
func (e *Engine) loginOnce(ctx context.Context, found workspace.NamedConnection, scopes []string, sink runs.Sink, because string) (CallResult, error) {
	input, err := json.Marshal(map[string]any{"scopes": scopes})
	if err != nil {
		return CallResult{}, fmt.Errorf("encode the scopes: %w", err)
	}
	key, err := loginKey(e.project, found, scopes)
	if err != nil {
		return CallResult{}, err
	}
	started, err := e.Call(ctx, CallRequest{
		Action: found.Plugin + "." + workspace.ActionDeviceStart, Connection: found.Name, Input: input,
		Attempts: startAttempts, IdempotencyKey: key,
	}, sink)
	if err != nil || started.Error != nil {
		return started, err
	}
	return e.awaitLogin(ctx, found, started.Outputs, sink, because)
}

// loginKey is the same for the same connection, config and scopes, so that a
// login that is started again is the same one.
func loginKey(p *workspace.Workspace, found workspace.NamedConnection, scopes []string) (string, error) {
	same, err := json.Marshal([]any{p.ConnectionSettings(found), scopes})
	if err != nil {
		return "", fmt.Errorf("encode the config of connection %s: %w", found.Name, err)
	}
	sum := sha256.Sum256(same)
	return "login/" + found.Name + "/" + hex.EncodeToString(sum[:8]), nil
}

// deviceFlow is what device_start answers.
type deviceFlow struct {
	FlowID          string    `json:"flow_id"`
	UserCode        string    `json:"user_code"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`
}

func (e *Engine) awaitLogin(ctx context.Context, found workspace.NamedConnection, outputs json.RawMessage, sink runs.Sink, because string) (CallResult, error) {
	action := found.Plugin + "." + workspace.ActionDeviceWait
	var flow deviceFlow
	if err := json.Unmarshal(outputs, &flow); err != nil || flow.FlowID == "" {
		return failedCall(action, &runs.Error{
			Kind: plan.KindUnexpectedResponse, Applied: runs.NotApplied,
			Message: fmt.Sprintf("%s.%s answered without a flow_id", found.Plugin, workspace.ActionDeviceStart),
		}), nil
	}
	if p, ok := sink.(prompter); ok && flow.UserCode != "" {
		prompt := runs.Prompt{
			Title: "Log in to connection " + found.Name, URL: flow.VerificationURL, UserCode: flow.UserCode, ExpiresAt: flow.ExpiresAt,
		}
		if because != "" {
			prompt.Message = "this is a new code, the one before is of no use: " + because
		}
		p.Prompt(e.project.Approval(found.Plugin, found.Name, prompt))
	}
	input, err := json.Marshal(map[string]string{"flow_id": flow.FlowID})
	if err != nil {
		return CallResult{}, fmt.Errorf("encode the flow's id: %w", err)
	}
	waiting := ctx
	if !flow.ExpiresAt.IsZero() {
		left := flow.ExpiresAt.Sub(e.config.Now())
		bounded, cancel := context.WithTimeout(ctx, max(left, 0)+waitGrace)
		defer cancel()
		waiting = bounded
	}
	result, err := e.Call(waiting, CallRequest{Action: action, Connection: found.Name, Input: input, Attempts: waitAttempts}, sink)
	if waiting.Err() != nil && ctx.Err() == nil {
		return failedCall(action, &runs.Error{
			Kind: plan.KindExpired, Applied: runs.NotApplied, Message: "the code ended before anybody confirmed it", Hint: diag.Say("start the login again"),
		}), nil
	}
	if ctx.Err() != nil {
		return CallResult{}, ctx.Err()
	}
	return result, err
}

// refuseLogin says why a connection has no login of its own; nil where it has.
func refuseLogin(p *workspace.Workspace, found workspace.NamedConnection) *runs.Error {
	if _, err := p.Describe(found.Plugin); err != nil {
		return &runs.Error{Kind: plan.KindCrashed, Applied: runs.NotApplied, Message: err.Error()}
	}
	if hasLogin(p, found.Plugin) {
		return nil
	}
	if source := p.TokenSource(found); source != "" {
		return &runs.Error{
			Kind: plan.KindInvalid, Applied: runs.NotApplied,
			Message: fmt.Sprintf("connection `%s` takes its token from `%s`: log in there", found.Name, source),
			Hint:    diag.Sayf("%s", diag.Command{"connections", "login", source}),
		}
	}
	refusal := &runs.Error{
		Kind: plan.KindInvalid, Applied: runs.NotApplied,
		Message: fmt.Sprintf("connection `%s` has no login: plugin %s takes its credentials from the connection's config", found.Name, found.Plugin),
	}
	var others []string
	for _, connection := range p.ConnectionNames() {
		if hasLogin(p, connection.Plugin) {
			others = append(others, connection.Name)
		}
	}
	if len(others) > 0 {
		refusal.Hint = diag.Say("these have a login: " + strings.Join(others, ", "))
	}
	return refusal
}

// loginScopes are those that were asked for, those of the connection's config,
// or the usual ones.
func loginScopes(p *workspace.Workspace, found workspace.NamedConnection, asked []string) []string {
	if len(asked) > 0 {
		return asked
	}
	configured := p.ConnectionSettings(found)["scopes"]
	var list []string
	if json.Unmarshal(configured, &list) == nil && len(list) > 0 {
		return list
	}
	var text string
	if json.Unmarshal(configured, &text) == nil && strings.TrimSpace(text) != "" {
		return strings.Fields(text)
	}
	return usualScopes()
}

// quiet is a sink that shows nothing.
type quiet struct{}

// Log does nothing.
func (quiet) Log(runs.Log) {}

// Progress does nothing.
func (quiet) Progress(runs.Progress) {}

var _ runs.Sink = quiet{}

func hasLogin(p *workspace.Workspace, plugin string) bool {
	return p.HasAction(plugin, workspace.ActionDeviceStart) && p.HasAction(plugin, workspace.ActionDeviceWait)
}
