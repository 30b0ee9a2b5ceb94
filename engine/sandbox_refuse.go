package engine

import (
	"context"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
)

// sandboxRefuses says what keeps a server of a sandbox from beginning: workflows that
// would start by themselves and reach what nothing stands for.
func (e *Engine) sandboxRefuses(ctx context.Context) error {
	if !e.project.Sandboxed() {
		return nil
	}
	loaded, err := e.revisions.Load(ctx)
	if err != nil {
		return err
	}
	var problems diag.List
	for _, file := range loaded.Files {
		if file.InForce != nil {
			problems = append(problems, e.project.TriggersReach(file.InForce.Workflow())...)
		}
	}
	return problems.Err()
}

// sandboxRefusesRun says why a stored run can't go on in this sandbox: a diag.List.
func (e *Engine) sandboxRefusesRun(row *runs.Run) error {
	if !e.project.Sandboxed() {
		return nil
	}
	workflow, _, err := e.definition(row)
	if err != nil {
		return err
	}
	return e.project.SandboxLacks(workflow).Err()
}
