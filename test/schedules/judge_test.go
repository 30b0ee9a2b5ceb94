package schedules

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
)

// window is the catch-up window of all schedules here, most how many slots a
// catch-up takes, and counted how far a row counts.
const (
	window  = time.Hour
	most    = 100
	counted = 10_000
)

// stored is what a store says of fires and runs.
type stored struct {
	fires []runs.Fire
	runs  []runs.Run
}

// look reads a store that nobody serves.
func look(t *testing.T, dir string) stored {
	t.Helper()
	e, err := open(config(dir, time.Now, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	return read(t, e)
}

func read(t *testing.T, e *engine.Engine) (s stored) {
	t.Helper()
	for cursor, more := "", true; more; {
		page, next, err := e.Fires(context.Background(), runs.FireFilter{Limit: 500, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		s.fires, cursor, more = append(s.fires, page...), next, next != ""
	}
	for cursor, more := "", true; more; {
		page, next, err := e.List(context.Background(), runs.Filter{Limit: 500, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		s.runs, cursor, more = append(s.runs, page...), next, next != ""
	}
	return s
}

// rule is what is known of a trigger: its slots are the multiples of step.
type rule struct {
	step      time.Duration
	keep      string
	exclusive bool
}

// judge returns what is wrong, at most twenty lines. until is the time up to which
// all slots must be decided; zero = nobody knows.
func (s stored) judge(rules map[string]rule, until time.Time) (wrong []string) {
	say := func(format string, args ...any) {
		if len(wrong) < 20 {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	rows := map[string]runs.Run{}
	ofSlot := map[string][]string{}
	for _, run := range s.runs {
		rows[run.ID] = run
		slot := run.Workflow + " " + run.Trigger + " " + run.ScheduledAt.Format(time.RFC3339Nano)
		if ofSlot[slot] = append(ofSlot[slot], run.ID); len(ofSlot[slot]) > 1 {
			say("slot %s has the runs %v", slot, ofSlot[slot])
		}
		if run.Fire != nil && !run.Fire.Slot.Equal(run.ScheduledAt) {
			say("run %s of slot %v is scheduled at %v", run.ID, run.Fire.Slot, run.ScheduledAt)
		}
	}
	byTrigger := map[string][]runs.Fire{}
	fired := 0
	for _, fire := range s.fires {
		byTrigger[fire.Trigger] = append(byTrigger[fire.Trigger], fire)
		if fire.Run == "" {
			continue
		}
		fired++
		if run, ok := rows[fire.Run]; !ok || run.Fire == nil || !run.Fire.Slot.Equal(fire.Slot) || run.Trigger != fire.Trigger {
			say("the fire %s of %v names run %s, which is not its own", fire.Trigger, fire.Slot, fire.Run)
		}
	}
	if fired != len(s.runs) {
		say("%d fires with a run, %d runs", fired, len(s.runs))
	}
	for name, r := range rules {
		rows := byTrigger[name]
		slices.SortFunc(rows, func(a, b runs.Fire) int { return a.Slot.Compare(b.Slot) })
		r.judge(name, rows, until, say)
	}
	return wrong
}

// judge walks over the slots of one trigger: none is left out, none is there twice,
// and each row has its reason.
func (r rule) judge(name string, rows []runs.Fire, until time.Time, say func(string, ...any)) {
	if len(rows) == 0 {
		if !until.IsZero() {
			say("%s never fired", name)
		}
		return
	}
	next := rows[0].Slot
	for i, row := range rows {
		last := row.Slot
		if row.Slots > 1 {
			last = row.Slot.Add(time.Duration(row.Slots-1) * r.step)
		}
		switch {
		case !row.Slot.Equal(next):
			say("%s: the slot %v follows where %v is due", name, row.Slot, next)
		case last.After(row.At):
			say("%s: %v was decided at %v, before it came", name, last, row.At)
		}
		if row.Slots >= counted && i < len(rows)-1 { // "or more": up to the row behind it
			last = rows[i+1].Slot.Add(-r.step)
		}
		next = last.Add(r.step)
		if row.Run != "" {
			if late := row.At.Sub(row.Slot); late > window+time.Minute {
				say("%s: the run of %v was started %v late, outside of the window", name, row.Slot, late)
			}
			continue
		}
		behind := int(row.At.Sub(last) / r.step) // slots that had come since
		switch row.Skipped {
		case runs.SkipLate:
			if row.At.Sub(last) <= window {
				say("%s: %v was skipped as late at %v", name, last, row.At)
			}
		case runs.SkipBacklog:
			if r.keep != "all" || behind < most {
				say("%s: %v was one too many, with %d behind it", name, row.Slot, behind)
			}
		case runs.SkipCatchup:
			if r.keep == "all" || behind == 0 {
				say("%s: %v was skipped for a newer one that is not there", name, row.Slot)
			}
		case runs.SkipOverlap:
			if !r.exclusive {
				say("%s: %v overlaps with nothing", name, row.Slot)
			}
		default:
			say("%s: %v was skipped: %s %s", name, row.Slot, row.Skipped, row.Note)
		}
	}
	if next.Before(until) {
		say("%s: the last decided slot is %v, of %v nothing is known", name, next.Add(-r.step), until)
	}
}
