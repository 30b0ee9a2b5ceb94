package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
)

// caller sends the calls of runs through the plugin host.
type caller struct{ project *Project }

var _ local.Caller = caller{}

// Call resolves the connection and makes one attempt.
func (c caller) Call(ctx context.Context, request plan.Request, sink plan.Sink) plan.Answer {
	if request.Action == interp.ActionNotify {
		return c.project.notify(ctx, request, sink)
	}
	plugin, _, _ := strings.Cut(request.Action, ".")
	if request.Connection == "" {
		name, err := c.project.defaultConnection(plugin)
		if err != nil {
			return refused(request.Action, err)
		}
		request.Connection = name
	}
	connection, err := c.project.connection(plugin, request.Connection)
	if err != nil {
		return refused(request.Action, err)
	}
	return c.project.host.Call(ctx, request, connection.Connection, sink)
}

// refused is the answer to a call that can't be sent.
func refused(action string, err error) plan.Answer {
	return plan.Answer{Failed: &plan.Error{
		Kind: plan.KindInvalid, Action: action, Applied: plan.NotApplied, Message: fmt.Sprint(err),
	}}
}
