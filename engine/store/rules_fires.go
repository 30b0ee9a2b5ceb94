package store

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/runs"
)

// The years that a count of nanoseconds reaches.
const (
	FirstYear = 1679
	LastYear  = 2261
)

// CheckTrigger refuses names that no trigger has: JSON would change them.
func CheckTrigger(workflow, trigger string) error {
	if !utf8.ValidString(workflow) || !utf8.ValidString(trigger) {
		return fmt.Errorf("%q is not the name of a trigger", runs.TriggerID(workflow, trigger))
	}
	return nil
}

// CheckSlot refuses slots that are not of our time, and those of no trigger.
func CheckSlot(workflow, trigger string, slot time.Time) error {
	if year := slot.UTC().Year(); year < FirstYear || year > LastYear {
		return fmt.Errorf("the slot %s of %s is not of our time", slot, runs.TriggerID(workflow, trigger))
	}
	return CheckTrigger(workflow, trigger)
}

// EditState gives edit a copy of what is kept of a trigger, nil for nothing, and returns
// the new state. changed is false when it is as before; paused says that the engine
// itself has paused the trigger: that goes to the outbox, since nobody else would tell.
func EditState(old *runs.TriggerState, workflow, trigger string, edit func(*runs.TriggerState)) (state *runs.TriggerState, changed, paused bool) {
	if old == nil {
		old = &runs.TriggerState{}
	}
	edited := *old
	edited.Workflow, edited.Trigger = workflow, trigger
	before := edited
	edit(&edited)
	edited.Workflow, edited.Trigger = workflow, trigger
	edited.Done, edited.PausedAt = inUTC(edited.Done), inUTC(edited.PausedAt)
	return &edited, !sameState(before, edited), !before.Paused && edited.Paused && edited.PausedBy == ""
}

// inUTC is the form in which a time is stored and compared.
func inUTC(at time.Time) time.Time {
	if at.IsZero() {
		return time.Time{}
	}
	return at.UTC().Round(0)
}

func sameState(a, b runs.TriggerState) bool {
	if !a.Done.Equal(b.Done) || !a.PausedAt.Equal(b.PausedAt) {
		return false
	}
	a.Done, a.PausedAt, b.Done, b.PausedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	return a == b
}

// AdmitFire decides on the fire of a new run, given the row of its slot (nil = there is
// none). A row that names a run is the answer: existing. One without a run stays as it is
// (ErrSlotTaken), unless a backfill asks for the slot. What is no schedule has no slots:
// its fire takes the next moment, and free tells that this one has to be looked at.
func AdmitFire(fire, stored *runs.Fire) (existing string, free bool, err error) {
	switch {
	case stored == nil:
		return "", true, nil
	case fire.Kind.Scheduled() && stored.Run != "":
		return stored.Run, false, nil
	case fire.Kind.Scheduled() && !fire.Backfill:
		return "", false, fmt.Errorf("slot %s of %s: %w", fire.Slot.Format(time.RFC3339), runs.TriggerID(fire.Workflow, fire.Trigger), ErrSlotTaken)
	case fire.Kind.Scheduled():
		if stored.Slots > 1 {
			fire.Skipped, fire.Slots, fire.Note = stored.Skipped, stored.Slots, stored.Note
		}
		return "", true, nil
	}
	fire.Slot = fire.Slot.Add(1)
	return "", false, nil
}

// Fired is the edit of a trigger's state that belongs to a fire with its run; nil for a
// backfill, which changes nothing there.
func Fired(fire *runs.Fire, epoch uint64) func(*runs.TriggerState) {
	if fire.Backfill {
		return nil
	}
	return func(state *runs.TriggerState) {
		state.LastRun = fire.Run
		if fire.Kind.Scheduled() && fire.By == "" && fire.Slot.After(state.Done) {
			state.Done, state.Epoch = fire.Slot, epoch
		}
	}
}
