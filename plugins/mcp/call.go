package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/sdk"
)

// The reasons of failures that are declared.
const (
	reasonTool   = "tool_error"
	reasonNoTool = "no_tool"
)

// execute calls the tool of a recipe.
func (p *plugin) execute(c *call, text []byte, input sdk.Value) (sdk.Value, error) {
	var r recipe
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the recipe: %w", err)
	}
	if c.Config.Simulated != "" {
		c.Log().Info("simulated: " + r.Tool)
		return r.Sample, nil
	}
	own, to, err := p.session(c)
	if err != nil {
		return nil, err
	}
	defer own.done()
	params := &mcp.CallToolParams{Name: r.Tool, Arguments: input}
	token := strconv.FormatInt(progressTokens.Add(1), 10)
	params.SetProgressToken(token)
	defer own.hear(token, to)()
	ctx, refused := withRefusal(c)
	result, err := own.client.CallTool(ctx, params)
	if err != nil {
		if own.server != nil && !answered(err) && ctx.Err() == nil {
			p.sessions.forget(c.Connection(), own) // the next call opens another one, though this server may still be ending
		}
		return nil, own.notCalled(ctx, r.Tool, err, refused)
	}
	if result.IsError {
		failure := sdk.Errorf(sdk.CodeInternal, "the tool %s says: %s", r.Tool, sdk.Shown(textOf(result.Content), 500)).WithReason(reasonTool).WithHint("these are the words of the tool: it has ended, and is not called again by itself")
		failure.Applied = sdk.AppliedPartly // it has ended, and nothing is lost
		return nil, failure
	}
	return r.output(result)
}

// progressTokens tell the calls of a process apart.
var progressTokens atomic.Int64

// session is that of the call's connection.
func (p *plugin) session(c *call) (*session, *ear, error) {
	token, err := c.AccessToken(c.Config.TokenSettings)
	if err != nil {
		return nil, nil, err
	}
	to := &ear{progress: c.Progress, log: func(level, text string) {
		switch level {
		case "debug":
			c.Log().Debug(text)
		case "warning":
			c.Log().Warn(text)
		case "error", "critical", "alert", "emergency":
			c.Log().Error(text)
		default:
			c.Log().Info(text)
		}
	}}
	own, err := p.sessions.of(c, c.Connection(), c.Config, token, to)
	return own, to, err
}

// answered reports whether an error is what the server answered.
func answered(err error) bool {
	_, ok := errors.AsType[*jsonrpc.Error](err)
	return ok
}

// notCalled makes the error of a call that has no answer.
func (s *session) notCalled(ctx context.Context, tool string, err error, refused *refusal) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok {
		said := sdk.Shown(answer.Message, 500)
		switch {
		case answer.Code == jsonrpc.CodeMethodNotFound, answer.Code == jsonrpc.CodeInvalidParams && strings.Contains(strings.ToLower(said), "unknown tool"), answer.Code == jsonrpc.CodeInvalidParams && strings.Contains(strings.ToLower(said), "not found"):
			return sdk.Refused(sdk.CodeNotFound, "the server has no tool %s: %s", tool, said).WithReason(reasonNoTool).WithHint("capture its tools anew: flowrun mcp tools")
		case answer.Code == jsonrpc.CodeInvalidParams:
			return sdk.Refused(sdk.CodeInvalid, "the server does not take the arguments of %s: %s", tool, said)
		}
		return sdk.Errorf(sdk.CodeInternal, "the server failed at %s: %s", tool, said)
	}
	if failure := refused.get(); failure != nil {
		return failure
	}
	failure := sdk.Errorf(sdk.CodeUnavailable, "the server gave no answer to %s: %s", tool, sdk.Shown(err.Error(), 300))
	if s.server != nil {
		if last := s.server.lastWords(); last != "" {
			failure.Message += "; it said: " + last
		}
	}
	return failure
}

