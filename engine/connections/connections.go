// Package connections is what a person does with a connection: look at it, try it, log
// in and out. Which actions a login is made of says the plugin.
package connections

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Calls make calls of actions.
type Calls interface {
	// Call makes one call; its own failure comes in the result.
	Call(ctx context.Context, request calls.Request, sink runs.Sink) (calls.Result, error)
	// LackingSettings is the failure of a call whose connection lacks a setting; nil
	// where it lacks none.
	LackingSettings(plugin, connection string) *runs.Error
}

// Connections are those of a project, with an engine that calls their plugins. Safe for
// concurrent use.
type Connections struct {
	project *workspace.Workspace
	calls   Calls
	fault   func(error) error
	now     func() time.Time
}

// New returns the connections of a project. fault makes the engine's own errors of the
// store's.
func New(project *workspace.Workspace, calls Calls, fault func(error) error) *Connections {
	return &Connections{project: project, calls: calls, fault: fault, now: project.Config().Now}
}

// statusTimeout bounds the question after one connection's token.
const statusTimeout = 10 * time.Second

// ListConnections lists the declared connections and, in a sandbox, those of the
// simulators. Nothing is asked of a service.
func (c *Connections) ListConnections(ctx context.Context) []workspace.ConnectionStatus {
	list := c.project.ListConnections(ctx)
	var group sync.WaitGroup
	for i := range list {
		if list[i].Login == nil {
			continue
		}
		group.Go(func() {
			list[i].Login = c.loginState(ctx, workspace.NamedConnection{Name: list[i].Name, Plugin: list[i].Plugin})
		})
	}
	group.Wait()
	return list
}

// loginState asks the plugin what it knows of its login.
func (c *Connections) loginState(ctx context.Context, connection workspace.NamedConnection) *workspace.LoginState {
	state := &workspace.LoginState{State: workspace.LoginUnknown}
	login := c.project.Login(connection.Plugin)
	if login == nil || login.Status == "" {
		return state
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	result, err := c.calls.Call(ctx, calls.Request{Action: connection.Plugin + "." + login.Status, Connection: connection.Name}, quiet{})
	if err == nil && result.Error != nil {
		err = fmt.Errorf("%s: %s", result.Error.Kind, result.Error.Message)
	}
	if err == nil {
		err = json.Unmarshal(result.Outputs, state)
	}
	if err != nil {
		return &workspace.LoginState{State: workspace.LoginUnknown, Error: err.Error()}
	}
	return state
}

// quiet is a sink that shows nothing.
type quiet struct{}

// Log does nothing.
func (quiet) Log(runs.Log) {}

// Progress does nothing.
func (quiet) Progress(runs.Progress) {}

var _ runs.Sink = quiet{}
