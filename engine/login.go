package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
)

// The actions of a plugin that a person logs in with. A plugin has a login when
// it has the first two.
const (
	actionDeviceStart = "device_start"
	actionDeviceWait  = "device_wait"
	actionStatus      = "status"
	actionRevoke      = "revoke"
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

// named is a connection as a command names it.
type named struct{ name, plugin string }

// find returns the connection of that name, or the one that a plugin has under
// its own name without being declared. The error is an *UnknownError.
func (p *Project) find(name string) (named, error) {
	if declared, ok := p.file.Connection(name); ok {
		return named{name, declared.Plugin}, nil
	}
	if slices.Contains(p.pluginNames(), name) {
		return named{name, name}, nil
	}
	var names []string
	for _, connection := range p.connectionNames() {
		names = append(names, connection.name)
	}
	unknown := &fault.UnknownError{What: "connection", Name: name, Hint: diag.DidYouMean(name, names)}
	if unknown.Hint == "" {
		unknown.Hint = "`flowrun connections` lists the connections"
	}
	return named{}, unknown
}

// connectionNames lists the declared connections and, in a sandbox, those that
// the simulated plugins have under their own names.
func (p *Project) connectionNames() []named {
	var all []named
	for _, connection := range p.file.Connections {
		all = append(all, named{connection.Name, connection.Plugin})
	}
	for _, plugin := range p.simulatedPlugins() {
		if _, declared := p.file.Connection(plugin); !declared {
			all = append(all, named{plugin, plugin})
		}
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return all
}

// has reports whether a plugin has an action.
func (p *Project) has(plugin, action string) bool {
	description, err := p.describe(plugin)
	if err != nil {
		return false
	}
	_, found := description.Action(action)
	return found
}

func (p *Project) hasLogin(plugin string) bool {
	return p.has(plugin, actionDeviceStart) && p.has(plugin, actionDeviceWait)
}

// Login lets a person log in to a connection: the plugin gets a code, sink shows
// it, and the plugin polls until the person has decided. A login that was broken
// off goes on with the same code, by its idempotency key. The failure comes in
// the result; an unknown connection is an *UnknownError.
func (e *Engine) Login(ctx context.Context, connection string, request LoginRequest, sink plan.Sink) (CallResult, error) {
	found, err := e.project.find(connection)
	if err != nil {
		return CallResult{}, err
	}
	if refusal := e.project.refuseLogin(found); refusal != nil {
		return CallResult{Error: refusal}, nil
	}
	scopes := e.project.loginScopes(found, request.Scopes)
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
func (e *Engine) loginOnce(ctx context.Context, found named, scopes []string, sink plan.Sink, because string) (CallResult, error) {
	input, err := json.Marshal(map[string]any{"scopes": scopes})
	if err != nil {
		return CallResult{}, fmt.Errorf("encode the scopes: %w", err)
	}
	key, err := e.project.loginKey(found, scopes)
	if err != nil {
		return CallResult{}, err
	}
	started, err := e.Call(ctx, CallRequest{
		Action: found.plugin + "." + actionDeviceStart, Connection: found.name, Input: input,
		Attempts: startAttempts, IdempotencyKey: key,
	}, sink)
	if err != nil || started.Error != nil {
		return started, err
	}
	return e.awaitLogin(ctx, found, started.Outputs, sink, because)
}

// loginKey is the same for the same connection, config and scopes, so that a
// login that is started again is the same one.
func (p *Project) loginKey(found named, scopes []string) (string, error) {
	same, err := json.Marshal([]any{p.settings(found), scopes})
	if err != nil {
		return "", fmt.Errorf("encode the config of connection %s: %w", found.name, err)
	}
	sum := sha256.Sum256(same)
	return "login/" + found.name + "/" + hex.EncodeToString(sum[:8]), nil
}

// deviceFlow is what device_start answers.
type deviceFlow struct {
	FlowID          string    `json:"flow_id"`
	UserCode        string    `json:"user_code"`
	VerificationURL string    `json:"verification_url"`
	ExpiresAt       time.Time `json:"expires_at"`
}

func (e *Engine) awaitLogin(ctx context.Context, found named, outputs json.RawMessage, sink plan.Sink, because string) (CallResult, error) {
	action := found.plugin + "." + actionDeviceWait
	var flow deviceFlow
	if err := json.Unmarshal(outputs, &flow); err != nil || flow.FlowID == "" {
		return failedCall(action, &plan.Error{
			Kind: plan.KindUnexpectedResponse, Applied: plan.NotApplied,
			Message: fmt.Sprintf("%s.%s answered without a flow_id", found.plugin, actionDeviceStart),
		}), nil
	}
	if p, ok := sink.(prompter); ok && flow.UserCode != "" {
		prompt := plan.Prompt{
			Title: "Log in to connection " + found.name, URL: flow.VerificationURL, UserCode: flow.UserCode, ExpiresAt: flow.ExpiresAt,
		}
		if because != "" {
			prompt.Message = "this is a new code, the one before is of no use: " + because
		}
		p.Prompt(e.project.approval(found.plugin, found.name, prompt))
	}
	input, err := json.Marshal(map[string]string{"flow_id": flow.FlowID})
	if err != nil {
		return CallResult{}, fmt.Errorf("encode the flow's id: %w", err)
	}
	waiting := ctx
	if !flow.ExpiresAt.IsZero() {
		left := flow.ExpiresAt.Sub(e.project.config.Now())
		bounded, cancel := context.WithTimeout(ctx, max(left, 0)+waitGrace)
		defer cancel()
		waiting = bounded
	}
	result, err := e.Call(waiting, CallRequest{Action: action, Connection: found.name, Input: input, Attempts: waitAttempts}, sink)
	if waiting.Err() != nil && ctx.Err() == nil {
		return failedCall(action, &plan.Error{
			Kind: plan.KindExpired, Applied: plan.NotApplied, Message: "the code ended before anybody confirmed it", Hint: "start the login again",
		}), nil
	}
	if ctx.Err() != nil {
		return CallResult{}, ctx.Err()
	}
	return result, err
}

// refuseLogin says why a connection has no login of its own; nil where it has.
func (p *Project) refuseLogin(found named) *plan.Error {
	if _, err := p.describe(found.plugin); err != nil {
		return &plan.Error{Kind: plan.KindCrashed, Applied: plan.NotApplied, Message: err.Error()}
	}
	if p.hasLogin(found.plugin) {
		return nil
	}
	if source := p.tokenFrom(found); source != "" {
		return &plan.Error{
			Kind: plan.KindInvalid, Applied: plan.NotApplied,
			Message: fmt.Sprintf("connection `%s` takes its token from `%s`: log in there", found.name, source),
			Hint:    "`flowrun connections login " + source + "`",
		}
	}
	refusal := &plan.Error{
		Kind: plan.KindInvalid, Applied: plan.NotApplied,
		Message: fmt.Sprintf("connection `%s` has no login: plugin %s takes its credentials from the connection's config", found.name, found.plugin),
	}
	var others []string
	for _, connection := range p.connectionNames() {
		if p.hasLogin(connection.plugin) {
			others = append(others, connection.name)
		}
	}
	if len(others) > 0 {
		refusal.Hint = "these have a login: " + strings.Join(others, ", ")
	}
	return refusal
}

// settings returns a connection's config as an object; nil where it is wrong.
func (p *Project) settings(found named) map[string]json.RawMessage {
	connection, err := p.connection(found.plugin, found.name)
	if err != nil {
		return nil
	}
	var settings map[string]json.RawMessage
	if json.Unmarshal(connection.Config, &settings) != nil {
		return nil
	}
	return settings
}

// tokenFrom returns the connection that the token comes from, "" for none.
func (p *Project) tokenFrom(found named) string {
	var source struct {
		Connection string `json:"connection"`
	}
	if json.Unmarshal(p.settings(found)["token_from"], &source) != nil {
		return ""
	}
	return source.Connection
}

// loginScopes are those that were asked for, those of the connection's config,
// or the usual ones.
func (p *Project) loginScopes(found named, asked []string) []string {
	if len(asked) > 0 {
		return asked
	}
	configured := p.settings(found)["scopes"]
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
func (quiet) Log(plan.Log) {}

// Progress does nothing.
func (quiet) Progress(plan.Progress) {}

var _ plan.Sink = quiet{}