// output makes the output of an answer. What does not fit the tool's own schema is told by
// who checks it.
func (r recipe) output(result *mcp.CallToolResult) (sdk.Value, error) {
	blocks := make([]sdk.Value, 0, len(result.Content))
	for _, block := range result.Content {
		if made := blockOf(block); made != nil {
			blocks = append(blocks, made)
		}
	}
	output := sdk.Members{{Name: "text", Value: sdk.Text(textOf(result.Content))}, {Name: "content", Value: sdk.JSON(blocks)}}
	if r.Data {
		data := structured(result)
		if data == nil {
			failure := sdk.Errorf(sdk.CodeUnexpectedResponse, "the tool %s gave no structured content, which its schema promises", r.Tool)
			failure.Applied = sdk.AppliedFully
			return nil, failure
		}
		output = append(output, sdk.Member{Name: "data", Value: data})
	}
	return output.JSON(), nil
}

// textOf are the texts of an answer, one behind the other.
func textOf(content []mcp.Content) string {
	var texts []string
	for _, block := range content {
		switch block := block.(type) {
		case *mcp.TextContent:
			texts = append(texts, block.Text)
		case *mcp.EmbeddedResource:
			if block.Resource != nil && block.Resource.Text != "" {
				texts = append(texts, block.Resource.Text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// blockOf is one block of an answer, nil for one that is unknown.
func blockOf(block mcp.Content) sdk.Value {
	switch block := block.(type) {
	case *mcp.TextContent:
		return sdk.JSON(map[string]any{"type": "text", "text": block.Text})
	case *mcp.ImageContent:
		return sdk.JSON(map[string]any{"type": "image", "mime_type": block.MIMEType, "base64": base64.StdEncoding.EncodeToString(block.Data)})
	case *mcp.AudioContent:
		return sdk.JSON(map[string]any{"type": "audio", "mime_type": block.MIMEType, "base64": base64.StdEncoding.EncodeToString(block.Data)})
	case *mcp.ResourceLink:
		made := map[string]any{"type": "resource_link", "uri": block.URI, "name": block.Name}
		if block.MIMEType != "" {
			made["mime_type"] = block.MIMEType
		}
		if block.Size != nil {
			made["size"] = *block.Size
		}
		return sdk.JSON(made)
	case *mcp.EmbeddedResource:
		if block.Resource == nil {
			return nil
		}
		made := map[string]any{"type": "resource", "uri": block.Resource.URI}
		if block.Resource.MIMEType != "" {
			made["mime_type"] = block.Resource.MIMEType
		}
		if block.Resource.Blob != nil {
			made["base64"] = base64.StdEncoding.EncodeToString(block.Resource.Blob)
		} else {
			made["text"] = block.Resource.Text
		}
		return sdk.JSON(made)
	}
	return nil
}

// checkConnection opens a session and compares the server's tools with those that the
// project knows.
func (p *plugin) checkConnection(c *call) (string, error) {
	if c.Config.Simulated != "" {
		return "a simulator", nil
	}
	var known connectionRecipe
	if text := c.Recipe(); len(text) > 0 {
		if err := json.Unmarshal(text, &known); err != nil {
			return "", fmt.Errorf("read the connection's recipe: %w", err)
		}
	}
	own, _, err := p.session(c)
	if err != nil {
		return "", err
	}
	defer own.done()
	ctx, refused := withRefusal(c)
	document, err := own.list(ctx)
	if err != nil {
		return "", own.notCalled(ctx, "tools/list", err, refused)
	}
	now := map[string]string{}
	for _, t := range document.Tools {
		now[t.Name] = t.digest()
	}
	var gone, changed []string
	for name, digest := range known.Tools {
		switch now[name] {
		case "":
			gone = append(gone, name)
		case digest:
		default:
			changed = append(changed, name)
		}
	}
	slices.Sort(gone)
	slices.Sort(changed)
	if len(gone)+len(changed) > 0 {
		return "", sdk.Errorf(sdk.CodeConflict, "the tools of the server are not those of the project: gone %s; changed %s", listed(gone), listed(changed)).WithHint("capture them anew: flowrun mcp tools")
	}
	return fmt.Sprintf("%s, %d tools", sdk.Shown(strings.TrimSpace(document.Server.Name+" "+document.Server.Version), 100), len(document.Tools)), nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return sdk.Shown(strings.Join(names, ", "), 200)
}
