package web

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Workflows is what the API needs of an engine to act on the workflows of the
// project.
type Workflows interface {
	WorkflowList(ctx context.Context) ([]engine.WorkflowInfo, error)
	Workflow(ctx context.Context, name string) (*engine.WorkflowDetail, error)
	StartNamed(ctx context.Context, name string, r engine.NamedStart) (*runs.Run, diag.List, error)
	Definition(ctx context.Context, id string) (*engine.RunDefinition, error)
}

// WorkflowRef names a workflow in a path.
type WorkflowRef struct {
	Name string `path:"name" doc:"The workflow's name, percent-encoded." example:"weekly-review"`
}

// maxWorkflowName bounds the name of a workflow in bytes: 100 letters.
const maxWorkflowName = 400

func (r WorkflowRef) check() error {
	if r.Name == "" || len(r.Name) > maxWorkflowName {
		return problemOf(&fault.UnknownError{What: "workflow", Name: shorten(r.Name), Hint: diag.Say("GET /api/v1/workflows lists them")})
	}
	return nil
}

func registerWorkflows(t *typed, s *server) {
	register(t, guard.Viewer, "GET /workflows", huma.Operation{
		OperationID: "listWorkflows", Tags: []string{"workflows"}, Summary: "List the workflows of the project",
		Description: "By name, with the problems of their files. One whose file is broken keeps its last good revision, and is `stale`.",
	}, s.workflows)
	register(t, guard.Viewer, "GET /workflows/{name}", huma.Operation{
		OperationID: "getWorkflow", Tags: []string{"workflows"}, Summary: "Get a workflow with its source and the schemas of its inputs and outputs",
	}, s.workflow)
	register(t, guard.Operator, "POST /workflows/{name}/disable", huma.Operation{
		OperationID: "disableWorkflow", Tags: []string{"workflows"}, Summary: "Keep all triggers of a workflow from starting runs",
		Description: "Until it is enabled. Runs that go on are left alone, and people still start it.",
	}, s.disableWorkflow)
	register(t, guard.Operator, "POST /workflows/{name}/enable", huma.Operation{
		OperationID: "enableWorkflow", Tags: []string{"workflows"}, Summary: "Let the triggers of a disabled workflow start runs again",
		Description: "From the next slots on: what was due meanwhile is not made up for.",
	}, s.enableWorkflow, wire.CodeConflict)
	registerWhole(t, guard.Viewer, "GET /workflows/{name}/graph.svg", huma.Operation{
		OperationID: "workflowGraph", Tags: []string{"workflows"}, Metadata: map[string]any{responses: drawingResponse}, Summary: "Draw the steps of a workflow",
		Description: "With `run` as that run went, with the states of its steps.",
	}, s.workflowGraph, wire.CodeInvalidWorkflow)
	register(t, guard.Viewer, "POST /plan", huma.Operation{
		OperationID: "plan", Tags: []string{"workflows"}, MaxBodyBytes: 2 * bodyCap, Summary: "Show what a run would do",
		Description: "What `flowrun plan -o json` prints, of a workflow of the project or of a text. No service is called.",
	}, s.plan, wire.CodeNotFound, wire.CodeInvalidInput, wire.CodeInvalidWorkflow)
	registerWhole(t, guard.Operator, "POST /workflows/{name}/runs", huma.Operation{
		OperationID: "startRun", Tags: []string{"workflows"}, DefaultStatus: http.StatusCreated,
		Metadata: map[string]any{longAnswers: true, responses: startResponse}, Summary: "Start a run of a workflow",
		Description: "With `wait` the answer comes when the run has ended and is its whole result, as `flowrun run -o json` prints it; " +
			"of a run that has not ended by then the answer is 202 and the run alone. " +
			"The same Idempotency-Key and body again returns the run that the first request has made; another body is refused.",
	}, s.startNamed, wire.CodeConflict, wire.CodeInvalidInput, wire.CodeInvalidWorkflow, wire.CodeReusedKey)
}

func (s *server) workflows(ctx context.Context, _ *struct{}) (Page[engine.WorkflowInfo], error) {
	list, err := s.Workflows.WorkflowList(ctx)
	return newPage(list, ""), err
}

func (s *server) workflow(ctx context.Context, in *WorkflowRef) (*engine.WorkflowDetail, error) {
	return s.Workflows.Workflow(ctx, in.Name)
}

type turnInput struct {
	WorkflowRef
	Body *trigger.PauseRequest
}

