package web

import (
	"context"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func registerCatalog(t *typed, s *server) {
	register(t, guard.Viewer, "POST /validate", huma.Operation{
		OperationID: "validate", Tags: []string{"workflows"}, MaxBodyBytes: 2 * bodyCap, Summary: "Check the text of a workflow",
		Description: "All problems at once, with places. Over TCP no file is read: a workflow that calls others can only be checked " +
			"where it lies, by `flowrun validate` or by GET /api/v1/workflows.",
	}, s.validate)
	register(t, guard.Viewer, "GET /plugins", huma.Operation{
		OperationID: "listPlugins", Tags: []string{"plugins"}, Summary: "List the plugins",
		Description: "Each as it is in force. `waiting` is one whose file has changed and that is not in force, and why.",
	}, s.plugins)
	register(t, guard.Viewer, "GET /plugins/{name}/actions", huma.Operation{
		OperationID: "listActions", Tags: []string{"plugins"}, Summary: "List the actions of a plugin with their schemas",
		Description: "The plugin `core` holds the built-in ones.",
	}, s.actions)
	register(t, guard.Viewer, "GET /plugins/{name}/actions/{action}", huma.Operation{
		OperationID: "getAction", Tags: []string{"plugins"}, Summary: "Get an action with its schemas, its fields one by one, and a step to paste",
		Description: "Of a plugin that describes its actions on demand the list has no schemas; this has.",
	}, s.action, wire.CodeNotFound)
	register(t, guard.Viewer, "GET /schemas/workflow", huma.Operation{
		OperationID: "workflowSchema", Tags: []string{"workflows"}, Summary: "Get the JSON Schema of workflows with every action of the project",
		Description: "Draft-07, for editors: what `flowrun schema` prints. A plugin that can't be described is left out.",
	}, s.workflowSchema)
	registerTests(t, s)
}

type validateInput struct{ Body ValidateRequest }

func (s *server) validate(ctx context.Context, in *validateInput) (ValidateAnswer, error) {
	_, list := s.checkText(ctx, in.Body.File, in.Body.Source)
	if list == nil {
		list = diag.List{}
	}
	return ValidateAnswer{Problems: list, Files: 1}, nil
}

// checkText checks the text of a workflow. What comes over TCP leads to no file:
// its own name is for messages alone.
func (s *server) checkText(ctx context.Context, file, source string) (*plan.Workflow, diag.List) {
	if _, remote := guard.CallerOf(ctx); remote {
		return s.Catalog.CheckText(ctx, file, []byte(source))
	}
	return s.Catalog.Check(ctx, file, []byte(source))
}

func (s *server) plugins(ctx context.Context, _ *struct{}) (Page[workspace.PluginInfo], error) {
	return newPage(s.Catalog.Plugins(ctx), ""), nil
}

type pluginRef struct {
	Name string `path:"name" doc:"The plugin's name." example:"netinfo"`
}

func (s *server) actions(ctx context.Context, in *pluginRef) (Page[ActionItem], error) {
	if !ValidID(in.Name) {
		return Page[ActionItem]{}, wire.NewProblem(wire.CodeNotFound, "there is no such plugin")
	}
	actions, err := s.Catalog.Actions(ctx, in.Name)
	if err != nil {
		return Page[ActionItem]{}, err
	}
	items := make([]ActionItem, 0, len(actions))
	for _, action := range actions {
		items = append(items, NewActionItem(action))
	}
	return newPage(items, ""), nil
}

type actionRef struct {
	Name   string `path:"name" doc:"The plugin's name." example:"netinfo"`
	Action string `path:"action" doc:"The action's name within its plugin." example:"whois"`
}

// ActionDetail is an action as a person reads of it.
type ActionDetail struct {
	ActionItem
	Inputs  []workspace.FieldDoc `json:"inputs" doc:"The fields of the input; those of objects in it by path, as body.name."`
	Outputs []workspace.FieldDoc `json:"outputs"`
	Step    string               `json:"step" doc:"A step in YAML, to paste below steps."`
}

// maxActionName bounds the name of an action in bytes.
const maxActionName = 300

func (s *server) action(_ context.Context, in *actionRef) (*ActionDetail, error) {
	if !ValidID(in.Name) || in.Action == "" || len(in.Action) > maxActionName {
		return nil, wire.NewProblem(wire.CodeNotFound, "there is no such action")
	}
	action, err := s.Catalog.Action(in.Name + "." + in.Action)
	if err != nil {
		return nil, err
	}
	doc, err := workspace.DescribeAction(action)
	if err != nil {
		return nil, err
	}
	return &ActionDetail{ActionItem: NewActionItem(action), Inputs: append([]workspace.FieldDoc{}, doc.Inputs...), Outputs: append([]workspace.FieldDoc{}, doc.Outputs...), Step: doc.Example}, nil
}

// workflowSchema leaves out plugins that can't be described: their error is told by
// GET /plugins.
func (s *server) workflowSchema(ctx context.Context, _ *struct{}) (json.RawMessage, error) {
	schema, err := s.Catalog.WorkflowSchema(ctx)
	if schema != nil {
		return schema, nil
	}
	return nil, err
}
