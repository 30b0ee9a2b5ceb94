package engine

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/preview"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Offline tells what a project's files alone say, where no store is needed or none
// is there: what a run would do, which schedules there are and when they fire next.
// Safe for concurrent use.
type Offline struct{ *workspace.Workspace }

// LoadProject reads the project file. A wrong one is a diag.List error. A state
// folder that others could change is a *fault.StoreError: plugins start from it.
func LoadProject(ctx context.Context, config workspace.Config) (*workspace.Workspace, error) {
	config.StoredRows = func(path string) secret.Rows { return storedRows{path, filesOf(config)} }
	return workspace.Load(ctx, config)
}

// Preview tells what a run of a checked workflow would do. A wrong input is an
// *fault.InputError; one that is missing is shown as unknown.
func (o Offline) Preview(_ context.Context, workflow *plan.Workflow, options preview.Options) (*preview.Preview, error) {
	return preview.Of(o.Workspace, workflow, options)
}

// Schedules returns the schedules and polls as the files alone say.
func (o Offline) Schedules(ctx context.Context) ([]trigger.ScheduleItem, error) {
	return trigger.SchedulesOf(ctx, o.Workspace)
}

// NextFires returns the coming slots as the files alone say. *fault.UnknownError.
func (o Offline) NextFires(ctx context.Context, id string, from time.Time, n int) (*trigger.NextFires, error) {
	return trigger.NextFiresOf(ctx, o.Workspace, id, from, n)
}
