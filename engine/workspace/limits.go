package workspace

import (
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/spec"
)

// runLimits are what flowrun.yaml sets of the limits of runs; nil = nothing.
func (p *Workspace) runLimits() *plan.Limits {
	set := p.file.Limits.Quotas
	limits := plan.Limits{
		ExpressionSteps:  int(set[quota.ExpressionSteps]),
		ExpressionResult: int(set[quota.ExpressionResult]),
		LoopItems:        int(set[quota.LoopItems]),
	}
	if limits == (plan.Limits{}) {
		return nil
	}
	return &limits
}

// parse reads a workflow file of the project, as large as flowrun.yaml lets it be.
func (p *Workspace) parse(file string, src []byte) (*spec.Workflow, diag.List) {
	return spec.V1().ParseWithin(file, src, spec.WorkflowLimits(int(p.file.Limits.Quotas.Of(quota.WorkflowFile))))
}
