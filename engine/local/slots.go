package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// bounded reports whether runs of the workflow need a place.
func (d *Driver) bounded(workflow *plan.Workflow) bool {
	return workflow.Concurrency != nil && d.options.Memory != nil
}

// startBounded stores a run of a workflow with `concurrency`. The transaction
// that stores it decides whether it has a place; its started event, with the
// state as it is then, follows when it has one.
func (d *Driver) startBounded(ctx context.Context, request StartRequest, c code) (stored *runs.Run, existing string, err error) {
	key, failed := c.program.SlotKey(request.Start.Inputs, d.now())
	if failed != nil {
		return nil, "", failed
	}
	row := request.Row
	row.Status = runs.RunQueued
	row.Slot = &runs.Slot{Key: key, Limit: c.workflow.Concurrency.Limit, State: runs.SlotQueued}
	r := d.newRun(row, c.workflow, d.newMachine(c.program))
	accepted, err := r.applyEvent(journal.Event{Kind: journal.Queued, At: d.now(), Start: &request.Start, By: request.By})
	if err != nil {
		return nil, "", fmt.Errorf("accept run of %s: %w", request.Workflow.Name, err)
	}
	if err := r.firstRecord(); err != nil {
		return nil, "", err
	}
	if err := d.reserve(r); err != nil {
		return nil, "", err
	}
	existing, err = d.options.Journal.CreateRun(ctx, &row, request.PlanBytes, request.RequestID, accepted.record)
	if err == nil && existing == "" {
		stored, err = d.options.Journal.Run(row.ID)
	}
	if err != nil || existing != "" {
		d.release(r)
		return nil, existing, err
	}
	r.row = *stored
	row = *stored // the observer's is stored
	d.options.Observer.RunStored(stored)
	d.launchBounded(r, nil)
	return &row, "", nil
}

// takePlace asks for the place of a paused or ended run that shall go on, and
// returns the event that is still to be applied. What a person said of an unknown
// outcome is recorded at once and takes effect when the run has its place. A
// cancel needs none.
func (r *run) takePlace(event *journal.Event) (*journal.Event, error) {
	memory := r.driver.options.Memory
	if r.row.Slot == nil || memory == nil || r.row.StateOf() != runs.SlotFree {
		return event, nil
	}
	var goOn runs.GoOn
	switch {
	case event == nil && r.Machine.Held():
		goOn = runs.GoOn{Resolved: true}
	case event == nil:
		return nil, nil
	case event.Kind == journal.Resumed:
		goOn = runs.GoOn{Resume: true, By: event.By, Discard: event.Discard}
	case event.Kind == journal.Resolved && event.Resolution != nil && r.row.Status == runs.RunPaused:
		held, resolution := *event, *event.Resolution
		resolution.Held, held.Resolution = true, &resolution
		if err := r.record(held); err != nil {
			return nil, err
		}
		if !r.Machine.Held() {
			return nil, nil // it changes nothing
		}
		goOn = runs.GoOn{Resolved: true, By: event.By}
	default:
		return event, nil
	}
	row, err := memory.TakeSlot(r.row.ID, goOn)
	if err != nil {
		return nil, err
	}
	r.row = *row
	return nil, nil
}

// awaitsPlace reports whether a stored run is to begin, or to go on, with its
// place.
func (r *run) awaitsPlace() bool {
	slot := r.row.Slot
	return slot != nil && r.driver.options.Memory != nil &&
		(r.Machine.Unstarted() || slot.State == runs.SlotQueued || slot.State == runs.SlotHeld && slot.GoOn != runs.GoOn{})
}

// launchBounded starts the worker of a run that begins or goes on with its
// place. It serves messages while it waits.
func (d *Driver) launchBounded(r *run, event *journal.Event) {
	d.workers.busy.Add(1) // as launch
	d.workers.Go(func() {
		if event != nil {
			r.handle(message{event: event})
		}
		switch {
		case r.stopping || r.failed != nil || !r.awaitsPlace():
		case r.row.StateOf() == runs.SlotHeld:
			r.enter()
		default:
			r.lineUp()
		}
		r.store()
		r.work()
	})
}

// lineUp does what on_full says of a run that has no place.
func (r *run) lineUp() {
	key := r.row.Slot.Key
	held, queued, err := r.driver.options.Memory.SlotRuns(key)
	if err != nil {
		r.fail(fmt.Errorf("run %s: read the places of %q: %w", r.row.ID, key, err))
		return
	}
	ahead := queued[:max(0, slices.Index(queued, r.row.ID))]
	if r.Machine.Unstarted() && len(held)+len(ahead) > 0 {
		r.onFull(key, held, ahead)
	}
	if r.row.StateOf() == runs.SlotQueued {
		r.driver.promote(key)
	}
}

func (r *run) onFull(key string, held, ahead []string) {
	bounds, holder := r.workflow.Concurrency, slices.Concat(held, ahead)[0]
	switch bounds.OnFull {
	case plan.OnFullSkip:
		r.refuse(plan.KindCanceled, "skipped", "run %s has the place of concurrency key %q: this one is skipped", holder, key)
	case plan.OnFullFail:
		r.refuse(plan.KindConflict, "concurrency", "run %s has the place of concurrency key %q", holder, key)
	case plan.OnFullLatest:
		r.supersede(ahead)
	case plan.OnFullCancelRunning:
		r.supersede(ahead)
		for _, id := range held {
			r.tell(id, journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{Reason: "superseded"}, By: "run " + r.row.ID})
		}
	default:
		if len(ahead) >= bounds.QueueMax {
			r.refuse(plan.KindConflict, "queue_full", "%d runs wait for concurrency key %q already, which is its queue_max", len(ahead), key)
		}
	}
}

