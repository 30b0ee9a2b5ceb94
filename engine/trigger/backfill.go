package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schedule"
	"github.com/flowrun/flowrun/engine/store"
)

const (
	// maxBackfill is how many slots one backfill takes: as many as rows are kept of
	// a trigger.
	maxBackfill = 10_000
	// maxBackfillParallel is how many of its runs go on at a time.
	maxBackfillParallel = 100
	// undrivenStep is how long a run is left alone that no process drives.
	undrivenStep = 100 * time.Millisecond
)

// backfills are those whose runs are not all started. Safe for concurrent use.
type backfills struct {
	group   sync.WaitGroup
	pending atomic.Int64
}

// Backfill starts runs of past slots, the oldest first, MaxParallel at a time.
// When it returns the first of them are started; the others follow in the
// background. A server goes on with them after a restart; else what a stop leaves
// out is taken by the same backfill once more. Canceling one of its runs ends it.
// *UnknownError, *InputError.
func (tr *Triggers) Backfill(ctx context.Context, id string, r BackfillRequest) (*BackfillResult, error) {
	found, err := scheduleIn(ctx, tr.revisions, id)
	if err != nil {
		return nil, err
	}
	if found.trigger.Kind == plan.TriggerPoll {
		return nil, &fault.InputError{Message: fmt.Sprintf("%s is a poll: it has no slots", id), Hint: diag.Sayf("%s polls now", diag.Command{"schedules", "trigger", id})}
	}
	t, err := found.read()
	if err != nil {
		return nil, err
	}
	now := tr.config.Now().UTC().Round(0)
	slots, err := backfillSlots(t, r, now)
	if err != nil {
		return nil, err
	}
	own, err := tr.runs.NewID(now)
	if err != nil {
		return nil, err
	}
	b := &backfill{triggers: tr, target: found, schedule: t, backfillJob: backfillJob{
		ID: own, Schedule: id, From: r.From, Until: backfillEnd(r, now), All: r.All, Parallel: max(r.MaxParallel, 1), By: cmp.Or(r.By, "somebody"), Epoch: tr.scheduler.epoch,
	}}
	result, err := b.plan(slots, now)
	if err != nil {
		return nil, err
	}
	result.DryRun = r.DryRun
	if r.DryRun {
		return result, nil
	}
	return result, b.start(ctx, result.Slots)
}

// checkBackfill tells all that is wrong with a request.
func checkBackfill(r BackfillRequest, now time.Time) error {
	var wrong []*fault.InputError
	note := func(input, message, hint string) {
		wrong = append(wrong, &fault.InputError{Input: input, Pointer: fault.PointerTo(input, ""), Message: message, Hint: diag.Say(hint)})
	}
	switch {
	case r.From.IsZero():
		note("from", "a backfill needs the time that it begins at", "such as 2026-03-01T00:00:00Z, or 7d")
	case r.From.After(now):
		note("from", "the backfill would begin in the future", "a backfill takes slots of the past")
	case !r.From.Before(cmp.Or(r.Until, backfillEnd(r, now))):
		note("until", "the backfill ends before it begins", "")
	}
	if r.MaxParallel < 0 || r.MaxParallel > maxBackfillParallel {
		note("max_parallel", fmt.Sprintf("max_parallel is 1 to %d, not %d", maxBackfillParallel, r.MaxParallel), "")
	}
	return fault.WrongInputs(wrong)
}

// backfillSlots returns the slots that a request names. Those that are still to
// come are not among them.
func backfillSlots(t *schedule.Trigger, r BackfillRequest, now time.Time) ([]time.Time, error) {
	if err := checkBackfill(r, now); err != nil {
		return nil, err
	}
	until := backfillEnd(r, now)
	slots, more := t.Slots(r.From, until, maxBackfill)
	if more {
		return nil, &fault.InputError{Input: "until", Message: fmt.Sprintf("there are more than %d slots from %s until %s", maxBackfill, r.From.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339)), Hint: diag.Say("take a part of it")}
	}
	return slots, nil
}

// backfillEnd is the time that a backfill ends before: a slot that is now is past.
func backfillEnd(r BackfillRequest, now time.Time) time.Time {
	if r.Until.IsZero() || r.Until.After(now) {
		return now.Add(1)
	}
	return r.Until
}

