package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// statusTimeout bounds the question after one connection's token.
const statusTimeout = 10 * time.Second

// ListConnections lists the declared connections and, in a sandbox, those of the
// simulators. Nothing is asked of a service.
func (e *Engine) ListConnections(ctx context.Context) []ConnectionStatus {
	list := e.project.ListConnections(ctx)
	var asked sync.WaitGroup
	for i := range list {
		if list[i].Login == nil {
			continue
		}
		asked.Go(func() {
			list[i].Login = e.loginState(ctx, named{list[i].Name, list[i].Plugin})
		})
	}
	asked.Wait()
	return list
}

// loginState asks the plugin what it knows of its token.
func (e *Engine) loginState(ctx context.Context, found named) *LoginState {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	result, err := e.Call(ctx, CallRequest{Action: found.plugin + "." + actionStatus, Connection: found.name}, quiet{})
	if err == nil && result.Error != nil {
		err = fmt.Errorf("%s: %s", result.Error.Kind, result.Error.Message)
	}
	state := new(LoginState)
	if err == nil {
		err = json.Unmarshal(result.Outputs, state)
	}
	if err != nil {
		return &LoginState{State: "unknown", Error: err.Error()}
	}
	return state
}
