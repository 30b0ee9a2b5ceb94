package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Resume goes on with a run where it stopped: with what was in flight when the
// process that drove it died, or with fresh attempts of what failed. It returns
// when that is durable. A run that succeeded, is driven now, or does not fit an
// edited file is a *ConflictError, a plugin that has changed a
// *PluginChangedError, a broken file a diag.List.
func (e *Engine) Resume(ctx context.Context, id string, request ResumeRequest) (*runs.Run, error) {
	row, err := e.store.Run(id)
	if err != nil {
		return nil, e.Fault(err)
	}
	event, err := e.resumeEvent(row, request)
	if err != nil {
		return nil, err
	}
	if event != nil {
		if err := e.driver.AwaitEnd(ctx, id); err != nil {
			return nil, err
		}
		if err := e.checkUnmoved(ctx, id, request.DiscardWrites); err != nil {
			return nil, e.loadFault(id, err)
		}
	}
	if request.Latest || len(request.WithLatest) > 0 {
		err = e.replan(ctx, row, request)
	} else {
		err = e.mayGoOn(row)
	}
	if err != nil {
		return nil, err
	}
	if err := e.driver.LoadDurably(ctx, id, event); err != nil {
		return nil, e.loadFault(id, err)
	}
	return e.Row(id)
}

// resumeEvent returns the event that a stopped run goes on by; nil for one whose
// process died, which just goes on.
func (e *Engine) resumeEvent(row *runs.Run, request ResumeRequest) (*journal.Event, error) {
	id := row.ID
	stopped := row.Status == runs.RunPaused || row.Closed
	switch {
	case e.driver.Driven(id) && !stopped:
		return nil, &fault.ConflictError{Message: fmt.Sprintf("run %s is %s", id, row.Status), Hint: diag.Sayf("follow it with %s", diag.Command{"runs", "watch", id})}
	case row.Status == runs.RunSucceeded && row.Closed:
		return nil, &fault.ConflictError{Message: fmt.Sprintf("run %s has succeeded: there is nothing to resume", id), Hint: diag.Sayf("start it anew with %s", diag.Command{"runs", "rerun", id})}
	case !stopped:
		return nil, nil
	}
	return &journal.Event{Kind: journal.Resumed, By: request.By, Discard: request.DiscardWrites}, nil
}

// replan records that a stopped run goes on by its file as it is now
// (docs/language.md, rule 21).
func (e *Engine) replan(ctx context.Context, row *runs.Run, request ResumeRequest) error {
	now, inputs, err := e.definition(row)
	if err != nil {
		return err
	}
	source, dir, err := e.latest(now.File, request)
	if err != nil {
		return err
	}
	workflow, problems := e.project.CheckedIn(ctx, now.File, dir, source)
	if workflow == nil {
		return problems
	}
	if lacking := e.project.Preflight(ctx, workflow.Workflow); lacking.HasErrors() {
		return append(problems, lacking...)
	}
	stored, err := workflow.Stored()
	if err != nil {
		return err
	}
	if newest := row.LatestPlan; stored.Hash == newest || newest == "" && stored.Hash == row.PlanHash {
		return nil // it is the plan that the run goes by
	}
	replan := &journal.Replan{PlanHash: stored.Hash, Plan: stored.Encoded, Plugins: workflow.Pins()}
	if replan.Inputs, err = latestInputs(workflow.Workflow, inputs); err != nil {
		return &fault.ConflictError{Message: fmt.Sprintf("run %s can't go on by %s: %v", row.ID, now.File, err), Hint: diag.Say("start a new run of it")}
	}
	err = e.driver.Replan(ctx, row.ID, func(m *interp.Machine) (*journal.Replan, string, error) {
		return replan, request.By, m.CheckReplan(workflow.Workflow)
	})
	if differs, ok := errors.AsType[*interp.ReplanError](err); ok {
		return &fault.ConflictError{
			Message: fmt.Sprintf("run %s can't go on by %s: %s", row.ID, now.File, differs.Error()),
			Hint:    diag.Say("resume it without --with-latest, or start a new run of the file"),
		}
	}
	return e.loadFault(row.ID, err)
}

// latest reads the workflow's file as it is now. dir is the folder that its name
// starts from.
func (e *Engine) latest(file string, request ResumeRequest) (source []byte, dir string, err error) {
	dirs := []string{request.Dir, e.config.Dir, e.config.WorkDir}
	for _, dir := range dirs {
		path := file
		if !filepath.IsAbs(path) {
			if dir == "" {
				continue
			}
			path = filepath.Join(dir, filepath.FromSlash(file))
		}
		if len(request.WithLatest) > 0 {
			return request.WithLatest, dir, nil
		}
		source, err = workspace.ReadWorkflowFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, fs.ErrInvalid):
			return nil, "", &fault.InputError{Message: fmt.Sprintf("%s is larger than %d bytes", file, workspace.MaxWorkflowFile)}
		case err != nil:
			return nil, "", fmt.Errorf("read the workflow: %w", err)
		}
		return source, dir, nil
	}
	return nil, "", &fault.UnknownError{What: "workflow file", Name: file, Hint: diag.Say("call it in the folder where the run was started")}
}

// latestInputs are a run's inputs as an edited file declares them: those that it
// no longer has are left out, the defaults of new ones filled in.
func latestInputs(workflow *plan.Workflow, stored json.RawMessage) (json.RawMessage, error) {
	declared, err := schema.FromJSONOr(workflow.Inputs, schema.ObjectOf())
	if err != nil {
		return nil, fmt.Errorf("read inputs of %s: %w", workflow.Name, err)
	}
	given, err := givenBy(stored)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(given, func(name string, _ workspace.Input) bool {
		_, ok := declared.Field(name)
		return !ok
	})
	return workspace.ConvertInputs(workflow, given)
}

// checkUnmoved refuses to go on with a run whose reads another has changed since
// (docs/language.md, rule 14).
func (e *Engine) checkUnmoved(ctx context.Context, id string, discard bool) error {
	state, cursors, begun, err := e.driver.ReadsOf(ctx, id)
	if err != nil {
		return err
	}
	if !begun || discard {
		return nil // what ended before it began has read nothing
	}
	row, err := e.store.Run(id)
	if err != nil {
		return err
	}
	values, err := e.store.State(row.Workflow)
	if err != nil {
		return err
	}
	versions := map[string]uint64{}
	for _, value := range values {
		versions[value.Name] = value.Version
	}
	for name, read := range state {
		if versions[name] != read {
			return moved(id, "state", name)
		}
	}
	for key, read := range cursors {
		stored, err := e.store.Cursor(key)
		if err != nil {
			return err
		}
		version := uint64(0)
		if stored != nil {
			version = stored.Version
		}
		if version != read {
			_, name, _, _ := runs.SplitCursorKey(key)
			return moved(id, "cursor", name)
		}
	}
	return nil
}

func moved(id, what, name string) error {
	return &fault.ConflictError{
		Message: fmt.Sprintf("the %s `%s` has moved since run %s read it", what, name, id),
		Hint:    diag.Sayf("start it anew with %s, or go on without writing it: %s", diag.Command{"runs", "rerun", id}, diag.Command{"runs", "resume", id, "--discard-writes"}),
	}
}