// refuse ends the run before it has begun.
func (r *run) refuse(kind plan.ErrorKind, reason, format string, args ...any) {
	r.handle(message{event: &journal.Event{Kind: journal.Refused, Failed: &runs.Error{
		Kind: kind, Reason: reason, Message: fmt.Sprintf(format, args...),
	}}})
}

// supersede ends the runs that wait before this one. One that has got its place
// meanwhile goes on.
func (r *run) supersede(ahead []string) {
	for _, id := range ahead {
		r.tell(id, journal.Event{Kind: journal.Refused, Failed: &runs.Error{
			Kind: plan.KindCanceled, Reason: "superseded", Message: "the later run " + r.row.ID + " took its turn",
		}})
	}
}

func (r *run) tell(id string, event journal.Event) {
	if err := r.driver.Load(id, &event); err != nil {
		r.driver.options.Log.Warn("run not told", "run", id, "event", event.Kind, "error", err)
	}
}

// enter begins the run, or goes on with it, now that it has its place.
func (r *run) enter() {
	if !r.awaitSlot() {
		r.stopping = true
		return
	}
	if !r.Machine.Unstarted() {
		slot := r.row.Slot
		if slot.Resume && !slot.Discard && !r.stillFits() {
			return
		}
		event := &journal.Event{Kind: journal.Resumed, By: slot.By, Discard: slot.Discard}
		if slot.Resolved && r.Machine.Held() {
			event = nil // what was said takes effect now
		}
		r.recover(event)
		if !r.Machine.Unstarted() || r.failed != nil {
			return
		}
		// It had ended before it began.
	}
	start := r.Machine.Begun()
	if names := r.Machine.StateNames(); len(names) > 0 {
		values, err := r.driver.options.Memory.State(r.workflow.Name)
		if err != nil {
			r.fail(fmt.Errorf("run %s: read the state: %w", r.row.ID, err))
			return
		}
		start = withState(start, values, names)
	}
	r.row.StartedAt = r.driver.now()
	r.take(journal.Event{Kind: journal.Started, At: r.row.StartedAt, Start: &start}, nil)
}

// withState adds the stored values of the declared names.
func withState(start journal.Start, values []runs.StateValue, names []string) journal.Start {
	start.State, start.StateVersions = nil, nil
	for _, value := range values {
		if !slices.Contains(names, value.Name) {
			continue // declared once, and not any more: kept
		}
		if start.State == nil {
			start.State, start.StateVersions = map[string]json.RawMessage{}, map[string]uint64{}
		}
		start.State[value.Name], start.StateVersions[value.Name] = value.Value, value.Version
	}
	return start
}

// admitted takes the word that the run has its place.
func (r *run) admitted(row *runs.Run) {
	if r.row.StateOf() != runs.SlotQueued {
		r.driver.promote(row.Slot.Key) // ended meanwhile: its place was given back with its end
		return
	}
	r.row = *row
	r.enter()
}

// keepsRow reports whether the row is not the Machine's: the run waits to begin,
// or to go on, and only its place, or a cancel, changes that.
func (r *run) keepsRow() bool {
	if r.Machine.Unstarted() {
		return true
	}
	status, _ := r.Machine.Status()
	return r.row.StateOf() == runs.SlotQueued && !r.leaving && (status == runs.RunPaused || r.Machine.Done())
}

// updateSlot derives the run's place from the Machine: one that is closed or
// paused gives it back.
func (r *run) updateSlot() {
	if r.row.Slot == nil {
		return
	}
	slot := runs.Slot{Key: r.row.Slot.Key, Limit: r.row.Slot.Limit, State: runs.SlotHeld}
	if r.row.Closed || r.row.Status == runs.RunPaused {
		slot.State = runs.SlotFree
	}
	r.row.Slot = &slot
}

func sameSlot(a, b *runs.Slot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.State == b.State && a.GoOn == b.GoOn
}

// slotGiven lets the next run in when a stored row gave its place back.
func (r *run) slotGiven(row *runs.Run) {
	if row != nil && row.Slot != nil && row.StateOf() == runs.SlotFree {
		r.driver.promote(row.Slot.Key)
	}
}

// promote gives free places of a key to those that wait longest. A run that
// holds one and that no process drives is taken up, since others wait for its
// end.
func (d *Driver) promote(key string) {
	if d.options.Memory == nil || d.ctx.Err() != nil {
		return
	}
	d.workers.Go(func() {
		for d.ctx.Err() == nil {
			row, err := d.options.Memory.AdmitNext(key)
			if err != nil {
				d.options.Log.Error("place not given", "key", key, "error", err)
				return
			}
			if row == nil {
				d.takeUpHolders(key)
				return
			}
			d.letIn(row)
		}
	})
}

// letIn tells a run that it has its place. One that another one loads meanwhile may have
// been read before that, and is told too.
func (d *Driver) letIn(row *runs.Run) {
	for {
		if r := d.driven(row.ID); r != nil && r.mail.put(message{admitted: row}) {
			return
		}
		loaded, err := d.load(row.ID, nil)
		if err != nil {
			d.options.Log.Error("run not begun", "run", row.ID, "error", err)
		}
		if loaded || err != nil {
			return
		}
	}
}

func (d *Driver) takeUpHolders(key string) {
	held, queued, err := d.options.Memory.SlotRuns(key)
	if err != nil || len(queued) == 0 {
		return
	}
	for _, id := range held {
		if d.Driven(id) {
			continue
		}
		d.options.Log.Info("going on with a run that others wait for", "run", id, "key", key)
		if err := d.Load(id, nil); err != nil {
			d.options.Log.Warn("run not taken up", "run", id, "error", err)
		}
	}
}
