package trigger

import (
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

// scheduler joins the loop over schedules with the store, the workflows in force
// and the start of runs. What people do to schedules goes through it too, whether
// the loop runs or not. Safe for concurrent use.
type scheduler struct {
	triggers  *Triggers
	loop      *schedule.Loop
	epoch     uint64
	backfills backfills
}

func newScheduler(tr *Triggers, after func(time.Duration) <-chan time.Time) (*scheduler, error) {
	epoch, err := tr.store.Epoch()
	if err != nil {
		return nil, fmt.Errorf("read the store's epoch: %w", err)
	}
	s := &scheduler{triggers: tr, epoch: epoch}
	changed, _ := tr.revisions.Changed() // for as long as the engine lives
	s.loop = schedule.NewLoop(schedule.Options{
		Store: fireStore{tr.store}, Runs: s, Items: s.items, Changed: changed, Epoch: epoch,
		Now: tr.config.Now, After: after, Log: tr.config.Log,
		Skipped: func(fire runs.Fire) { tr.config.Observer.Fired(&fire) },
	})
	return s, nil
}

// fireStore is the store as the loop sees it.
type fireStore struct{ store.Store }

func (s fireStore) NewestFire(workflow, trigger string) (*runs.Fire, error) {
	rows, _, err := s.Fires(runs.FireFilter{Workflow: workflow, Trigger: trigger, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// runSchedules decides on slots until ctx ends.
func (tr *Triggers) runSchedules(ctx context.Context) {
	tr.resumeBackfills(ctx)
	tr.scheduler.loop.Run(ctx)
}

// items are the cron and every triggers in force.
func (s *scheduler) items(ctx context.Context) ([]schedule.Item, error) {
	all, err := s.triggers.revisions.All(ctx)
	if err != nil {
		return nil, err
	}
	var items []schedule.Item
	for _, rev := range all {
		w := rev.Workflow()
		for i := range w.Triggers {
			t := &w.Triggers[i]
			if !t.Kind.Scheduled() {
				continue
			}
			items = append(items, schedule.Item{
				Workflow: w.Name, Trigger: t.Name, Kind: t.Kind, Schedule: t.Schedule, Exclusive: w.Concurrency == nil || w.Concurrency.Implied,
			})
		}
	}
	return items, nil
}

// Start starts the run of a slot.
func (s *scheduler) Start(ctx context.Context, item schedule.Item, fire runs.Fire) (run string, stored bool, err error) {
	rev, err := s.triggers.revisions.Named(ctx, item.Workflow)
	var t *plan.Trigger
	if err == nil {
		t = rev.Trigger(item.Trigger)
	}
	var unknown *fault.UnknownError
	var broken diag.List
	switch {
	case errors.As(err, &unknown), errors.As(err, &broken), err == nil && t == nil:
		return "", false, &schedule.SkippedError{Reason: runs.SkipInvalid, Note: "the trigger is not there any more"}
	case err != nil:
		return "", false, err
	}
	id, existing, err := s.triggers.startTriggered(ctx, firing{rev: rev, trigger: t, at: fire.Slot, fire: &fire})
	var refused *notFiredError
	switch {
	case errors.As(err, &refused):
		return "", false, &schedule.SkippedError{Reason: refused.Skipped, Note: refused.Note}
	case errors.Is(err, store.ErrSlotTaken):
		return "", false, nil
	}
	return id, !existing, err
}

// Active reports whether a run goes on: a paused one has given its place back.
func (s *scheduler) Active(run string) (bool, error) {
	row, err := s.triggers.store.Run(run)
	switch {
	case errors.Is(err, store.ErrRunNotFound):
		return false, nil // retention took it
	case err != nil:
		return false, s.triggers.fault(err)
	}
	return !row.Closed && row.Status != runs.RunPaused, nil
}
