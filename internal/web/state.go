package web

import (
	"context"
	"fmt"
	"net/http"

	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Memory is what the API needs of an engine to act on what workflows keep
// between runs.
type Memory interface {
	State(ctx context.Context, workflow, name string) ([]memory.StateItem, error)
	SetState(ctx context.Context, r memory.StateRequest) (*memory.StateItem, error)
	ResetState(ctx context.Context, r memory.StateRequest) ([]string, error)
	StateCursors(ctx context.Context, workflow string) ([]memory.CursorItem, error)
	StateHistory(ctx context.Context, workflow, name string) ([]memory.StateChange, error)
	PluginStates(ctx context.Context, plugin string) ([]services.PluginState, error)
	RemovePluginState(ctx context.Context, r services.PluginStateRequest) (*services.RemovedState, error)
}

// ResetAnswer names what was reset.
type ResetAnswer struct {
	Workflow string   `json:"workflow"`
	Reset    []string `json:"reset"`
}

// stateQuery returns the parameters workflow and name. Names may hold what a
// path can't.
func stateQuery(r *http.Request, required ...string) (workflow, name string, err error) {
	query := r.URL.Query()
	for key, values := range query {
		if key != "workflow" && key != "name" || len(values) != 1 {
			return "", "", wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("the parameters are workflow and name, each once, not %q", key))
		}
	}
	for _, key := range required {
		if query.Get(key) == "" {
			return "", "", wire.NewProblem(wire.CodeBadRequest, fmt.Sprintf("the parameter %s is missing", key))
		}
	}
	return query.Get("workflow"), query.Get("name"), nil
}

// selecting serves a list of what the parameters workflow and name select.
func selecting[T any](list func(s *server, ctx context.Context, workflow, name string) ([]T, error), required ...string) handler {
	return listing(func(s *server, r *http.Request) ([]T, error) {
		workflow, name, err := stateQuery(r, required...)
		if err != nil {
			return nil, err
		}
		return list(s, r.Context(), workflow, name)
	})
}

func (s *server) setState(ctx context.Context, request memory.StateRequest) (*memory.StateItem, error) {
	request.By = by(ctx, request.By)
	return s.Memory.SetState(ctx, request)
}

func (s *server) resetState(ctx context.Context, request memory.StateRequest) (ResetAnswer, error) {
	request.By = by(ctx, request.By)
	names, err := s.Memory.ResetState(ctx, request)
	return ResetAnswer{Workflow: request.Workflow, Reset: names}, err
}

func (s *server) stateCursors(ctx context.Context, workflow, _ string) ([]memory.CursorItem, error) {
	return s.Memory.StateCursors(ctx, workflow)
}

func (s *server) pluginStates(ctx context.Context, _, plugin string) ([]services.PluginState, error) {
	return s.Memory.PluginStates(ctx, plugin)
}

// PluginStates lists what plugins keep, all or one.
func (c *Client) PluginStates(ctx context.Context, plugin string) ([]services.PluginState, error) {
	return fetchAll[services.PluginState](ctx, c, statePath("/plugins", "", plugin))
}

// RemovePluginState removes what a plugin keeps.
func (c *Client) RemovePluginState(ctx context.Context, r services.PluginStateRequest) (*services.RemovedState, error) {
	return post[services.RemovedState](ctx, c, "/local/state/plugins/remove", r)
}

// State returns the values of a workflow's state, or one of them.
func (c *Client) State(ctx context.Context, workflow, name string) ([]memory.StateItem, error) {
	return fetchAll[memory.StateItem](ctx, c, statePath("", workflow, name))
}

// SetState sets a value.
func (c *Client) SetState(ctx context.Context, r memory.StateRequest) (*memory.StateItem, error) {
	return ask[memory.StateItem](ctx, c, http.MethodPut, "/local/state", r, nil)
}

// ResetState puts defaults in the place of values, and lets cursors begin anew.
func (c *Client) ResetState(ctx context.Context, r memory.StateRequest) (*ResetAnswer, error) {
	return post[ResetAnswer](ctx, c, "/local/state/reset", r)
}

// StateCursors lists the stored cursors, all or those of a workflow.
func (c *Client) StateCursors(ctx context.Context, workflow string) ([]memory.CursorItem, error) {
	return fetchAll[memory.CursorItem](ctx, c, statePath("/cursors", workflow, ""))
}

// StateHistory lists what changed a value, the newest last.
func (c *Client) StateHistory(ctx context.Context, workflow, name string) ([]memory.StateChange, error) {
	return fetchAll[memory.StateChange](ctx, c, statePath("/history", workflow, name))
}

func statePath(rest, workflow, name string) string {
	return wire.WithQuery("/local/state"+rest, wire.Query("workflow", workflow, "name", name))
}
