package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schedule"
	"github.com/flowrun/flowrun/engine/store"
)

// PauseSchedule stops a schedule or poll from firing until it is resumed. One
// that is paused already stays as it is. *UnknownError.
func (tr *Triggers) PauseSchedule(ctx context.Context, id string, r PauseRequest) (*ScheduleItem, error) {
	return tr.changeSchedule(ctx, id, func(target namedTrigger, _ *runs.TriggerState) error {
		now := tr.config.Now()
		_, err := tr.store.EditTriggerState(target.workflow(), target.trigger.Name, func(s *runs.TriggerState) {
			if !s.Paused {
				s.Paused, s.PausedAt, s.PausedBy, s.Reason = true, now, r.By, r.Reason
			}
		})
		return err
	})
}

// ResumeSchedule lets a paused schedule fire again, from its next slot on: what
// the pause left out stays out, as a visible row. The failures in a row count from
// 0 again. *UnknownError.
func (tr *Triggers) ResumeSchedule(ctx context.Context, id string, r PauseRequest) (*ScheduleItem, error) {
	return tr.changeSchedule(ctx, id, func(target namedTrigger, state *runs.TriggerState) error {
		now := tr.config.Now()
		if err := tr.notWhileDisabled(target); err != nil {
			return err
		}
		if !state.Paused && !state.Done.After(now) {
			return nil
		}
		return tr.goOn(target, state, now)
	})
}

// goOn lets a trigger count from now on: what was left out has its rows.
func (tr *Triggers) goOn(target namedTrigger, state *runs.TriggerState, now time.Time) error {
	if target.trigger.Kind == plan.TriggerPoll {
		return tr.store.PutFires(nil, target.workflow(), target.trigger.Name, func(s *runs.TriggerState) { resumed(s, now) })
	}
	t, err := target.read()
	if err != nil {
		return err
	}
	p := t.Resume(schedule.View{Now: now, Epoch: tr.scheduler.epoch, State: *state})
	var rows []runs.Fire
	for _, step := range p.Steps {
		rows = append(rows, step.Fire(target.workflow(), target.trigger.Name, target.trigger.Kind, now))
	}
	err = tr.store.PutFires(rows, target.workflow(), target.trigger.Name, func(s *runs.TriggerState) {
		resumed(s, p.Done)
		s.Hash, s.Epoch = t.Hash(), tr.scheduler.epoch
	})
	for i := range rows {
		if err == nil {
			tr.config.Observer.Fired(&rows[i])
		}
	}
	return err
}

func resumed(s *runs.TriggerState, done time.Time) {
	s.Paused, s.PausedAt, s.PausedBy, s.Reason, s.Failures, s.Done = false, time.Time{}, "", "", 0, done
}

// changeSchedule changes what is kept of a schedule while the loop decides
// nothing, and returns the schedule as it is then.
func (tr *Triggers) changeSchedule(ctx context.Context, id string, change func(trigger namedTrigger, state *runs.TriggerState) error) (item *ScheduleItem, err error) {
	trigger, err := scheduleIn(ctx, tr.revisions, id)
	if err != nil {
		return nil, err
	}
	err = tr.scheduler.loop.Exclusively(func() error {
		state, err := tr.scheduleState(trigger)
		if err != nil {
			return err
		}
		if err := change(trigger, state); err != nil {
			return tr.fault(err)
		}
		if state, err = tr.scheduleState(trigger); err != nil {
			return err
		}
		whole, err := tr.Disabled(trigger.workflow())
		if err != nil {
			return err
		}
		item, err = tr.scheduleItem(trigger, pausedWith(state, whole))
		return err
	})
	return item, err
}

// scheduleState returns what is kept of a schedule, which may be nothing but its
// name.
func (tr *Triggers) scheduleState(target namedTrigger) (*runs.TriggerState, error) {
	state, err := tr.store.TriggerState(target.workflow(), target.trigger.Name)
	if state == nil {
		state = &runs.TriggerState{Workflow: target.workflow(), Trigger: target.trigger.Name}
	}
	return state, tr.fault(err)
}

