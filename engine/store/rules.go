package store

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

// What follows from a row is the same in every store. It stands here once.

// IsOpen reports whether a start of the engine must take a run up: it is not closed,
// and not parked until somebody resumes it. A run that has ended but whose handlers
// have not is open.
func IsOpen(row *runs.Run) bool { return !row.Closed && row.Status != runs.RunPaused }

// MayDelete returns why a run cannot be removed: ErrRunOpen, unless it is closed, paused
// or ended.
func MayDelete(row *runs.Run) error {
	if !row.Closed && !row.Status.Ended() && row.Status != runs.RunPaused {
		return fmt.Errorf("it is %s: %w", row.Status, ErrRunOpen)
	}
	return nil
}

// NeedsSomebody reports whether a run needs somebody from the transaction on that gives
// it its status: it failed, ran out of time, is paused or asks a person. It needs nobody
// any more when a run of its workflow that was accepted after it succeeds, when somebody
// has looked at it, when it goes on, or when it is removed. The failure of a
// sub-workflow's run is its parent's matter.
func NeedsSomebody(row *runs.Run) bool {
	return row.Asks > 0 || row.Status == runs.RunPaused || MayLookAt(row)
}

// MayLookAt reports whether a look, or a later success, is all that a run needs. One that
// is paused or asks waits for an act: neither is one.
func MayLookAt(row *runs.Run) bool {
	return (row.Status == runs.RunFailed || row.Status == runs.RunTimedOut) && row.Parent == nil && row.Asks == 0
}

// AsksAnew reports whether a run's new row says anew whether it needs somebody. old is
// the stored row, nil for a new run.
func AsksAnew(old, row *runs.Run) bool {
	return old == nil || old.Status != row.Status || old.Workflow != row.Workflow || old.Attempt != row.Attempt ||
		old.Asks > 0 != (row.Asks > 0)
}

// NewsOf says as what the outbox tells of the new row of a run: that it is closed or
// paused now; "" = nothing. A resume that ended in the same transaction is told too. A
// sub-workflow's run is its parent's matter.
func NewsOf(old, row *runs.Run) runs.OutboxKind {
	if row.Parent != nil {
		return ""
	}
	again := old == nil || old.Attempt != row.Attempt
	switch {
	case row.Closed && (again || !old.Closed):
		return runs.OutboxClosed
	case row.Status == runs.RunPaused && (again || old.Status != runs.RunPaused):
		return runs.OutboxPaused
	}
	return ""
}

// NewsAt stamps an entry of the outbox: now, where the store is given a clock, else when
// the run ended or began.
func NewsAt(now func() time.Time, row *runs.Run) time.Time {
	switch {
	case now != nil:
		return now().UTC().Round(0)
	case row.FinishedAt != nil:
		return *row.FinishedAt
	}
	return row.StartedAt
}

// Queue puts a run into its place under `concurrency` where held of its limit are taken
// and waiting runs stand before it: it is running, or queued.
func Queue(row *runs.Run, held, waiting int) {
	slot := *row.Slot
	slot.State, row.Status = runs.SlotHeld, runs.RunRunning
	if held >= slot.Limit || waiting > 0 {
		slot.State, row.Status = runs.SlotQueued, runs.RunQueued
	}
	row.Slot = &slot
}

// Reopen makes of the row of a run that has given its place back one that asks for it
// again: Queue follows.
func Reopen(row *runs.Run, goOn runs.GoOn) {
	slot := *row.Slot
	slot.GoOn = goOn
	row.Slot, row.Closed, row.FinishedAt, row.Paused = &slot, false, nil, ""
}

// DroppedLine stands at the end of a log for the lines of a step that were not kept.
func DroppedLine(step string, count uint64, now func() time.Time) runs.Log {
	var at time.Time
	if now != nil {
		at = now()
	}
	return runs.Log{
		At: at, Level: "warn", Step: step,
		Message: fmt.Sprintf("%d lines dropped: the log of this step is over %d MiB", count, quota.MaxStepLog>>20),
	}
}