// backfillJob is what is stored of a backfill that a server has accepted.
type backfillJob struct {
	ID       string    `json:"id"`
	Schedule string    `json:"schedule"`
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	All      bool      `json:"all,omitempty"`
	Parallel int       `json:"parallel"`
	By       string    `json:"by"`
	Epoch    uint64    `json:"epoch"` // of the store: a restored one does not go on with it
}

// backfillBucket holds them by their ids.
const backfillBucket = "backfills"

// backfill is one backfill while it is planned and started.
type backfill struct {
	backfillJob
	triggers *Triggers
	target   namedTrigger
	schedule *schedule.Trigger
}

// plan tells the slots that get a run from those that have one.
func (b *backfill) plan(slots []time.Time, now time.Time) (*BackfillResult, error) {
	result := &BackfillResult{ID: b.target.id, Slots: []runs.Fire{}, Skipped: []runs.Fire{}}
	if len(slots) == 0 {
		return result, nil
	}
	rows, err := b.triggers.store.FiresBetween(b.target.workflow(), b.target.trigger.Name, slots[0], slots[len(slots)-1].Add(1), 0)
	if err != nil {
		return nil, b.triggers.fault(err)
	}
	have := map[int64]runs.Fire{}
	for _, row := range rows {
		if row.Run != "" {
			have[row.Slot.UnixNano()] = row
		}
	}
	before := b.From.Add(-1)
	for _, slot := range slots {
		row, has := have[slot.UnixNano()]
		if has && !b.All {
			result.Skipped = append(result.Skipped, row)
			continue
		}
		result.Slots = append(result.Slots, runs.Fire{
			Workflow: b.target.workflow(), Trigger: b.target.trigger.Name, Kind: b.target.trigger.Kind,
			Slot: slot.UTC(), At: now, Note: b.schedule.Note(before, slot), Backfill: true, By: b.By,
		})
		before = slot
	}
	return result, nil
}

// start starts the first runs at once, so that what is wrong with all of them is
// told, and the others as these end. It sets the ids of the first in slots.
func (b *backfill) start(ctx context.Context, slots []runs.Fire) error {
	first := min(b.Parallel, len(slots))
	resumable := len(slots) > first && b.triggers.background.On()
	for i := range slots[:first] {
		run, err := b.startSlot(ctx, slots[i])
		if err != nil {
			return handError(err)
		}
		slots[i].Run = run
	}
	if len(slots) == first {
		return nil
	}
	if resumable {
		if err := store.PutJSON(b.triggers.store.KV(), backfillBucket, b.ID, b.backfillJob, nil); err != nil {
			return b.triggers.fault(err)
		}
	}
	b.goOn(slots[:first], slots[first:])
	return nil
}

// goOn starts the runs of the rest as those that go on end.
func (b *backfill) goOn(going, rest []runs.Fire) {
	s := b.triggers.scheduler
	queue := make(chan runs.Fire, len(rest))
	for _, fire := range rest {
		queue <- fire
	}
	close(queue)
	ctx, cancel := context.WithCancelCause(b.triggers.background.Context())
	var workers sync.WaitGroup
	for i := range b.Parallel {
		run := ""
		if i < len(going) {
			run = going[i].Run
		}
		workers.Go(func() {
			if err := b.follow(ctx, run, queue); err != nil {
				cancel(err)
			}
		})
	}
	s.backfills.pending.Add(1)
	s.backfills.group.Go(func() {
		defer s.backfills.pending.Add(-1)
		workers.Wait()
		if cause := context.Cause(ctx); cause != nil && b.triggers.background.Context().Err() == nil {
			b.triggers.config.Log.Warn("backfill ended early", "schedule", b.Schedule, "reason", cause)
		}
		if b.triggers.background.Context().Err() == nil {
			b.drop()
		}
		cancel(nil)
	})
}

// drop forgets a backfill that has ended.
func (b *backfill) drop() {
	if err := b.triggers.store.KV().Delete(backfillBucket, b.ID, nil); err != nil {
		b.triggers.config.Log.Error("backfill not forgotten", "schedule", b.Schedule, "error", err)
	}
}

