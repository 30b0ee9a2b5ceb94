package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/docs"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Addresses of resources.
const (
	docsPrefix   = "flowrun://docs/"
	codePrefix   = docsPrefix + "codes/"
	jobPrefix    = docsPrefix + "jobs/"
	schemaPrefix = "flowrun://schemas/actions/"
	schemaURI    = "flowrun://schemas/workflow"
	runsURI      = "flowrun://runs"
	runPrefix    = runsURI + "/"
)

// Media types of resources.
const (
	markdown = "text/markdown"
	plain    = "text/plain"
	yaml     = "application/yaml"
	jsonType = "application/json"
)

// maxListedRuns is how many runs the list has.
const maxListedRuns = 50

// addResources adds what can be read. Each costs what it holds when it is read, and
// nothing before.
func (d *desk) addResources(server *mcp.Server) {
	for _, page := range docs.Pages() {
		server.AddResource(&mcp.Resource{URI: docsPrefix + page.Name, Name: page.Name, Title: page.Title, MIMEType: markdown, Size: int64(len(page.Text))}, fixed(markdown, page.Text))
	}
	server.AddResource(&mcp.Resource{URI: docsPrefix + "codes", Name: "codes", Title: "Codes of problems", MIMEType: markdown}, func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return content(request.Params.URI, markdown, diag.Markdown(diag.Pages())), nil
	})
	server.AddResource(&mcp.Resource{URI: docsPrefix + "jobs", Name: "jobs", Title: "Jobs to copy", MIMEType: markdown}, fixed(markdown, jobList()))
	server.AddResource(&mcp.Resource{URI: schemaURI, Name: "workflow-schema", Title: "The JSON Schema of workflows with the actions of this project", MIMEType: jsonType}, d.readSchema)
	server.AddResource(&mcp.Resource{URI: runsURI, Name: "runs", Title: "The newest runs", MIMEType: jsonType}, d.readRuns)
	for _, of := range []struct {
		uri, name, title, media string
		read                    func(ctx context.Context, name string) (string, error)
	}{
		{codePrefix, "code", "What a code of a problem means", plain, readCode},
		{jobPrefix, "job", "The files of a job to copy", yaml, readJob},
		{schemaPrefix, "action", "The schemas of an action", jsonType, d.readAction},
		{runPrefix, "run", "A run with its steps and outputs", jsonType, d.readRun},
	} {
		server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: of.uri + "{name}", Name: of.name, Title: of.title, MIMEType: of.media}, func(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			escaped, ok := strings.CutPrefix(request.Params.URI, of.uri)
			name, err := url.PathUnescape(escaped)
			if !ok || err != nil || name == "" || len(name) > 400 {
				return nil, mcp.ResourceNotFoundError(request.Params.URI)
			}
			text, err := of.read(ctx, name)
			if problem, is := errors.AsType[*web.Problem](err); err == nil && text == "" || is && problem.Code == wire.CodeNotFound {
				return nil, mcp.ResourceNotFoundError(request.Params.URI)
			}
			if err != nil {
				return nil, errors.New(failureText(err))
			}
			return content(request.Params.URI, of.media, text), nil
		})
	}
}

// content is a resource that is one text.
func content(uri, media, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: media, Text: text}}}
}

// fixed serves a text that is known.
func fixed(media, text string) mcp.ResourceHandler {
	return func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return content(request.Params.URI, media, text), nil
	}
}

func jobList() string {
	text := "# Jobs to copy\n\nAutomations that run as they stand, each with its tests:\n\n"
	for _, name := range docs.Jobs() {
		text += "- " + jobPrefix + name + "\n"
	}
	return text
}

func readCode(_ context.Context, code string) (string, error) {
	text, _ := diag.Explain(strings.ToUpper(code))
	return text, nil
}

func readJob(_ context.Context, name string) (string, error) { return docs.Job(name), nil }

func (d *desk) readSchema(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	var schema json.RawMessage
	err := d.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) (err error) {
		schema, err = client.WorkflowSchema(ctx)
		return err
	})
	if err != nil {
		return nil, errors.New(failureText(err))
	}
	return content(request.Params.URI, jsonType, string(schema)), nil
}

func (d *desk) readAction(ctx context.Context, name string) (string, error) {
	plugin, action, _ := strings.Cut(name, ".")
	var detail *web.ActionDetail
	err := d.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) (err error) {
		detail, err = client.Action(ctx, plugin, action)
		return err
	})
	if err != nil {
		return "", err
	}
	return encoded(map[string]any{"action": name, "effect": detail.Effect, "doc": detail.Doc, "input_schema": detail.InputSchema, "output_schema": detail.OutputSchema})
}

func (d *desk) readRuns(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	var page *web.Page[runs.Run]
	err := d.Lend(ctx, NeedStore, func(ctx context.Context, client *web.Client) (err error) {
		page, err = client.Runs(ctx, runs.Filter{Limit: maxListedRuns})
		return err
	})
	if err != nil {
		return nil, errors.New(failureText(err))
	}
	text, err := encoded(page)
	return content(request.Params.URI, jsonType, text), err
}

func (d *desk) readRun(ctx context.Context, id string) (string, error) {
	result, err := call{desk: d}.result(ctx, id, "")
	if err != nil {
		return "", err
	}
	return encoded(newRunView(result))
}

func encoded(value any) (string, error) {
	data, err := wire.EncodeJSON(value)
	return strings.TrimSpace(string(data)), err
}