// TriggerSchedule starts a run of a schedule by hand, with the trigger's inputs;
// its slots stay as they are. With At it is the run of that slot: a slot has one
// run at most. A poll polls now. *UnknownError, *InputError, *ConflictError.
func (tr *Triggers) TriggerSchedule(ctx context.Context, id string, r Request) (*runs.Run, error) {
	target, err := scheduleIn(ctx, tr.revisions, id)
	if err != nil {
		return nil, err
	}
	by := cmp.Or(r.By, "somebody")
	if target.trigger.Kind == plan.TriggerPoll {
		if !r.At.IsZero() {
			return nil, &fault.InputError{Input: "at", Message: "a poll has no slots: it can only poll now"}
		}
		runs, err := tr.pollNow(ctx, target.rev, target.trigger, by)
		if err != nil || len(runs) == 0 {
			return nil, err
		}
		return tr.runs.Row(runs[0])
	}
	now := tr.config.Now().UTC().Round(0)
	f := firing{rev: target.rev, trigger: target.trigger, at: cmp.Or(r.At.UTC(), now), by: by}
	if r.RequestID != "" {
		f.requestID, f.digest = "trigger/"+id+"/"+r.RequestID, r.Digest
		if first, err := tr.runs.Requested(f.requestID, r.Digest, r.Replayed); first != nil || err != nil {
			return first, err
		}
	}
	if f.fire, err = tr.handFire(target, r, now); err != nil {
		return nil, err
	}
	run, existing, err := tr.startTriggered(ctx, f)
	if err != nil {
		return nil, handError(err)
	}
	switch {
	case existing && f.requestID == "":
		return nil, slotConflict(id, f.at, run)
	case existing:
		return tr.runs.Requested(f.requestID, r.Digest, r.Replayed)
	}
	return tr.runs.Row(run)
}

// handFire is the row of a run that is started by hand. Without a slot of its own
// it lies at the moment, and beside the slots of the clock.
func (tr *Triggers) handFire(target namedTrigger, r Request, now time.Time) (*runs.Fire, error) {
	fire := &runs.Fire{Slot: now, At: now}
	if !r.At.IsZero() {
		fire.Slot, fire.Backfill = r.At.UTC().Round(0), true
		row, err := tr.store.Fire(target.workflow(), target.trigger.Name, fire.Slot)
		if err != nil {
			return nil, tr.fault(err)
		}
		if row != nil && row.Run != "" {
			return nil, slotConflict(target.id, fire.Slot, row.Run)
		}
		return fire, nil
	}
	t, err := target.read()
	if err != nil {
		return nil, err
	}
	slot, err := tr.freeSlot(target, t, now)
	fire.Slot = slot
	return fire, err
}

// freeSlot returns the first moment from a time on that is no slot of the clock's
// and has no fire.
func (tr *Triggers) freeSlot(target namedTrigger, t *schedule.Trigger, at time.Time) (time.Time, error) {
	for {
		if slot, ok := t.Next(at.Add(-1)); !ok || !slot.Equal(at) {
			row, err := tr.store.Fire(target.workflow(), target.trigger.Name, at)
			if err != nil || row == nil {
				return at, tr.fault(err)
			}
		}
		at = at.Add(1)
	}
}

func slotConflict(id string, slot time.Time, run string) error {
	return &fault.ConflictError{
		Message: fmt.Sprintf("the slot %s of %s has its run already: %s", slot.Format(time.RFC3339), id, run),
		Hint:    diag.Sayf("%s starts another run with its inputs", diag.Command{"runs", "rerun", run}),
	}
}

// handError is what a person gets whose fire can't become a run.
func handError(err error) error {
	var refused *notFiredError
	switch {
	case errors.As(err, &refused) && refused.cause != nil:
		return refused.cause
	case errors.As(err, &refused) && refused.Skipped == runs.SkipInvalid:
		return &fault.InputError{Message: refused.Note}
	case errors.As(err, &refused):
		return &fault.ConflictError{Message: refused.Note}
	case errors.Is(err, store.ErrSlotTaken):
		return &fault.ConflictError{Message: "the slot was decided just now"}
	}
	return err
}