// follow starts one run behind the other. An error ends the whole backfill.
func (b *backfill) follow(ctx context.Context, run string, queue <-chan runs.Fire) error {
	for {
		if run != "" {
			if status, err := b.end(ctx, run); err != nil || status == runs.RunCanceled {
				return cmp.Or(err, fmt.Errorf("its run %s was canceled", run))
			}
		}
		fire, more := <-queue
		if !more || ctx.Err() != nil {
			return nil
		}
		var err error
		if run, err = b.startSlot(ctx, fire); err != nil {
			return fmt.Errorf("slot %s: %w", fire.Slot.Format(time.RFC3339), err)
		}
	}
}

// end waits until a run has ended or is paused. One that nobody drives yet, since
// the server has just begun, is looked at again.
func (b *backfill) end(ctx context.Context, run string) (runs.Status, error) {
	for ctx.Err() == nil {
		result, err := b.triggers.runs.Wait(ctx, run)
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, fault.ErrRunNotFound):
			return "", nil // retention took it
		case err != nil:
			return "", err
		case result.Run.Closed || result.Run.Status == runs.RunPaused:
			return result.Run.Status, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(undrivenStep):
		}
	}
	return "", nil
}

// startSlot starts the run of a slot. One that has got its run meanwhile has it.
func (b *backfill) startSlot(ctx context.Context, fire runs.Fire) (string, error) {
	slot := fire.Slot
	row, err := b.triggers.store.Fire(fire.Workflow, fire.Trigger, slot)
	if err != nil {
		return "", b.triggers.fault(err)
	}
	if row != nil && row.Run != "" && b.All { // its row stands beside the slot's own
		if fire.Slot, err = b.triggers.freeSlot(b.target, b.schedule, slot); err != nil {
			return "", err
		}
		fire.Note = "once more for " + slot.Format(time.RFC3339)
	}
	run, _, err := b.triggers.startTriggered(ctx, firing{
		rev: b.target.rev, trigger: b.target.trigger, at: slot, fire: &fire, by: b.By, requestID: "backfill/" + b.ID + "/" + slot.Format(time.RFC3339Nano),
	})
	return run, err
}

// resumeBackfills goes on with those that the server before had accepted.
func (tr *Triggers) resumeBackfills(ctx context.Context) {
	log := tr.config.Log
	keys, err := tr.store.KV().List(backfillBucket, "")
	if err != nil {
		log.Error("backfills not read", "error", err)
		return
	}
	for _, key := range keys {
		b := &backfill{triggers: tr}
		if _, ok, err := store.GetJSON(tr.store.KV(), backfillBucket, key, &b.backfillJob); err != nil || !ok {
			log.Error("backfill not read", "id", key, "error", err)
			continue
		}
		if err := b.resume(ctx); err != nil {
			log.Warn("backfill not gone on with", "schedule", b.Schedule, "error", err)
			b.drop()
		}
	}
}

// resume goes on with a stored backfill: the slots that have got their run keep it.
func (b *backfill) resume(ctx context.Context) (err error) {
	if b.Epoch != b.triggers.scheduler.epoch {
		return errors.New("the store was restored since")
	}
	if b.target, err = scheduleIn(ctx, b.triggers.revisions, b.Schedule); err != nil {
		return err
	}
	if b.target.trigger.Kind == plan.TriggerPoll {
		return errors.New("it is a poll now")
	}
	if b.schedule, err = b.target.read(); err != nil {
		return err
	}
	slots, _ := b.schedule.Slots(b.From, b.Until, maxBackfill)
	result, err := b.plan(slots, b.triggers.config.Now().UTC().Round(0))
	if err != nil {
		return err
	}
	going, err := b.going()
	if err != nil {
		return err
	}
	b.goOn(going, result.Slots)
	return nil
}

// going are the fires of the backfill whose runs go on.
func (b *backfill) going() (fires []runs.Fire, err error) {
	rows, err := b.triggers.store.FiresBetween(b.target.workflow(), b.target.trigger.Name, b.From, b.Until, 0)
	if err != nil {
		return nil, b.triggers.fault(err)
	}
	for _, row := range rows {
		if !row.Backfill || row.Run == "" {
			continue
		}
		active, err := b.triggers.scheduler.Active(row.Run)
		if err != nil {
			return nil, err
		}
		if active {
			fires = append(fires, row)
		}
	}
	return fires, nil
}
