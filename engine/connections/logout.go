package connections

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// LogoutResult says what a logout did.
type LogoutResult struct {
	Revoked   bool        `json:"revoked"`         // the service has withdrawn the token
	Forgotten bool        `json:"forgotten"`       // no token is stored any more
	Error     *runs.Error `json:"error,omitempty"` // why it was not revoked
}

// Logout withdraws a connection's token at the service and forgets it here. It
// is forgotten even if the service does not withdraw it, which Error tells then.
// An unknown connection is a *fault.UnknownError.
func (c *Connections) Logout(ctx context.Context, connection string) (LogoutResult, error) {
	namedConnection, err := c.project.FindConnection(connection)
	if err != nil {
		return LogoutResult{}, err
	}
	if refusal := c.refuse(namedConnection, "out"); refusal != nil {
		return LogoutResult{Error: refusal}, nil
	}
	revoke := c.project.Login(namedConnection.Plugin).Revoke
	if revoke == "" {
		return LogoutResult{Error: runs.Failure(plan.KindUnsupported, runs.NotApplied, "plugin %s can't revoke a token: its login names no action for it", namedConnection.Plugin)}, nil
	}
	if c.loginState(ctx, namedConnection).State == workspace.LoginNone {
		return LogoutResult{Forgotten: true}, nil
	}
	answer, err := c.revoke(ctx, namedConnection, namedConnection.Plugin+"."+revoke)
	if err != nil {
		return LogoutResult{}, err
	}
	if !answer.Revoked { // whoever logs out is not logged in here any more, whatever the service says
		if err := c.project.Services().ForgetToken(namedConnection.Plugin, namedConnection.Name); err != nil {
			return answer, c.fault(fmt.Errorf("forget the token of connection %s: %w", namedConnection.Name, err))
		}
	}
	answer.Forgotten = true
	return answer, nil
}

// revoke calls the plugin's action, once: the token may be gone with the first
// attempt.
func (c *Connections) revoke(ctx context.Context, connection workspace.NamedConnection, action string) (LogoutResult, error) {
	input := json.RawMessage("{}")
	if plugin, name, _ := strings.Cut(action, "."); c.takes(plugin, name, "forget") {
		input = json.RawMessage(`{"forget":true}`) // whatever the service says
	}
	result, err := c.calls.Call(ctx, calls.Request{Action: action, Connection: connection.Name, Input: input}, quiet{})
	if err != nil || result.Error != nil {
		return LogoutResult{Error: result.Error}, err
	}
	var said struct{ Revoked bool }
	if err := json.Unmarshal(result.Outputs, &said); err != nil {
		return LogoutResult{}, fmt.Errorf("read what %s answered: %w", action, err)
	}
	if !said.Revoked {
		return LogoutResult{Error: &runs.Error{
			Kind: plan.KindUnexpectedResponse, Applied: runs.AppliedUnknown, Action: action, Message: "the service did not withdraw the token",
		}}, nil
	}
	return LogoutResult{Revoked: true}, nil
}
