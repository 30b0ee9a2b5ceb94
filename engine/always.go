package engine

import (
	"context"
	"errors"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
)

var errStub = errors.New("not built yet")

// AlwaysOn begins what only a server does: it takes up the runs that no process
// drives, starts runs by their triggers, follows the workflow files, and hands on
// what happened to runs. It returns when all that has begun; Close ends it.
func (e *Engine) AlwaysOn(ctx context.Context) error { return errStub }

// WorkflowList returns the workflows of the project, by name.
func (e *Engine) WorkflowList(ctx context.Context) ([]WorkflowInfo, error) { return nil, errStub }

// Workflow returns one workflow by its name. *UnknownError.
func (e *Engine) Workflow(ctx context.Context, name string) (*WorkflowDetail, error) {
	return nil, errStub
}

// StartNamed starts a run of a workflow of the project. *UnknownError,
// *InputError; a broken file without a good revision is a diag.List.
func (e *Engine) StartNamed(ctx context.Context, name string, r NamedStart) (*plan.Run, diag.List, error) {
	return nil, nil, errStub
}

// Reload reads the workflow files again. A broken one keeps its last good revision.
func (e *Engine) Reload(ctx context.Context) (*ReloadResult, error) { return nil, errStub }

// Schedules returns all schedules and polls, by id.
func (e *Engine) Schedules(ctx context.Context) ([]ScheduleItem, error) { return nil, errStub }

// NextFires returns the next n slots of a schedule after from (zero = now).
func (e *Engine) NextFires(ctx context.Context, id string, from time.Time, n int) (*NextFires, error) {
	return nil, errStub
}

// Fires returns what triggers did, the newest slot first, and the cursor of the
// next page, "" at the end.
func (e *Engine) Fires(ctx context.Context, f FireFilter) ([]plan.Fire, string, error) {
	return nil, "", errStub
}

// PauseSchedule stops a schedule or poll from firing until it is resumed.
func (e *Engine) PauseSchedule(ctx context.Context, id string, r PauseRequest) (*ScheduleItem, error) {
	return nil, errStub
}

// ResumeSchedule lets a paused schedule fire again, from its next slot on.
func (e *Engine) ResumeSchedule(ctx context.Context, id string, r PauseRequest) (*ScheduleItem, error) {
	return nil, errStub
}

// TriggerSchedule starts a run of a schedule by hand; its slots stay as they are.
func (e *Engine) TriggerSchedule(ctx context.Context, id string, r TriggerRequest) (*plan.Run, error) {
	return nil, errStub
}

// Backfill starts runs of past slots.
func (e *Engine) Backfill(ctx context.Context, id string, r BackfillRequest) (*BackfillResult, error) {
	return nil, errStub
}

// Hook takes a webhook's request. *UnknownError, *HookRefusedError.
func (e *Engine) Hook(ctx context.Context, workflow, trigger string, r HookRequest) (*HookAnswer, error) {
	return nil, errStub
}

// WatchRuns sends every change of a run's row after the sequence number from, as
// far as the process remembers; else a Reset comes first.
func (e *Engine) WatchRuns(ctx context.Context, from uint64) (<-chan RunsUpdate, error) {
	return nil, errStub
}
