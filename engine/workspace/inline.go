package workspace

import (
	"context"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

// CheckText is Check for the text of a workflow that lies nowhere: name is for
// messages, and no file is read. A step that calls another workflow is a problem.
func (p *Workspace) CheckText(ctx context.Context, name string, src []byte) (*plan.Workflow, diag.List) {
	tree, problems := spec.Parse(name, src)
	if tree == nil {
		return nil, problems
	}
	workflow, found := check.Check(ctx, tree, &catalog{project: p, place: place{shown: name, known: map[string]subflow{}}})
	problems = append(problems, found...)
	if workflow != nil {
		problems = append(problems, p.checkSettings(workflow)...)
	}
	problems.Sort()
	if problems.HasErrors() {
		return nil, problems
	}
	workflow.File, workflow.Source = name, string(src)
	return workflow, problems
}
