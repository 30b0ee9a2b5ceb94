package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/workspace"
)

// statusTimeout bounds the question after one connection's token.
const statusTimeout = 10 * time.Second

// ListConnections lists the declared connections and, in a sandbox, those of the
// simulators. Nothing is asked of a service.
func (e *Engine) ListConnections(ctx context.Context) []workspace.ConnectionStatus {
	list := e.project.ListConnections(ctx)
	var asked sync.WaitGroup
	for i := range list {
		if list[i].Login == nil {
			continue
		}
		asked.Go(func() {
			list[i].Login = e.loginState(ctx, workspace.NamedConnection{Name: list[i].Name, Plugin: list[i].Plugin})
		})
	}
	asked.Wait()
	return list
}

// loginState asks the plugin what it knows of its token.
func (e *Engine) loginState(ctx context.Context, found workspace.NamedConnection) *workspace.LoginState {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	result, err := e.Call(ctx, CallRequest{Action: found.Plugin + "." + workspace.ActionStatus, Connection: found.Name}, quiet{})
	if err == nil && result.Error != nil {
		err = fmt.Errorf("%s: %s", result.Error.Kind, result.Error.Message)
	}
	state := new(workspace.LoginState)
	if err == nil {
		err = json.Unmarshal(result.Outputs, state)
	}
	if err != nil {
		return &workspace.LoginState{State: "unknown", Error: err.Error()}
	}
	return state
}
