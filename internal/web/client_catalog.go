package web

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Validate returns the problems of the text of a workflow.
func (c *Client) Validate(ctx context.Context, r ValidateRequest) (*ValidateAnswer, error) {
	return post[ValidateAnswer](ctx, c, "/validate", r)
}

// Plan returns what a run would do.
func (c *Client) Plan(ctx context.Context, r PlanRequest) (*preview.Preview, error) {
	return post[preview.Preview](ctx, c, "/plan", r)
}

// Test runs the tests of a workflow.
func (c *Client) Test(ctx context.Context, r TestRequest) (*workspace.TestSummary, error) {
	return post[workspace.TestSummary](ctx, c, "/test", r)
}

// Actions lists the actions of a plugin; core holds the engine's own.
func (c *Client) Actions(ctx context.Context, plugin string) ([]ActionItem, error) {
	return fetchAll[ActionItem](ctx, c, "/plugins/"+url.PathEscape(plugin)+"/actions")
}

// Action returns one action with its schemas.
func (c *Client) Action(ctx context.Context, plugin, action string) (*ActionDetail, error) {
	return fetch[ActionDetail](ctx, c, "/plugins/"+url.PathEscape(plugin)+"/actions/"+url.PathEscape(action))
}

// WorkflowSchema returns the JSON Schema of workflows with the project's actions.
func (c *Client) WorkflowSchema(ctx context.Context) (json.RawMessage, error) {
	schema, err := fetch[json.RawMessage](ctx, c, "/schemas/workflow")
	return *schema, err
}

// LogPage returns one page of the log lines of a run: the newest where Tail is set,
// else the first; cursor is the NextCursor of the page before.
func (c *Client) LogPage(ctx context.Context, id string, asked LogsAsked, limit int, cursor string) (*Page[runs.Log], error) {
	query := asked.query()
	if asked.Tail > 0 {
		query.Set("tail", strconv.Itoa(asked.Tail))
	} else if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return fetch[Page[runs.Log]](ctx, c, wire.WithQuery(runPath(id, "/logs"), query))
}
