package mcpserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/docs"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web"
)

// maxCompletions is how many values complete a word, by the protocol.
const maxCompletions = 100

// complete tells a person at a client what may stand in the address of a resource or in
// an argument of a prompt.
func (d *desk) complete(ctx context.Context, request *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var names []string
	var err error
	switch ref, argument := request.Params.Ref, request.Params.Argument.Name; {
	case ref.Type == "ref/prompt" && ref.Name == "mend_run" && argument == "run":
		names, err = d.runIDs(ctx, runs.Filter{Status: runs.RunFailed, Limit: maxListedRuns})
	case ref.Type != "ref/resource" || argument != "name":
	case ref.URI == runPrefix+"{name}":
		names, err = d.runIDs(ctx, runs.Filter{Limit: maxListedRuns})
	case ref.URI == codePrefix+"{name}":
		names = diag.NamesOf(diag.Pages(), func(page diag.Page) string { return page.Code })
	case ref.URI == jobPrefix+"{name}":
		names = docs.Jobs()
	case ref.URI == schemaPrefix+"{name}":
		names, err = d.actionNames(ctx)
	}
	if err != nil {
		return nil, errors.New(failureText(err))
	}
	typed := strings.ToLower(request.Params.Argument.Value)
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(strings.ToLower(name), typed) })
	shown := append([]string{}, names[:min(len(names), maxCompletions)]...)
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: shown, Total: len(names), HasMore: len(names) > len(shown)}}, nil
}

func (d *desk) runIDs(ctx context.Context, filter runs.Filter) (ids []string, err error) {
	err = d.Lend(ctx, NeedStore, func(ctx context.Context, client *web.Client) error {
		page, err := client.Runs(ctx, filter)
		ids = diag.NamesOf(page.Items, func(run runs.Run) string { return run.ID })
		return err
	})
	return ids, err
}

// actionNames are those of the plugins that can be described.
func (d *desk) actionNames(ctx context.Context) (names []string, err error) {
	err = d.Lend(ctx, NeedFiles, func(ctx context.Context, client *web.Client) error {
		names = nil // where this is asked again
		plugins, err := client.Plugins(ctx)
		for _, plugin := range append(plugins, workspace.PluginInfo{Name: "core"}) {
			if actions, err := client.Actions(ctx, plugin.Name); err == nil {
				names = append(names, diag.NamesOf(actions, func(action web.ActionItem) string { return action.Action })...)
			}
		}
		return err
	})
	return names, err
}
