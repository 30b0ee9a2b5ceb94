package web

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// testLimit bounds how long tests may take: their clock is virtual.
const testLimit = 30 * time.Second

// The names of texts in messages that nobody has named.
const (
	textWorkflow = "workflow.yaml"
	textTest     = "workflow.test.yaml"
)

func registerTests(t *typed, s *server) {
	register(t, guard.Viewer, "POST /test", huma.Operation{
		OperationID: "testWorkflow", Tags: []string{"workflows"}, MaxBodyBytes: 2 * bodyCap, Summary: "Run the tests of a workflow",
		Description: "What `flowrun test -o json` prints: mocked answers, a virtual clock, nothing is sent and nothing is stored. Of a workflow of the project " +
			"its test file is run; `test` is the text of another one, `source` that of another workflow. A text leads to no file.",
	}, s.test, wire.CodeNotFound, wire.CodeInvalidWorkflow)
}

// TestRequest names the workflow that is tested, or holds the texts.
type TestRequest struct {
	Workflow string `json:"workflow,omitempty" doc:"The name of a workflow of the project."`
	File     string `json:"file,omitempty" doc:"The name of the workflow's text in messages."`
	Source   string `json:"source,omitempty" doc:"The text of a workflow, in place of a name. It needs test."`
	Test     string `json:"test,omitempty" doc:"The text of a test file, in place of the one beside the workflow. Whatever workflow it names, it tests this one."`
	Case     string `json:"case,omitempty" doc:"Only the cases whose name holds this text."`
}

type testInput struct{ Body TestRequest }

func (s *server) test(ctx context.Context, in *testInput) (workspace.TestSummary, error) {
	request := in.Body
	file, options, err := s.tested(ctx, request)
	if err != nil {
		return workspace.TestSummary{}, err
	}
	if request.Case != "" {
		options.Case = func(name string) bool { return strings.Contains(name, request.Case) }
	}
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	summary := workspace.SummarizeTests(s.Catalog.Test(ctx, []workspace.TestFile{file}, options))
	if ctx.Err() != nil {
		return workspace.TestSummary{}, wire.NewProblem(wire.CodeUnavailable, fmt.Sprintf("the tests took longer than %s", testLimit))
	}
	return summary, nil
}

// tested returns the test that a request asks for, and where its workflow is.
func (s *server) tested(ctx context.Context, request TestRequest) (workspace.TestFile, workspace.TestOptions, error) {
	name := cmp.Or(request.File, textWorkflow)
	switch {
	case (request.Workflow == "") == (request.Source == ""):
		return workspace.TestFile{}, workspace.TestOptions{}, wire.NewProblem(wire.CodeBadRequest, "give either the name of a workflow or the source of one")
	case request.Source != "" && request.Test == "":
		return workspace.TestFile{}, workspace.TestOptions{}, wire.NewProblem(wire.CodeBadRequest, "the text of a workflow is tested by the text of a test: give test")
	case request.Workflow != "":
		ref := WorkflowRef{Name: request.Workflow}
		if err := ref.check(); err != nil {
			return workspace.TestFile{}, workspace.TestOptions{}, err
		}
		detail, err := s.Workflows.Workflow(ctx, request.Workflow)
		switch {
		case err != nil:
			return workspace.TestFile{}, workspace.TestOptions{}, err
		case request.Test == "":
			file, err := s.Catalog.TestBeside(detail.File)
			return file, workspace.TestOptions{Dir: s.Catalog.Root(), Read: s.readWorkflow}, err
		}
		name, request.Source = detail.File, detail.Source
	}
	_, remote := guard.CallerOf(ctx)
	options := workspace.TestOptions{
		Dir: s.Catalog.Root(), TextOnly: remote, Read: func(string) ([]byte, error) { return []byte(request.Source), nil },
	}
	return workspace.TestFile{Name: path.Join(path.Dir(name), textTest), Source: []byte(request.Test)}, options, nil
}

// readWorkflow reads the workflow that a test file of the project names.
func (s *server) readWorkflow(name string) ([]byte, error) { return s.Catalog.ReadFile(name, bodyCap) }
