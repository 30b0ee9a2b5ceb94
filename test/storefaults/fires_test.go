//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// fires is the writer of a schedule: a slot with its run, a slot that is skipped,
// the end of the run, which goes to the outbox, and the slot of the run once more,
// which must give the same run.
const fires writer = "fires"

// The operations of four slots.
const (
	fireRun = iota
	fireSkip
	fireEnd
	fireAgain
	fireOps
)

// firstFired is the run of the first slot.
const firstFired = 5000

const firedWorkflow, firedTrigger = "weekly-0", "nightly"

func slotAt(op int) time.Time { return beginning().Add(time.Duration(op) * time.Minute) }

func (s script) fire(op int) runs.Fire {
	return runs.Fire{Workflow: firedWorkflow, Trigger: firedTrigger, Kind: plan.TriggerCron, Slot: slotAt(op), At: beginning()}
}

// firedRow is the row of the run of a slot.
func (s script) firedRow(op int, closed bool) *runs.Run {
	n := firstFired + 2*op // an even number: the small plan
	row := s.row(n, 1, closed)
	fire := s.fire(op)
	fire.Run, row.Fire, row.Trigger = row.ID, &fire, firedTrigger
	return row
}

func (s script) skippedFire(op int) runs.Fire {
	fire := s.fire(op)
	fire.Skipped = runs.SkipOverlap
	return fire
}

func (s script) applyFire(file *boltstore.Store, op int) error {
	first := op - op%fireOps
	row := s.firedRow(first, op%fireOps == fireEnd)
	n := firstFired + 2*first
	switch op % fireOps {
	case fireSkip:
		return file.PutFires([]runs.Fire{s.skippedFire(op)}, firedWorkflow, firedTrigger, func(state *runs.TriggerState) { state.Done = slotAt(op) })
	case fireEnd:
		answered := make(chan error, 1)
		file.Append(row.ID, []*journal.Record{s.record(fires, n, op, 2)}, row, nil, func(err error) { answered <- err })
		return <-answered
	case fireAgain:
		row.ID = idAt(n + 1)
	}
	existing, err := file.CreateRun(context.Background(), row, s.plan(n), "", s.record(fires, n, first, 1))
	if want := idAt(n); err == nil && op%fireOps == fireAgain && existing != want {
		return fmt.Errorf("the slot %d gives the run %q, not %s", first, existing, want)
	}
	return err
}

// applyFireApart is the control of operation fireRun: the run first, then its slot.
func (s script) applyFireApart(file *boltstore.Store, op int) error {
	row := s.firedRow(op, false)
	fire := *row.Fire
	n := firstFired + 2*op
	row.Fire = nil
	if _, err := file.CreateRun(context.Background(), row, s.plan(n), "", s.record(fires, n, op, 1)); err != nil {
		return err
	}
	return file.PutFires([]runs.Fire{fire}, firedWorkflow, firedTrigger, func(state *runs.TriggerState) {
		state.Done, state.LastRun = fire.Slot, row.ID
	})
}

// firesAfter is what the schedule has left after count operations.
func (s script) firesAfter(count int) (all []runs.Fire, state *runs.TriggerState, rows []*runs.Run) {
	for op := range count {
		first := op - op%fireOps
		switch op % fireOps {
		case fireRun:
			row := s.firedRow(first, false)
			all, rows = append(all, *row.Fire), append(rows, row)
			state = &runs.TriggerState{Workflow: firedWorkflow, Trigger: firedTrigger, Done: slotAt(op), LastRun: row.ID}
		case fireSkip:
			all = append(all, s.skippedFire(op))
			state.Done = slotAt(op)
		case fireEnd:
			rows[len(rows)-1] = s.firedRow(first, true)
		}
	}
	return all, state, rows
}

// fires compares slots, runs and the trigger's state with those after as many
// operations as were acknowledged, or one more: all of them with the same number
// (P10).
func (v *verifier) fires(expected map[string]*runs.Run) (whole bool) {
	found, err := v.store.FiresBetween(firedWorkflow, firedTrigger, slotAt(-1), slotAt(1<<20), 0)
	if err != nil {
		v.failed("fires", err)
		return false
	}
	state, err := v.store.TriggerState(firedWorkflow, firedTrigger)
	if err != nil {
		v.failed("state of the trigger", err)
		return false
	}
	told, err := v.toldOf()
	if err != nil {
		v.failed("outbox", err)
		return false
	}
	var differs string
	for more := range v.slack + 1 {
		all, wantState, runs := v.script.firesAfter(v.acks[fires] + more)
		if differs, whole = v.firesDiffer(found, all, state, wantState, runs, told); !whole {
			return false
		}
		if differs == "" {
			for _, row := range runs {
				expected[row.ID] = row
			}
			return true
		}
	}
	v.differs("%d operations of the schedule were acknowledged: %s", v.acks[fires], differs)
	return false
}

func (v *verifier) firesDiffer(found, all []runs.Fire, state, wantState *runs.TriggerState, runs []*runs.Run, told map[string]int) (differs string, whole bool) {
	if !reflect.DeepEqual(found, all) {
		return fmt.Sprintf("%d fires, want %d", len(found), len(all)), true
	}
	if !reflect.DeepEqual(state, wantState) {
		return fmt.Sprintf("state %+v, want %+v", state, wantState), true
	}
	next, _, _ := v.script.firesAfter((len(runs) + 1) * fireOps)
	switch _, err := v.store.Run(next[2*len(runs)].Run); {
	case err == nil:
		return "a run is there without its slot", true
	case !errors.Is(err, store.ErrRunNotFound):
		v.failed("a run that was not fired", err)
		return "", false
	}
	for _, want := range runs {
		row, err := v.store.Run(want.ID)
		if v.apart && row != nil {
			want.Fire, row.Fire = nil, nil
		}
		switch {
		case errors.Is(err, store.ErrRunNotFound):
			return "a slot is there without its run " + want.ID, true
		case err != nil:
			v.failed("row of "+want.ID, err)
			return "", false
		case !reflect.DeepEqual(row, want):
			return fmt.Sprintf("row %+v, want %+v", row, want), true
		case want.Closed != (told[want.ID] == 1):
			return fmt.Sprintf("run %s, closed %v, was told %d times", want.ID, want.Closed, told[want.ID]), true
		}
	}
	return "", true
}

// toldOf counts the outbox entries of each run.
func (v *verifier) toldOf() (told map[string]int, err error) {
	told = map[string]int{}
	for last := uint64(0); ; {
		entries, err := v.store.Outbox(last, 1000)
		if err != nil || len(entries) == 0 {
			return told, err
		}
		for _, entry := range entries {
			told[entry.Run.ID]++
			last = entry.Seq
		}
	}
}

// restoredFires looks at the slots of a restored store: each has its run, which is
// paused where it was open.
func (v *verifier) restoredFires() {
	found, err := v.store.FiresBetween(firedWorkflow, firedTrigger, slotAt(-1), slotAt(1<<20), 0)
	if err != nil {
		v.failed("fires", err)
		return
	}
	for _, fire := range found {
		if fire.Run == "" {
			continue
		}
		row, err := v.store.Run(fire.Run)
		switch {
		case errors.Is(err, store.ErrRunNotFound):
			v.differs("the slot %s of the restored store has no run", fire.Slot)
		case err != nil:
			v.failed("row of "+fire.Run, err)
		case !reflect.DeepEqual(row.Fire, &fire):
			v.differs("run %s of the restored store is that of another slot", fire.Run)
		}
	}
}
