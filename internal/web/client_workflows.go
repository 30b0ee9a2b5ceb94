package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/flowrun/flowrun/engine"
)

// Workflows lists the workflows of the project with their problems.
func (c *Client) Workflows(ctx context.Context) ([]engine.WorkflowInfo, error) {
	var page Page[engine.WorkflowInfo]
	err := c.get(ctx, "/workflows", &page)
	return page.Items, err
}

// Workflow returns one workflow by its name.
func (c *Client) Workflow(ctx context.Context, name string) (*engine.WorkflowDetail, error) {
	detail := new(engine.WorkflowDetail)
	return detail, c.get(ctx, "/workflows/"+url.PathEscape(name), detail)
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
	response, err := c.send(ctx, http.MethodPost, path, body, header)
	if err != nil {
		return nil, err
	}
	answer := new(StartAnswer)
	return answer, readJSON(response, answer)
}
