package trigger

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// DisableWorkflow keeps all triggers of a workflow from starting runs until it is
// enabled, those too that it will get: schedules, polls, webhooks, `after`. Runs that
// go on are left alone, and people still start it. One that is disabled already stays
// as it is. *UnknownError.
func (tr *Triggers) DisableWorkflow(ctx context.Context, name string, r PauseRequest) error {
	if _, err := tr.revisions.File(ctx, name); err != nil {
		return err
	}
	return tr.scheduler.loop.Exclusively(func() error {
		now := tr.config.Now()
		_, err := tr.store.EditTriggerState(name, runs.WholeWorkflow, func(s *runs.TriggerState) {
			if !s.Paused {
				s.Paused, s.PausedAt, s.PausedBy, s.Reason = true, now, r.By, r.Reason
			}
		})
		return tr.fault(err)
	})
}

// EnableWorkflow lets the triggers of a workflow start runs again, schedules from their
// next slot on. A schedule that is paused itself stays so. *UnknownError.
func (tr *Triggers) EnableWorkflow(ctx context.Context, name string) error {
	file, err := tr.revisions.File(ctx, name)
	if err != nil {
		return err
	}
	return tr.scheduler.loop.Exclusively(func() error {
		whole, err := tr.Disabled(name)
		if err != nil || whole == nil {
			return err
		}
		// What was left out is decided first: after a crash in between it is disabled still.
		if rev := file.InForce; rev != nil && rev.Name() == name {
			for i := range rev.Workflow().Triggers {
				t := &rev.Workflow().Triggers[i]
				if !isSchedule(t.Kind) {
					continue
				}
				target := namedTrigger{runs.TriggerID(name, t.Name), rev, t, &tr.revisions.Reads}
				state, err := tr.scheduleState(target)
				if err == nil && !state.Paused {
					err = tr.goOn(target, pausedWith(state, whole), tr.config.Now())
				}
				if err != nil {
					return tr.fault(err)
				}
			}
		}
		_, err = tr.store.EditTriggerState(name, runs.WholeWorkflow, func(s *runs.TriggerState) {
			s.Paused, s.PausedAt, s.PausedBy, s.Reason = false, time.Time{}, "", ""
		})
		return tr.fault(err)
	})
}

// Disabled returns who disabled a workflow, when and why; nil = it is not disabled.
func (tr *Triggers) Disabled(workflow string) (*runs.TriggerState, error) {
	state, err := fireStore{tr.store}.disabled(workflow)
	return state, tr.fault(err)
}

func (s fireStore) disabled(workflow string) (*runs.TriggerState, error) {
	state, err := s.Store.TriggerState(workflow, runs.WholeWorkflow)
	if err != nil || state == nil || !state.Paused {
		return nil, err
	}
	return state, nil
}

// TriggerState is what is kept of a trigger: paused too while its workflow is disabled.
func (s fireStore) TriggerState(workflow, trigger string) (*runs.TriggerState, error) {
	whole, err := s.disabled(workflow)
	if err != nil {
		return nil, err
	}
	state, err := s.Store.TriggerState(workflow, trigger)
	return pausedWith(state, whole), err
}

// disabledReason begins what is told of a trigger whose workflow is disabled.
const disabledReason = "the workflow is disabled"

// pausedWith is the state of a trigger with that of its workflow, either of which may be
// nil.
func pausedWith(state, whole *runs.TriggerState) *runs.TriggerState {
	if whole == nil || !whole.Paused || state != nil && state.Paused {
		return state
	}
	merged := runs.TriggerState{Workflow: whole.Workflow}
	if state != nil {
		merged = *state
	}
	merged.Paused, merged.PausedAt, merged.PausedBy, merged.Reason = true, whole.PausedAt, whole.PausedBy, disabledReason
	if whole.Reason != "" {
		merged.Reason += ": " + whole.Reason
	}
	return &merged
}

// notWhileDisabled refuses what an enabled workflow alone can do.
func (tr *Triggers) notWhileDisabled(target namedTrigger) error {
	whole, err := tr.Disabled(target.workflow())
	if err != nil || whole == nil {
		return err
	}
	return &fault.ConflictError{
		Message: disabledReason + ": none of its triggers starts a run",
		Hint:    diag.Sayf("%s lets them start runs again", diag.Command{"workflows", "enable", target.workflow()}),
	}
}

// skipDisabled writes the row of an event whose workflow is disabled, and reports
// whether it is.
func (tr *Triggers) skipDisabled(workflow string, skip func(reason, note string) error) (bool, error) {
	whole, err := tr.Disabled(workflow)
	if err != nil || whole == nil {
		return false, err
	}
	return true, skip(runs.SkipPaused, pausedWith(nil, whole).Reason)
}

// isPaused reports whether a trigger starts nothing by itself.
func (tr *Triggers) isPaused(workflow string, t *plan.Trigger) (bool, error) {
	state, err := fireStore{tr.store}.TriggerState(workflow, t.Name)
	return state != nil && state.Paused, tr.fault(err)
}