func (s *server) disableWorkflow(ctx context.Context, in *turnInput) (*engine.WorkflowDetail, error) {
	request := orZero(in.Body)
	request.By = by(ctx, request.By)
	if err := s.Schedules.DisableWorkflow(ctx, in.Name, request); err != nil {
		return nil, err
	}
	return s.Workflows.Workflow(ctx, in.Name)
}

func (s *server) enableWorkflow(ctx context.Context, in *turnInput) (*engine.WorkflowDetail, error) {
	if err := s.Schedules.EnableWorkflow(ctx, in.Name); err != nil {
		return nil, err
	}
	return s.Workflows.Workflow(ctx, in.Name)
}

// inForce returns the workflow of a name as it is in force.
func (s *server) inForce(ctx context.Context, ref WorkflowRef) (*plan.Workflow, error) {
	if err := ref.check(); err != nil {
		return nil, err
	}
	detail, err := s.Workflows.Workflow(ctx, ref.Name)
	switch {
	case err != nil:
		return nil, err
	case detail.Workflow == nil:
		return nil, invalidWorkflow(detail.Problems)
	}
	return detail.Workflow, nil
}

type graphQuery struct {
	WorkflowRef
	Run string `query:"run" doc:"The id of a run of this workflow."`
}

// drawing is an SVG document.
type drawing struct{ Body []byte }

func (d *drawing) write(x huma.Context, status int) {
	x.SetHeader("Content-Type", "image/svg+xml")
	x.SetStatus(status)
	_, _ = x.BodyWriter().Write(d.Body) // the client is gone: nobody is left to tell
}

var drawingResponse = also{"200", "The drawing.", "image/svg+xml", []reflect.Type{reflect.TypeFor[string]()}}

func (s *server) workflowGraph(ctx context.Context, in *graphQuery) (*drawing, error) {
	workflow, options, err := s.drawn(ctx, in)
	if err != nil {
		return nil, err
	}
	return &drawing{[]byte(graph.Draw(workflow, options))}, nil
}

// drawn returns what is drawn: the workflow as it is in force, or as a run of it
// went.
func (s *server) drawn(ctx context.Context, in *graphQuery) (*plan.Workflow, graph.Options, error) {
	options := graph.Options{}
	if in.Run == "" {
		workflow, err := s.inForce(ctx, in.WorkflowRef)
		return workflow, options, err
	}
	ref := RunRef{ID: in.Run}
	if err := ref.check(); err != nil {
		return nil, options, err
	}
	result, err := s.run(ctx, &runQuery{RunRef: ref, ShortQuery: ShortQuery{Short: true}})
	switch {
	case err != nil:
		return nil, options, err
	case result.Run.Workflow != in.Name:
		return nil, options, noRun(in.Run)
	}
	definition, err := s.Workflows.Definition(ctx, in.Run)
	if err != nil {
		return nil, options, ofRun(in.Run, err)
	}
	options.States = map[string]graph.State{}
	for path, step := range result.Steps {
		options.States[path] = graph.State{Status: step.Status}
	}
	return definition.Workflow, options, nil
}

// PlanRequest names a workflow of the project, or holds the text of one.
type PlanRequest struct {
	GivenInputs
	Workflow string `json:"workflow,omitempty" doc:"The name of a workflow of the project."`
	File     string `json:"file,omitempty" doc:"The name of the text in messages."`
	Source   string `json:"source,omitempty" doc:"The text of a workflow, in place of a name."`
}

type planInput struct{ Body PlanRequest }

func (s *server) plan(ctx context.Context, in *planInput) (*preview.Preview, error) {
	workflow, err := s.planned(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	cursors, err := s.Memory.StateCursors(ctx, workflow.Name)
	if err != nil {
		return nil, err
	}
	if cursors == nil {
		cursors = []memory.CursorItem{}
	}
	result, err := s.Catalog.Preview(ctx, workflow, preview.Options{Inputs: in.Body.merged(), Positions: memory.CursorPositions(cursors)})
	if err != nil {
		return nil, in.Body.placed(err)
	}
	return result, nil
}

// planned returns the workflow that a plan is asked of.
func (s *server) planned(ctx context.Context, request PlanRequest) (*plan.Workflow, error) {
	switch {
	case (request.Workflow == "") == (request.Source == ""):
		return nil, wire.NewProblem(wire.CodeBadRequest, "give either the name of a workflow or the source of one")
	case request.Workflow != "":
		return s.inForce(ctx, WorkflowRef{Name: request.Workflow})
	}
	workflow, list := s.checkText(ctx, request.File, request.Source)
	if workflow == nil {
		return nil, invalidWorkflow(list)
	}
	return workflow, nil
}
