package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/trigger"
)

// Workflows lists the workflows of the project with their problems.
func (c *Client) Workflows(ctx context.Context) ([]engine.WorkflowInfo, error) {
	return fetchAll[engine.WorkflowInfo](ctx, c, "/workflows")
}

// Workflow returns one workflow by its name.
func (c *Client) Workflow(ctx context.Context, name string) (*engine.WorkflowDetail, error) {
	return fetch[engine.WorkflowDetail](ctx, c, "/workflows/"+url.PathEscape(name))
}

// DisableWorkflow keeps all triggers of a workflow from starting runs.
func (c *Client) DisableWorkflow(ctx context.Context, name string, r trigger.PauseRequest) (*engine.WorkflowDetail, error) {
	return post[engine.WorkflowDetail](ctx, c, "/workflows/"+url.PathEscape(name)+"/disable", r)
}

// EnableWorkflow lets the triggers of a workflow start runs again.
func (c *Client) EnableWorkflow(ctx context.Context, name string) (*engine.WorkflowDetail, error) {
	return post[engine.WorkflowDetail](ctx, c, "/workflows/"+url.PathEscape(name)+"/enable", struct{}{})
}

// StartNamed starts a run of a workflow of the project and waits for its end at
// most so long; 0 = not at all.
func (c *Client) StartNamed(ctx context.Context, name string, r engine.NamedStart, wait time.Duration) (*StartAnswer, error) {
	body := StartBody{ScheduledAt: r.ScheduledAt, By: r.By}
	body.Inputs, body.Texts = splitInputs(r.Inputs)
	path := "/workflows/" + url.PathEscape(name) + "/runs"
	if wait > 0 {
		path += "?wait=" + wait.String()
	}
	header := http.Header{}
	if r.RequestID != "" {
		header.Set("Idempotency-Key", r.RequestID)
	}
	return ask[StartAnswer](ctx, c, http.MethodPost, path, body, header)
}
