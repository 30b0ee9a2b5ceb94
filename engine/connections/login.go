package connections

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
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
// config, else the usual ones of its plugin.
type LoginRequest struct {
	Scopes []string `json:"scopes,omitempty"`
}

// Login lets a person log in to a connection: the plugin gets a code, sink shows
// it, and the plugin waits until the person has decided. A login that was broken
// off goes on with the same code, by its idempotency key. The failure comes in
// the result; an unknown connection is a *fault.UnknownError.
func (c *Connections) Login(ctx context.Context, connection string, request LoginRequest, sink runs.Sink) (calls.Result, error) {
	namedConnection, err := c.project.FindConnection(connection)
	if err != nil {
		return calls.Result{}, err
	}
	if refusal := c.refuse(namedConnection, "in"); refusal != nil {
		return calls.Result{Error: refusal}, nil
	}
	l, refusal := c.login(namedConnection, request.Scopes)
	if refusal != nil {
		return calls.Result{Error: refusal}, nil
	}
	result, err := c.loginOnce(ctx, l, sink, "")
	if err == nil && result.Error != nil && result.Error.Reason == deadCode {
		return c.loginOnce(ctx, l, sink, result.Error.Message)
	}
	return result, err
}

// login is one of a connection, with what is asked for.
type login struct {
	workspace.NamedConnection
	actions *pluginhost.Login
	scopes  []string
}

// login works out what a login asks for: the scopes that a person names, else those of
// the connection's config, else the plugin's usual ones; none where the plugin's start
// takes none.
func (c *Connections) login(connection workspace.NamedConnection, asked []string) (*login, *runs.Error) {
	l := &login{NamedConnection: connection, actions: c.project.Login(connection.Plugin)}
	if !c.takes(connection.Plugin, l.actions.Start, "scopes") {
		if len(asked) == 0 {
			return l, nil
		}
		return nil, &runs.Error{
			Kind: plan.KindInvalid, Applied: runs.NotApplied, Message: fmt.Sprintf("the login of plugin %s takes no scopes", connection.Plugin), Hint: diag.Say("log in without them"),
		}
	}
	l.scopes = asked
	if len(asked) == 0 {
		l.scopes = configuredScopes(c.project.ConnectionSettings(connection)["scopes"])
	}
	if len(l.scopes) == 0 {
		l.scopes = l.actions.Scopes
	}
	return l, nil
}

// takes reports whether an action has an input of that name.
func (c *Connections) takes(plugin, action, input string) bool {
	described, err := c.project.Action(plugin + "." + action)
	if err != nil {
		return false // the call itself says so
	}
	inputType, err := schema.FromJSON(described.Input)
	if err != nil {
		return false
	}
	_, takes := inputType.Field(input)
	return takes
}

// configuredScopes reads the setting `scopes` of a connection: a list, or a text with
// spaces between them.
func configuredScopes(setting json.RawMessage) []string {
	var list []string
	if json.Unmarshal(setting, &list) == nil {
		return list
	}
	var text string
	if json.Unmarshal(setting, &text) == nil {
		return strings.Fields(text)
	}
	return nil
}

// deadCode is the reason of a code that the service does not know any more, such
// as the one of a login that was broken off long ago (RFC 6749).
const deadCode = "invalid_grant"

// loginOnce is a login with one code. because tells why the code before it is of
// no use, "" where there was none; the prompt says so.
func (c *Connections) loginOnce(ctx context.Context, l *login, sink runs.Sink, because string) (calls.Result, error) {
	input := json.RawMessage("{}")
	if len(l.scopes) > 0 {
		var err error
		if input, err = json.Marshal(map[string]any{"scopes": l.scopes}); err != nil {
			return calls.Result{}, fmt.Errorf("encode the scopes: %w", err)
		}
	}
	key, err := c.loginKey(l)
	if err != nil {
		return calls.Result{}, err
	}
	started, err := c.calls.Call(ctx, calls.Request{
		Action: l.Plugin + "." + l.actions.Start, Connection: l.Name, Input: input, Attempts: startAttempts, IdempotencyKey: key,
	}, sink)
	if err != nil || started.Error != nil {
		return started, err
	}
	return c.await(ctx, l, started.Outputs, sink, because)
}

