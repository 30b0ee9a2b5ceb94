package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/services"
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
func stateQuery(r *http.Request, required ...string) (workflow, name string, problem *Problem) {
	query := r.URL.Query()
	for key, values := range query {
		if key != "workflow" && key != "name" || len(values) != 1 {
			return "", "", newProblem(CodeBadRequest, fmt.Sprintf("the parameters are workflow and name, each once, not %q", key))
		}
	}
	for _, key := range required {
		if query.Get(key) == "" {
			return "", "", newProblem(CodeBadRequest, fmt.Sprintf("the parameter %s is missing", key))
		}
	}
	return query.Get("workflow"), query.Get("name"), nil
}

func (s *server) state(w http.ResponseWriter, r *http.Request) *Problem {
	workflow, name, problem := stateQuery(r, "workflow")
	if problem != nil {
		return problem
	}
	items, err := s.Memory.State(r.Context(), workflow, name)
	return replyWith(w, newPage(items, ""), err)
}

func (s *server) setState(w http.ResponseWriter, r *http.Request) *Problem {
	var request memory.StateRequest
	if problem := decodeBody(w, r, bodyCap, false, &request); problem != nil {
		return problem
	}
	request.By = by(r.Context(), request.By)
	item, err := s.Memory.SetState(r.Context(), request)
	return replyWith(w, item, err)
}

func (s *server) resetState(w http.ResponseWriter, r *http.Request) *Problem {
	var request memory.StateRequest
	if problem := decodeBody(w, r, bodyCap, false, &request); problem != nil {
		return problem
	}
	request.By = by(r.Context(), request.By)
	names, err := s.Memory.ResetState(r.Context(), request)
	return replyWith(w, ResetAnswer{Workflow: request.Workflow, Reset: names}, err)
}

func (s *server) stateCursors(w http.ResponseWriter, r *http.Request) *Problem {
	workflow, _, problem := stateQuery(r)
	if problem != nil {
		return problem
	}
	items, err := s.Memory.StateCursors(r.Context(), workflow)
	return replyWith(w, newPage(items, ""), err)
}

func (s *server) stateHistory(w http.ResponseWriter, r *http.Request) *Problem {
	workflow, name, problem := stateQuery(r, "workflow", "name")
	if problem != nil {
		return problem
	}
	changes, err := s.Memory.StateHistory(r.Context(), workflow, name)
	return replyWith(w, newPage(changes, ""), err)
}

func (s *server) pluginStates(w http.ResponseWriter, r *http.Request) *Problem {
	_, plugin, problem := stateQuery(r)
	if problem != nil {
		return problem
	}
	states, err := s.Memory.PluginStates(r.Context(), plugin)
	return replyWith(w, newPage(states, ""), err)
}

func (s *server) removePluginState(w http.ResponseWriter, r *http.Request) *Problem {
	var request services.PluginStateRequest
	if problem := decodeBody(w, r, bodyCap, false, &request); problem != nil {
		return problem
	}
	removed, err := s.Memory.RemovePluginState(r.Context(), request)
	return replyWith(w, removed, err)
}

// PluginStates lists what plugins keep, all or one.
func (c *Client) PluginStates(ctx context.Context, plugin string) ([]services.PluginState, error) {
	var page Page[services.PluginState]
	err := c.get(ctx, statePath("/plugins", "", plugin), &page)
	return page.Items, err
}

// RemovePluginState removes what a plugin keeps.
func (c *Client) RemovePluginState(ctx context.Context, r services.PluginStateRequest) (*services.RemovedState, error) {
	removed := new(services.RemovedState)
	return removed, c.post(ctx, "/local/state/plugins/remove", r, removed)
}

// State returns the values of a workflow's state, or one of them.
func (c *Client) State(ctx context.Context, workflow, name string) ([]memory.StateItem, error) {
	var page Page[memory.StateItem]
	err := c.get(ctx, statePath("", workflow, name), &page)
	return page.Items, err
}

// SetState sets a value.
func (c *Client) SetState(ctx context.Context, r memory.StateRequest) (*memory.StateItem, error) {
	response, err := c.send(ctx, http.MethodPut, "/local/state", r, nil)
	if err != nil {
		return nil, err
	}
	item := new(memory.StateItem)
	return item, readJSON(response, item)
}

// ResetState puts defaults in the place of values, and lets cursors begin anew.
func (c *Client) ResetState(ctx context.Context, r memory.StateRequest) (*ResetAnswer, error) {
	answer := new(ResetAnswer)
	return answer, c.post(ctx, "/local/state/reset", r, answer)
}

// StateCursors lists the stored cursors, all or those of a workflow.
func (c *Client) StateCursors(ctx context.Context, workflow string) ([]memory.CursorItem, error) {
	var page Page[memory.CursorItem]
	err := c.get(ctx, statePath("/cursors", workflow, ""), &page)
	return page.Items, err
}

// StateHistory lists what changed a value, the newest last.
func (c *Client) StateHistory(ctx context.Context, workflow, name string) ([]memory.StateChange, error) {
	var page Page[memory.StateChange]
	err := c.get(ctx, statePath("/history", workflow, name), &page)
	return page.Items, err
}

func statePath(rest, workflow, name string) string {
	query := url.Values{}
	if workflow != "" {
		query.Set("workflow", workflow)
	}
	if name != "" {
		query.Set("name", name)
	}
	path := "/local/state" + rest
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}
