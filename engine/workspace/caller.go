package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
)

// Call sends a call through the plugin host: it resolves the connection and makes
// one attempt.
func (p *Workspace) Call(ctx context.Context, request runs.Request, sink runs.Sink) runs.Answer {
	switch request.Action {
	case runs.CoreNotify:
		return p.notify(ctx, request, sink)
	case runs.CoreRead:
		return p.read(ctx, request)
	}
	connection, err := p.resolve(&request)
	if err != nil {
		return RefusedCall(request.Action, err)
	}
	answer := p.host.Call(ctx, request, connection, sink)
	if pending := answer.Pending; pending != nil && pending.Prompt != nil {
		plugin, _, _ := strings.Cut(request.Action, ".")
		prompt := p.Approval(plugin, request.Connection, *pending.Prompt)
		pending.Prompt = &prompt
	}
	return answer
}

// Reconcile asks the action's plugin what became of a lost call. A plugin that
// can't tell is no error.
func (p *Workspace) Reconcile(ctx context.Context, request runs.Request) (runs.Outcome, error) {
	connection, err := p.resolve(&request)
	if err != nil {
		return runs.Outcome{}, err
	}
	outcome, failure := p.host.Reconcile(ctx, request, connection)
	if failure != nil {
		return runs.Outcome{}, failure
	}
	return outcome, nil
}

// resolve finds the connection of a request, and names it there.
func (p *Workspace) resolve(request *runs.Request) (pluginhost.Connection, error) {
	plugin, _, _ := strings.Cut(request.Action, ".")
	if request.Connection == "" {
		name, err := p.DefaultConnection(plugin)
		if err != nil {
			return pluginhost.Connection{}, err
		}
		request.Connection = name
	}
	resolved, err := p.Connection(plugin, request.Connection)
	if err != nil {
		return pluginhost.Connection{}, err
	}
	return resolved.Connection, nil
}

// RefusedCall is the answer to a call that can't be sent.
func RefusedCall(action string, err error) runs.Answer {
	if outside := AsSandboxError(err); outside != nil {
		failed := outside.failure()
		failed.Action = action
		return runs.Answer{Failed: failed}
	}
	return runs.Answer{Failed: &runs.Error{
		Kind: plan.KindInvalid, Action: action, Applied: runs.NotApplied, Message: fmt.Sprint(err),
	}}
}