// loginKey is the same for the same connection, config and scopes, so that a
// login that is started again is the same one.
func (c *Connections) loginKey(l *login) (string, error) {
	same, err := json.Marshal([]any{c.project.ConnectionSettings(l.NamedConnection), l.scopes})
	if err != nil {
		return "", fmt.Errorf("encode the config of connection %s: %w", l.Name, err)
	}
	sum := sha256.Sum256(same)
	return "login/" + l.Name + "/" + hex.EncodeToString(sum[:8]), nil
}

// flow is what the start of a login answers.
type flow struct {
	FlowID          string    `json:"flow_id"`
	UserCode        string    `json:"user_code"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`
}

// await shows the code of a flow and waits for the person.
func (c *Connections) await(ctx context.Context, l *login, outputs json.RawMessage, sink runs.Sink, because string) (calls.Result, error) {
	action := l.Plugin + "." + l.actions.Wait
	var flow flow
	if err := json.Unmarshal(outputs, &flow); err != nil || flow.FlowID == "" {
		return calls.Failed(action, runs.Failure(plan.KindUnexpectedResponse, runs.NotApplied, "%s.%s answered without a flow_id", l.Plugin, l.actions.Start)), nil
	}
	if p, ok := sink.(calls.Prompter); ok && flow.UserCode != "" {
		prompt := runs.Prompt{
			Title: "Log in to connection " + l.Name, URL: flow.VerificationURL, UserCode: flow.UserCode, ExpiresAt: flow.ExpiresAt,
		}
		if because != "" {
			prompt.Message = "this is a new code, the one before is of no use: " + because
		}
		p.Prompt(c.project.Approval(l.Plugin, l.Name, prompt))
	}
	input, err := json.Marshal(map[string]string{"flow_id": flow.FlowID})
	if err != nil {
		return calls.Result{}, fmt.Errorf("encode the flow's id: %w", err)
	}
	waiting := ctx
	if !flow.ExpiresAt.IsZero() {
		left := flow.ExpiresAt.Sub(c.now())
		bounded, cancel := context.WithTimeout(ctx, max(left, 0)+waitGrace)
		defer cancel()
		waiting = bounded
	}
	result, err := c.calls.Call(waiting, calls.Request{Action: action, Connection: l.Name, Input: input, Attempts: waitAttempts}, sink)
	if waiting.Err() != nil && ctx.Err() == nil {
		return calls.Failed(action, &runs.Error{
			Kind: plan.KindExpired, Applied: runs.NotApplied, Message: "the code ended before anybody confirmed it", Hint: diag.Say("start the login again"),
		}), nil
	}
	if ctx.Err() != nil {
		return calls.Result{}, ctx.Err()
	}
	return result, err
}

// refuse says why a connection has no login of its own to log in to, or out of; nil
// where it has. way is "in" or "out".
func (c *Connections) refuse(namedConnection workspace.NamedConnection, way string) *runs.Error {
	if _, err := c.project.Describe(namedConnection.Plugin); err != nil {
		return runs.Failure(plan.KindCrashed, runs.NotApplied, "%v", err)
	}
	if c.project.Login(namedConnection.Plugin) != nil {
		return nil
	}
	if source := c.project.TokenSource(namedConnection); source != "" {
		return &runs.Error{
			Kind: plan.KindInvalid, Applied: runs.NotApplied,
			Message: fmt.Sprintf("connection `%s` takes its token from `%s`: log %s there", namedConnection.Name, source, way),
			Hint:    diag.Sayf("%s", diag.Command{"connections", "log" + way, source}),
		}
	}
	refusal := runs.Failure(plan.KindInvalid, runs.NotApplied, "connection `%s` has no login: plugin %s takes its credentials from the connection's config", namedConnection.Name, namedConnection.Plugin)
	var others []string
	for _, connection := range c.project.ConnectionNames() {
		if c.project.Login(connection.Plugin) != nil {
			others = append(others, connection.Name)
		}
	}
	refusal.Hint = diag.Naming("these have a login: ", others...)
	return refusal
}
