package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Rerun starts a new run of the same definition, linked to the old one, with
// its inputs unless they are given anew. From a step on, it takes over the
// results of all steps that ended well and do not depend on that step. A step
// that the run does not have is an *UnknownError, one that did not run a
// *ConflictError, inputs that do not fit an *InputError.
func (e *Engine) Rerun(ctx context.Context, id string, request RerunRequest) (*runs.Run, diag.List, error) {
	row, err := e.store.Run(id)
	if err != nil {
		return nil, nil, e.Fault(err)
	}
	asked := askedRequest{id: request.RequestID, digest: request.Digest, replayed: request.Replayed}
	if first, err := e.answered(asked); first != nil || err != nil {
		return first, nil, err
	}
	workflow, old, err := e.definition(row)
	if err != nil {
		return nil, nil, err
	}
	if lacking := e.project.SandboxLacks(workflow); lacking.HasErrors() {
		return nil, lacking, nil
	}
	if err := e.takePluginsInForce(id, workflow); err != nil {
		return nil, nil, err
	}
	inputs, err := rerunInputs(workflow, old, request.Inputs)
	if err != nil {
		return nil, nil, err
	}
	options, err := e.triggeredLike(row)
	if err != nil {
		return nil, nil, err
	}
	options.rerunOf, options.from, options.By = id, request.From, request.By
	if options.edited, err = interp.EditedInputs(old, inputs); err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", id, err)
	}
	if request.From != "" {
		if options.taken, err = e.takeOver(ctx, id, request.From, options.edited); err != nil {
			return nil, nil, err
		}
	}
	options.RequestID, options.Digest = request.RequestID, request.Digest
	started, err := e.startAsked(asked, func() (*runs.Run, string, error) {
		return e.begin(ctx, workspace.NewChecked(workflow), inputs, options)
	})
	return started, nil, err
}

// triggeredLike makes a rerun see what brought the old run about: its trigger, and
// the slot that it was of. It is no fire: its end counts for no schedule.
func (e *Engine) triggeredLike(row *runs.Run) (startOptions, error) {
	old, err := e.startOf(row.ID, "trigger")
	if err != nil || old == nil || old.TriggerKind == "" {
		return startOptions{}, err // by hand
	}
	return startOptions{Start: trigger.Start{
		ScheduledAt: old.ScheduledAt, Trigger: old.Trigger, Kind: old.TriggerKind, At: old.TriggerAt, Item: old.TriggerItem, Outputs: old.TriggerOutputs,
	}}, nil
}

// startOf returns the first event of a run, nil where its journal has none. what is
// read of it stands in the error.
func (e *Engine) startOf(id, what string) (*journal.Start, error) {
	records, err := e.store.Records(id, 1, 1)
	switch {
	case err != nil:
		return nil, e.Fault(fmt.Errorf("read the %s of run %s: %w", what, id, err))
	case len(records) == 0:
		return nil, nil
	}
	return records[0].Event.Start, nil
}

// definition returns the plan that a run goes by and its inputs.
func (e *Engine) definition(row *runs.Run) (*plan.Workflow, json.RawMessage, error) {
	start, err := e.startOf(row.ID, "inputs")
	if err != nil {
		return nil, nil, err
	}
	if start == nil {
		return nil, nil, fmt.Errorf("read the inputs of run %s: it has no started event", row.ID)
	}
	if row.LatestPlan != "" {
		return e.replannedDefinition(row)
	}
	encoded, err := e.store.Plan(row.PlanHash)
	if err != nil {
		return nil, nil, e.Fault(fmt.Errorf("read plan of run %s: %w", row.ID, err))
	}
	workflow, err := plan.Decode(encoded)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", row.ID, err)
	}
	return workflow, start.Inputs, nil
}

// replannedDefinition finds the newest plan of a run that was resumed with an
// edited file: it stands in the journal.
func (e *Engine) replannedDefinition(row *runs.Run) (*plan.Workflow, json.RawMessage, error) {
	var newest *journal.Replan
	err := e.store.EachRecord(row.ID, 1, func(record *journal.Record) error {
		if record.Event.Replan != nil {
			newest = record.Event.Replan
		}
		return nil
	})
	if err != nil {
		return nil, nil, e.Fault(fmt.Errorf("read plan of run %s: %w", row.ID, err))
	}
	if newest == nil {
		return nil, nil, fmt.Errorf("run %s: its newest plan is not in its journal", row.ID)
	}
	workflow, err := plan.Decode(newest.Plan)
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", row.ID, err)
	}
	return workflow, newest.Inputs, nil
}

func rerunInputs(workflow *plan.Workflow, stored json.RawMessage, edited map[string]workspace.Input) (json.RawMessage, error) {
	given, err := givenBy(stored)
	if err != nil {
		return nil, err
	}
	maps.Copy(given, edited)
	return workspace.ConvertInputs(workflow, given)
}

// givenBy are the stored inputs of a run as they would be given once more.
func givenBy(stored json.RawMessage) (map[string]workspace.Input, error) {
	var old map[string]json.RawMessage
	if err := json.Unmarshal(stored, &old); err != nil {
		return nil, fmt.Errorf("read the inputs of the run: %w", err)
	}
	given := make(map[string]workspace.Input, len(old))
	for name, value := range old {
		given[name] = workspace.Input{JSON: value}
	}
	return given, nil
}

// takeOver collects what a rerun from a step takes over.
func (e *Engine) takeOver(ctx context.Context, id, from string, edited []string) (map[string]*journal.Taken, error) {
	var taken *interp.TakenOver
	var refused error
	err := e.driver.Machine(ctx, id, func(m *interp.Machine) {
		if known := m.MainSteps(); !slices.Contains(known, from) {
			refused = unknownFrom(from, known)
			return
		}
		if taken, refused = m.TakeOver(from); refused != nil {
			refused = &fault.ConflictError{
				Message: fmt.Sprintf("run %s can't be rerun from %s: %v", id, from, refused),
				Hint:    diag.Say("name a step that ran, or leave out --from"),
			}
		}
	})
	if err := errors.Join(e.loadFault(id, err), refused); err != nil {
		return nil, err
	}
	for _, name := range edited {
		readers := slices.Concat(taken.Inputs[name], taken.All)
		if len(readers) > 0 {
			return nil, &fault.InputError{
				Message: fmt.Sprintf("the input `%s` can't be another one: the step %s, whose result is taken over, reads it", name, readers[0]),
				Hint:    diag.Say("rerun from " + readers[0] + ", or leave out --from"),
			}
		}
	}
	return taken.Results, nil
}

// unknownFrom says that a rerun can't begin at a step.
func unknownFrom(from string, known []string) error {
	if loop := runs.ParsePath(from).Top().String(); loop != from && slices.Contains(known, loop) {
		return &fault.UnknownError{What: "main step", Name: from, Hint: diag.Say("a rerun begins at a whole step: --from " + loop)}
	}
	hint := diag.DidYouMean(from, known).Or(diag.Naming("its steps are ", known[:min(len(known), 10)]...))
	return &fault.UnknownError{What: "step", Name: from, Hint: hint}
}
