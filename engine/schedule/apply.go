package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// applying does the steps of one decision in the order of the slots. Rows without
// a run are stored together.
type applying struct {
	loop    *Loop
	ctx     context.Context
	entry   *entry
	now     time.Time
	lastRun string
	rows    []runs.Fire
	done    time.Time // the last slot of rows
}

// step does one step; waits says that it must be done later.
func (a *applying) step(s Step) (waits bool, err error) {
	if s.Skipped != "" {
		a.skip(s, s.Skipped, s.Note)
		return false, nil
	}
	if a.entry.item.Exclusive && a.lastRun != "" {
		active, err := a.loop.o.Runs.Active(a.lastRun)
		if err != nil {
			return false, fmt.Errorf("look at run %s: %w", a.lastRun, err)
		}
		if active && s.Waits {
			return true, nil
		}
		if active {
			a.skip(s, runs.SkipOverlap, joined(s.Note, "run "+a.lastRun+" is active"))
			return false, nil
		}
	}
	if err := a.flush(nil); err != nil {
		return false, err
	}
	run, stored, err := a.loop.o.Runs.Start(a.ctx, a.entry.item, a.row(s, "", s.Note))
	var skipped *SkippedError
	switch {
	case errors.As(err, &skipped):
		a.skip(s, skipped.Reason, joined(s.Note, skipped.Note))
		return false, nil
	case err != nil:
		return false, fmt.Errorf("start the run of %s: %w", s.Slot.Format(time.RFC3339), err)
	}
	if run != "" {
		a.lastRun = run
	}
	if !stored {
		a.done = s.Last
	}
	return false, nil
}

func (a *applying) row(s Step, reason, note string) runs.Fire {
	s.Skipped, s.Note = reason, note
	return s.Fire(a.entry.item.Workflow, a.entry.item.Trigger, a.entry.item.Kind, a.now)
}

func (a *applying) skip(s Step, reason, note string) {
	a.rows = append(a.rows, a.row(s, reason, note))
	a.done = s.Last
}

// flush stores the rows that wait, and what else changes of the state.
func (a *applying) flush(begin func(*runs.TriggerState)) error {
	rows, done := a.rows, a.done
	a.rows, a.done = nil, time.Time{}
	if len(rows) == 0 && done.IsZero() && begin == nil {
		return nil
	}
	err := a.loop.o.Store.PutFires(rows, a.entry.item.Workflow, a.entry.item.Trigger, func(s *runs.TriggerState) {
		if done.After(s.Done) {
			s.Done = done
		}
		if begin != nil {
			begin(s)
		}
	})
	if err != nil {
		return fmt.Errorf("store fires: %w", err)
	}
	for _, row := range rows {
		if a.loop.o.Skipped != nil {
			a.loop.o.Skipped(row)
		}
	}
	return nil
}
