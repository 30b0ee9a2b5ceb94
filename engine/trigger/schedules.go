package trigger

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schedule"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// maxNextFires is how many coming slots are told at most.
const maxNextFires = 1000

// namedTrigger is a trigger of a workflow in force that people can pause: cron, every or
// poll.
type namedTrigger struct {
	id      string
	rev     *inforce.Revision
	trigger *plan.Trigger
	reads   *schedule.Reads
}

func (n namedTrigger) workflow() string { return n.rev.Name() }

// read reads a cron or every trigger.
func (n namedTrigger) read() (*schedule.Trigger, error) {
	return n.reads.Read(n.id, *n.trigger.Schedule)
}

// isSchedule reports whether a trigger fires by the clock: polls do too, in their
// way.
func isSchedule(kind plan.TriggerKind) bool { return kind.Scheduled() || kind == plan.TriggerPoll }

// schedulesIn returns the schedules and polls in force, by id.
func schedulesIn(ctx context.Context, r *inforce.Revisions) ([]namedTrigger, error) {
	all, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	var found []namedTrigger
	for _, rev := range all {
		triggers := rev.Workflow().Triggers
		for i := range triggers {
			if isSchedule(triggers[i].Kind) {
				found = append(found, namedTrigger{runs.TriggerID(rev.Name(), triggers[i].Name), rev, &triggers[i], &r.Reads})
			}
		}
	}
	order.Sort(found, func(a, b namedTrigger) int { return cmp.Compare(a.id, b.id) })
	return found, nil
}

// scheduleIn returns the schedule or poll of an id. *UnknownError.
func scheduleIn(ctx context.Context, r *inforce.Revisions, id string) (namedTrigger, error) {
	workflow, name, ok := runs.SplitTriggerID(id)
	if !ok {
		return namedTrigger{}, unknownScheduleIn(ctx, r, id)
	}
	rev, err := r.Named(ctx, workflow)
	var unknown *fault.UnknownError
	switch {
	case errors.As(err, &unknown):
		return namedTrigger{}, unknownScheduleIn(ctx, r, id)
	case err != nil:
		return namedTrigger{}, err
	}
	t := rev.Trigger(name)
	if t == nil {
		return namedTrigger{}, unknownScheduleIn(ctx, r, id)
	}
	if !isSchedule(t.Kind) {
		return namedTrigger{}, &fault.UnknownError{
			What: "schedule", Name: id, Hint: diag.Say("`" + name + "` is a trigger of kind " + string(t.Kind) + "; schedules are cron, every and poll"),
		}
	}
	return namedTrigger{id, rev, t, &r.Reads}, nil
}

func unknownScheduleIn(ctx context.Context, r *inforce.Revisions, id string) error {
	unknown := &fault.UnknownError{What: "schedule", Name: id, Hint: diag.Sayf("an id is WORKFLOW/TRIGGER; %s lists them", diag.Command{"schedules"})}
	triggers, err := schedulesIn(ctx, r)
	if err != nil {
		return unknown // that there is none is said all the same
	}
	ids := diag.NamesOf(triggers, func(n namedTrigger) string { return n.id })
	unknown.Hint = diag.DidYouMean(id, ids).Or(unknown.Hint)
	return unknown
}

// item is what the definition alone says of a schedule. state is nil where
// nothing is kept of it.
func (n namedTrigger) item(state *runs.TriggerState, now time.Time) (ScheduleItem, error) {
	item := ScheduleItem{ID: n.id, Workflow: n.workflow(), Trigger: n.trigger.Name, Kind: n.trigger.Kind, Timezone: time.UTC.String()}
	if state != nil {
		item.Paused, item.PausedBy, item.PausedReason, item.Failures = state.Paused, state.PausedBy, state.Reason, state.Failures
		if state.Paused && !state.PausedAt.IsZero() {
			item.PausedAt = &state.PausedAt
		}
	}
	if n.trigger.Kind == plan.TriggerPoll {
		item.Every = schema.FormatDuration(n.trigger.Poll.Every)
		return item, nil
	}
	item.Cron, item.Timezone = n.trigger.Schedule.Cron, n.trigger.Schedule.Timezone
	if item.Cron == "" {
		item.Every = schema.FormatDuration(n.trigger.Schedule.Every)
	}
	t, err := n.read()
	if err != nil {
		return item, err
	}
	if next, ok := t.Next(nextAfter(t, state, now)); ok && !item.Paused {
		item.Next = &next
	}
	return item, nil
}

// nextAfter is the time that coming slots follow: now, or the last decided slot
// where the clock was set back behind it.
func nextAfter(t *schedule.Trigger, state *runs.TriggerState, now time.Time) time.Time {
	if state != nil && state.Hash == t.Hash() && state.Done.After(now) {
		return state.Done
	}
	return now
}

// Schedules returns all schedules and polls, by id.
func (tr *Triggers) Schedules(ctx context.Context) ([]ScheduleItem, error) {
	triggers, err := schedulesIn(ctx, tr.revisions)
	if err != nil {
		return nil, err
	}
	stored, err := tr.store.TriggerStates()
	if err != nil {
		return nil, tr.fault(err)
	}
	states := make(map[string]*runs.TriggerState, len(stored))
	for i := range stored {
		states[runs.TriggerID(stored[i].Workflow, stored[i].Trigger)] = &stored[i]
	}
	items := make([]ScheduleItem, 0, len(triggers))
	for _, n := range triggers {
		item, err := tr.scheduleItem(n, pausedWith(states[n.id], states[runs.TriggerID(n.workflow(), runs.WholeWorkflow)]))
		if err != nil {
			return nil, err
		}
		items = append(items, *item)
	}
	return items, nil
}

