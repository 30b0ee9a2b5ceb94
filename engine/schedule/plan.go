package schedule

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// MaxCatchup is how many missed slots are run at most (docs/reliability.md, P10).
const MaxCatchup = 100

// View is what Plan sees of a trigger and of the time.
type View struct {
	Now     time.Time
	Present bool              // somebody has looked all the time since Done: what is due was not missed
	Until   time.Time         // slots up to it were taken for a catch-up already and still wait; zero = none
	Epoch   uint64            // of the store
	State   runs.TriggerState // zero = nothing is kept
}

// Step is what becomes of a slot, or of several that are skipped.
type Step struct {
	Slot    time.Time
	Last    time.Time // of several
	Slots   int
	Skipped string // "" = start a run
	Note    string
	Waits   bool // for the trigger's last run instead of being skipped
}

// Fire is the row of the step at a trigger.
func (s Step) Fire(workflow, trigger string, kind plan.TriggerKind, now time.Time) runs.Fire {
	row := runs.Fire{
		Workflow: workflow, Trigger: trigger, Kind: kind,
		Slot: s.Slot.UTC(), At: now.UTC().Round(0), Skipped: s.Skipped, Note: s.Note,
	}
	if s.Slots > 1 {
		row.Slots = s.Slots
	}
	return row
}

// Plan is what is to be done now, in the order of the slots.
type Plan struct {
	// Begin says that the trigger is new here, or another than the one that is
	// kept, or that the store was restored: its slots count from Done on.
	Begin bool
	Done  time.Time
	Steps []Step
	Until time.Time // the last slot that was taken for a catch-up; zero = none
	Next  time.Time // when the next undecided slot is due; zero = never
}

// Plan decides on all slots that are due.
func (t *Trigger) Plan(v View) Plan {
	switch {
	case v.State.Hash != t.hash || v.State.Done.IsZero():
		return t.begin(v, nil)
	case v.State.Epoch != v.Epoch:
		return t.begin(v, t.skipped(runs.SkipRestored, v.State.Done, v.Now))
	}
	p := Plan{Done: v.State.Done}
	last, ok := t.lastDue(v.State.Done, v.Now)
	if !ok {
		p.Next = t.dueAfter(v.State.Done)
		return p
	}
	switch {
	case v.State.Paused:
		p.Steps = t.skipped(runs.SkipPaused, v.State.Done, last)
	case !v.Until.IsZero() && v.Until.After(v.State.Done):
		p.Steps, p.Until = t.goOn(v, last), v.Until
	case v.Present:
		p.Steps = t.live(v.State.Done, last)
	default:
		p.Steps, p.Until = t.missed(v, last)
	}
	p.Next = t.dueAfter(last)
	return p
}

// begin lets the slots count from now on.
func (t *Trigger) begin(v View, steps []Step) Plan {
	return Plan{Begin: true, Done: v.Now, Steps: steps, Next: t.dueAfter(v.Now)}
}

// Resume is what becomes of a trigger that was paused: the slots of the pause are
// skipped, and its slots count from now on. Where the clock was set back it is the
// way to go on before the last slot.
func (t *Trigger) Resume(v View) Plan {
	if !v.State.Paused || v.State.Hash != t.hash || v.State.Done.IsZero() {
		return t.begin(v, nil)
	}
	return t.begin(v, t.skipped(runs.SkipPaused, v.State.Done, v.Now))
}

// lastDue returns the newest slot after done that is due.
func (t *Trigger) lastDue(done, now time.Time) (time.Time, bool) {
	count := 1
	if t.jitter > 0 {
		count = 2
	}
	slots := t.newest(done, now, count)
	for i := len(slots) - 1; i >= 0; i-- {
		if !t.Due(slots[i]).After(now) {
			return slots[i], true
		}
	}
	return time.Time{}, false
}

func (t *Trigger) dueAfter(done time.Time) time.Time {
	if slot, ok := t.Next(done); ok {
		return t.Due(slot)
	}
	return time.Time{}
}

// skipped is one step for the slots in (after, until], none where there are none.
func (t *Trigger) skipped(reason string, after, until time.Time) []Step {
	s := t.stretch(after, until)
	if s.count == 0 {
		return nil
	}
	step := Step{Slot: s.first, Last: s.last, Slots: s.count, Skipped: reason}
	if s.count == maxCount {
		step.Note = fmt.Sprintf("%d slots or more", maxCount)
	}
	return []Step{step}
}

// runs are the steps of slots that are run, each with what the clock does to it.
func (t *Trigger) runs(after time.Time, slots []time.Time, note string, waits bool) []Step {
	steps := make([]Step, len(slots))
	for i, slot := range slots {
		steps[i] = Step{Slot: slot, Last: slot, Slots: 1, Note: joined(t.Note(after, slot), note), Waits: waits}
		after = slot
	}
	return steps
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// live are the slots that somebody was there for: all of them, unless they are
// too many.
func (t *Trigger) live(done, last time.Time) []Step {
	slots := t.newest(done, last, MaxCatchup)
	steps := t.skipped(runs.SkipBacklog, done, slots[0].Add(-1))
	return append(steps, t.runs(done, slots, "", false)...)
}

// goOn takes what is left of a catch-up, then the slots that came meanwhile.
func (t *Trigger) goOn(v View, last time.Time) []Step {
	slots := t.newest(v.State.Done, v.Until, MaxCatchup)
	steps := t.runs(v.State.Done, slots, caughtUp, true)
	if last.After(v.Until) {
		steps = append(steps, t.live(v.Until, last)...)
	}
	return steps
}

const caughtUp = "caught up"

// missed are the slots that nobody was there for: those in the window that `keep`
// takes are run, the others skipped.
func (t *Trigger) missed(v View, last time.Time) (steps []Step, until time.Time) {
	done := v.State.Done
	opens := v.Now.Add(-t.catchup.Window).Add(-1)
	if opens.Before(done) {
		opens = done
	}
	if last.After(opens) {
		steps = t.skipped(runs.SkipLate, done, opens)
	} else {
		return t.skipped(runs.SkipLate, done, last), time.Time{}
	}
	keep, reason := 1, runs.SkipCatchup
	switch t.catchup.Keep {
	case "none":
		return append(steps, t.skipped(runs.SkipCatchup, opens, last)...), time.Time{}
	case "all":
		keep, reason = MaxCatchup, runs.SkipBacklog
	}
	slots := t.newest(opens, last, keep)
	steps = append(steps, t.skipped(reason, opens, slots[0].Add(-1))...)
	steps = append(steps, t.runs(done, slots, caughtUp, keep > 1)...)
	return steps, last
}
