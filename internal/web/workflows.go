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

func (r WorkflowRef) check() *Problem {
	if r.Name == "" || len(r.Name) > maxWorkflowName {
		return problemOf(&fault.UnknownError{What: "workflow", Name: shorten(r.Name), Hint: diag.Say("GET /api/v1/workflows lists them")})
	}
	return nil
}

func registerWorkflows(t *typed, s *server) {
	register(t, ScopeViewer, huma.Operation{
		OperationID: "listWorkflows", Method: http.MethodGet, Path: Prefix + "/workflows", Tags: []string{"workflows"},
		Summary:     "List the workflows of the project",
		Description: "By name, with the problems of their files. One whose file is broken keeps its last good revision, and is `stale`.",
	}, s.workflows)
	register(t, ScopeViewer, huma.Operation{
		OperationID: "getWorkflow", Method: http.MethodGet, Path: Prefix + "/workflows/{name}", Tags: []string{"workflows"},
		Summary: "Get a workflow with its source and the schemas of its inputs and outputs",
	}, s.workflow)
	registerWhole(t, ScopeViewer, huma.Operation{
		OperationID: "workflowGraph", Method: http.MethodGet, Path: Prefix + "/workflows/{name}/graph.svg", Tags: []string{"workflows"},
		Summary: "Draw the steps of a workflow", Description: "With `run` as that run went, with the states of its steps.",
		Metadata: map[string]any{refuses: []Code{CodeInvalidWorkflow}, responses: responsesOf(drawingResponses)},
	}, s.workflowGraph)
	register(t, ScopeViewer, huma.Operation{
		OperationID: "plan", Method: http.MethodPost, Path: Prefix + "/plan", Tags: []string{"workflows"}, MaxBodyBytes: 2 * bodyCap,
		Summary:     "Show what a run would do",
		Description: "What `flowrun plan -o json` prints, of a workflow of the project or of a text. No service is called.",
		Metadata:    map[string]any{refuses: []Code{CodeNotFound, CodeInvalidInput, CodeInvalidWorkflow}},
	}, s.plan)
	registerWhole(t, ScopeOperator, huma.Operation{
		OperationID: "startRun", Method: http.MethodPost, Path: Prefix + "/workflows/{name}/runs", Tags: []string{"workflows"}, DefaultStatus: http.StatusCreated,
		Metadata: map[string]any{refuses: []Code{CodeConflict, CodeInvalidInput, CodeInvalidWorkflow, CodeReusedKey}, longAnswers: true, responses: responsesOf(startResponses)},
		Summary:  "Start a run of a workflow",
		Description: "With `wait` the answer comes when the run has ended and is its whole result, as `flowrun run -o json` prints it; " +
			"of a run that has not ended by then the answer is 202 and the run alone. " +
			"The same Idempotency-Key and body again returns the run that the first request has made; another body is refused.",
	}, s.startNamed)
}

func (s *server) workflows(ctx context.Context, _ *struct{}) (Page[engine.WorkflowInfo], *Problem) {
	list, err := s.Workflows.WorkflowList(ctx)
	if err != nil {
		return Page[engine.WorkflowInfo]{}, problemOf(err)
	}
	return newPage(list, ""), nil
}

func (s *server) workflow(ctx context.Context, in *WorkflowRef) (*engine.WorkflowDetail, *Problem) {
	if problem := in.check(); problem != nil {
		return nil, problem
	}
	detail, err := s.Workflows.Workflow(ctx, in.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	return detail, nil
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

func drawingResponses(func(reflect.Type) *huma.Schema) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "The drawing.", Content: map[string]*huma.MediaType{"image/svg+xml": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

func (s *server) workflowGraph(ctx context.Context, in *graphQuery) (*drawing, *Problem) {
	workflow, options, problem := s.drawn(ctx, in)
	if problem != nil {
		return nil, problem
	}
	return &drawing{[]byte(graph.Draw(workflow, options))}, nil
}

// drawn returns what is drawn: the workflow as it is in force, or as a run of it
// went.
func (s *server) drawn(ctx context.Context, in *graphQuery) (*plan.Workflow, graph.Options, *Problem) {
	if in.Run == "" {
		detail, problem := s.workflow(ctx, &in.WorkflowRef)
		switch {
		case problem != nil:
			return nil, graph.Options{}, problem
		case detail.Workflow == nil:
			return nil, graph.Options{}, invalidWorkflow(detail.Problems)
		}
		return detail.Workflow, graph.Options{}, nil
	}
	result, problem := s.run(ctx, &RunRef{ID: in.Run})
	switch {
	case problem != nil:
		return nil, graph.Options{}, problem
	case result.Run.Workflow != in.Name:
		return nil, graph.Options{}, noRun(in.Run)
	}
	definition, err := s.Workflows.Definition(ctx, in.Run)
	if err != nil {
		return nil, graph.Options{}, runProblem(in.Run, err)
	}
	states := map[string]graph.State{}
	for path, step := range result.Steps {
		states[path] = graph.State{Status: step.Status}
	}
	return definition.Workflow, graph.Options{States: states}, nil
}

// PlanRequest names a workflow of the project, or holds the text of one.
type PlanRequest struct {
	GivenInputs
	Workflow string `json:"workflow,omitempty" doc:"The name of a workflow of the project."`
	File     string `json:"file,omitempty" doc:"The name of the text in messages."`
	Source   string `json:"source,omitempty" doc:"The text of a workflow, in place of a name."`
}

type planInput struct{ Body PlanRequest }

func (s *server) plan(ctx context.Context, in *planInput) (*preview.Preview, *Problem) {
	workflow, problem := s.planned(ctx, in.Body)
	if problem != nil {
		return nil, problem
	}
	cursors, err := s.Memory.StateCursors(ctx, workflow.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	if cursors == nil {
		cursors = []memory.CursorItem{}
	}
	result, err := s.Catalog.Preview(ctx, workflow, preview.Options{Inputs: inputsOf(in.Body.Inputs, in.Body.Texts), Positions: memory.CursorPositions(cursors)})
	if err != nil {
		return nil, in.Body.placed(problemOf(err))
	}
	return result, nil
}

// planned returns the workflow that a plan is asked of.
func (s *server) planned(ctx context.Context, request PlanRequest) (*plan.Workflow, *Problem) {
	switch {
	case (request.Workflow == "") == (request.Source == ""):
		return nil, newProblem(CodeBadRequest, "give either the name of a workflow or the source of one")
	case request.Source != "":
		workflow, list := s.checkText(ctx, request.File, request.Source)
		if workflow == nil {
			return nil, invalidWorkflow(list)
		}
		return workflow, nil
	}
	detail, problem := s.workflow(ctx, &WorkflowRef{Name: request.Workflow})
	switch {
	case problem != nil:
		return nil, problem
	case detail.Workflow == nil:
		return nil, invalidWorkflow(detail.Problems)
	}
	return detail.Workflow, nil
}