// SchedulesOf returns the schedules and polls as the files alone say: for where
// there is no store yet.
func SchedulesOf(ctx context.Context, project *workspace.Workspace) ([]ScheduleItem, error) {
	triggers, err := schedulesIn(ctx, inforce.New(project))
	if err != nil {
		return nil, err
	}
	items := make([]ScheduleItem, 0, len(triggers))
	for _, n := range triggers {
		item, err := n.item(nil, project.Config().Now())
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// scheduleItem adds what the store and the running parts know.
func (tr *Triggers) scheduleItem(n namedTrigger, state *runs.TriggerState) (*ScheduleItem, error) {
	item, err := n.item(state, tr.config.Now())
	if err != nil {
		return nil, err
	}
	item.Running = tr.background.On()
	if next, ok := tr.nextPoll(n.workflow(), n.trigger.Name); ok && n.trigger.Kind == plan.TriggerPoll && !item.Paused {
		item.Next = &next
	}
	if item.Last, err = (fireStore{tr.store}).NewestFire(n.workflow(), n.trigger.Name); err != nil {
		return nil, tr.fault(err)
	}
	if state == nil || state.LastRun == "" {
		return &item, nil
	}
	switch row, err := tr.store.Run(state.LastRun); {
	case err == nil:
		tr.runs.NoteUndriven(row)
		item.LastRun = row
	case !errors.Is(err, store.ErrRunNotFound):
		return nil, tr.fault(err)
	}
	return &item, nil
}

// NextFires returns the next n slots of a schedule after from (zero = now).
// *UnknownError.
func (tr *Triggers) NextFires(ctx context.Context, id string, from time.Time, n int) (*NextFires, error) {
	target, err := scheduleIn(ctx, tr.revisions, id)
	if err != nil {
		return nil, err
	}
	state, err := fireStore{tr.store}.TriggerState(target.workflow(), target.trigger.Name)
	if err != nil {
		return nil, tr.fault(err)
	}
	next, err := target.next(state, from, tr.config.Now(), n)
	if at, ok := tr.nextPoll(target.workflow(), target.trigger.Name); ok && err == nil && target.trigger.Kind == plan.TriggerPoll && from.IsZero() {
		next.put(polledFrom(at, target.trigger.Poll.Every, n))
	}
	return next, err
}

// NextFiresOf returns the coming slots as the files alone say.
func NextFiresOf(ctx context.Context, project *workspace.Workspace, id string, from time.Time, n int) (*NextFires, error) {
	trigger, err := scheduleIn(ctx, inforce.New(project), id)
	if err != nil {
		return nil, err
	}
	return trigger.next(nil, from, project.Config().Now(), n)
}

func (n namedTrigger) next(state *runs.TriggerState, from, now time.Time, count int) (*NextFires, error) {
	count = min(max(count, 1), maxNextFires)
	item, err := n.item(state, now)
	if err != nil {
		return nil, err
	}
	next := &NextFires{
		ID: n.id, Workflow: item.Workflow, Trigger: item.Trigger, Cron: item.Cron, Every: item.Every, Timezone: item.Timezone,
		Next: []time.Time{}, Fires: []NextFire{}, Paused: item.Paused,
	}
	if n.trigger.Kind == plan.TriggerPoll {
		next.put(polledFrom(schedule.NextEvery(cmp.Or(from, now), n.trigger.Poll.Every), n.trigger.Poll.Every, count))
		return next, nil
	}
	t, err := n.read()
	if err != nil {
		return nil, err
	}
	if from.IsZero() {
		from = nextAfter(t, state, now)
	}
	var fires []NextFire
	for range count {
		slot, ok := t.Next(from)
		if !ok {
			break
		}
		fires = append(fires, NextFire{At: slot, Note: t.Note(from, slot)})
		from = slot
	}
	next.put(fires)
	return next, nil
}

// put sets the coming fires.
func (n *NextFires) put(fires []NextFire) {
	n.Next, n.Fires = make([]time.Time, 0, len(fires)), append([]NextFire{}, fires...)
	for _, fire := range fires {
		n.Next = append(n.Next, fire.At)
	}
}

// polledFrom are the times of a poll, as long as nothing delays it.
func polledFrom(first time.Time, every time.Duration, count int) []NextFire {
	fires := make([]NextFire, min(max(count, 1), maxNextFires))
	for i := range fires {
		fires[i] = NextFire{At: first.Add(time.Duration(i) * every).UTC()}
	}
	return fires
}

// Fires returns what triggers did, the newest slot first, and the cursor of the
// next page, "" at the end. *InputError.
func (tr *Triggers) Fires(_ context.Context, f runs.FireFilter) ([]runs.Fire, string, error) {
	if f.Trigger != "" && f.Workflow == "" {
		workflow, trigger, ok := runs.SplitTriggerID(f.Trigger)
		if !ok {
			return nil, "", &fault.InputError{Message: "a trigger is asked for with its workflow", Hint: diag.Say("an id is WORKFLOW/TRIGGER")}
		}
		f.Workflow, f.Trigger = workflow, trigger
	}
	fires, next, err := tr.store.Fires(f)
	stopped := errors.Is(err, store.ErrFailed) || errors.Is(err, store.ErrCorrupt)
	if err != nil && f.Cursor != "" && !stopped {
		return nil, "", &fault.InputError{Input: "cursor", Message: "the cursor is not one of a list of fires", Hint: diag.Say("take the next_cursor of the list before")}
	}
	return fires, next, tr.fault(err)
}
