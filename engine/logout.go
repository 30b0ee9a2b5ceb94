package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
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
// An unknown connection is an *UnknownError.
func (e *Engine) Logout(ctx context.Context, connection string) (LogoutResult, error) {
	found, err := e.project.FindConnection(connection)
	if err != nil {
		return LogoutResult{}, err
	}
	if refusal := refuseLogin(e.project, found); refusal != nil {
		refusal.Message = strings.Replace(refusal.Message, ": log in there", ": log out there", 1)
		if login := refusal.Hint.Commands; len(login) == 1 {
			refusal.Hint = diag.Sayf("%s", diag.Command{"connections", "logout", login[0][2]})
		}
		return LogoutResult{Error: refusal}, nil
	}
	if !e.project.HasAction(found.Plugin, workspace.ActionRevoke) {
		return LogoutResult{Error: &runs.Error{
			Kind: plan.KindUnsupported, Applied: runs.NotApplied, Message: fmt.Sprintf("plugin %s can't revoke a token: it has no action %s", found.Plugin, workspace.ActionRevoke),
		}}, nil
	}
	if e.tokenState(ctx, found) == "none" {
		return LogoutResult{Forgotten: true}, nil
	}
	answer, err := e.revoke(ctx, found)
	if err != nil {
		return LogoutResult{}, err
	}
	if !answer.Revoked { // whoever logs out is not logged in here any more, whatever the service says
		if err := e.project.Services().ForgetToken(found.Plugin, found.Name); err != nil {
			return answer, e.Fault(fmt.Errorf("forget the token of connection %s: %w", found.Name, err))
		}
	}
	answer.Forgotten = true
	return answer, nil
}

// revoke calls the plugin's action, once: the token may be gone with the first
// attempt.
func (e *Engine) revoke(ctx context.Context, found workspace.NamedConnection) (LogoutResult, error) {
	input, err := revokeInput(e.project, found.Plugin)
	if err != nil {
		return LogoutResult{}, err
	}
	result, err := e.Call(ctx, CallRequest{Action: found.Plugin + "." + workspace.ActionRevoke, Connection: found.Name, Input: input}, quiet{})
	if err != nil || result.Error != nil {
		return LogoutResult{Error: result.Error}, err
	}
	var said struct{ Revoked bool }
	if err := json.Unmarshal(result.Outputs, &said); err != nil {
		return LogoutResult{}, fmt.Errorf("read what %s.%s answered: %w", found.Plugin, workspace.ActionRevoke, err)
	}
	if !said.Revoked {
		return LogoutResult{Error: &runs.Error{
			Kind: plan.KindUnexpectedResponse, Applied: runs.AppliedUnknown, Action: found.Plugin + "." + workspace.ActionRevoke,
			Message: "the service did not withdraw the token",
		}}, nil
	}
	return LogoutResult{Revoked: true}, nil
}

// revokeInput fills in what the plugin's action takes: the access token, with
// which its refresh token goes, forgotten whatever the service says.
func revokeInput(p *workspace.Workspace, plugin string) (json.RawMessage, error) {
	action, err := p.Action(plugin + "." + workspace.ActionRevoke)
	if err != nil {
		return nil, err
	}
	inputType, err := schema.FromJSON(action.Input)
	if err != nil {
		return nil, fmt.Errorf("input schema of %s: %w", action.FullName(), err)
	}
	input := map[string]any{}
	for name, value := range map[string]any{"which": "access", "forget": true} {
		if _, known := inputType.Field(name); known {
			input[name] = value
		}
	}
	return json.Marshal(input)
}

// tokenState is the state of the stored token, "" where the plugin can't tell.
func (e *Engine) tokenState(ctx context.Context, found workspace.NamedConnection) string {
	if !e.project.HasAction(found.Plugin, workspace.ActionStatus) {
		return ""
	}
	return e.loginState(ctx, found).State
}
