package page

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// How much of a schedule's day is read. Where there is more, the rest is
// sampled: one of every half hour.
const (
	stripFires  = 400
	stripNext   = 200
	stripRuns   = 200
	stripSample = 30 * time.Minute
)

// runsKnown are the statuses of the newest runs, asked once for each workflow.
// Used by one request.
type runsKnown struct {
	runs  Runs
	since time.Time
	known map[string]*workflowStatuses
}

// workflowStatuses are those of one workflow. full says that there are older runs
// in the day, of which those that failed are known alone.
type workflowStatuses struct {
	statuses map[string]runs.Status
	failed   []runs.Run
	full     bool
}

func newRunsKnown(runs Runs, now time.Time) *runsKnown {
	return &runsKnown{runs: runs, since: now.Add(-stripHalf - time.Hour), known: map[string]*workflowStatuses{}}
}

func (k *runsKnown) of(ctx context.Context, workflow string) (*workflowStatuses, error) {
	if found := k.known[workflow]; found != nil {
		return found, nil
	}
	found := &workflowStatuses{statuses: map[string]runs.Status{}}
	list, next, err := k.runs.List(ctx, runs.Filter{Workflow: workflow, Since: k.since, Limit: stripRuns})
	if err != nil {
		return nil, err
	}
	found.full = next != ""
	if found.full {
		for _, status := range []runs.Status{runs.RunFailed, runs.RunTimedOut} {
			failed, _, err := k.runs.List(ctx, runs.Filter{Workflow: workflow, Status: status, Since: k.since, Limit: stripRuns})
			if err != nil {
				return nil, err
			}
			found.failed = append(found.failed, failed...)
		}
	}
	for _, run := range append(list, found.failed...) {
		found.statuses[run.ID] = run.Status
	}
	k.known[workflow] = found
	return found, nil
}

// mark is the mark of a fire.
func (w *workflowStatuses) mark(fire *runs.Fire) slotMark {
	made := slotMark{from: fire.Slot, to: fire.Slot, kind: "skipped", note: skipText(fire.Skipped), count: max(1, fire.Slots)}
	if fire.Run != "" {
		made.kind, made.note = "ran", fire.Note
		if status, ok := w.statuses[fire.Run]; ok {
			made.kind = string(status)
		}
	}
	return made
}

// strip reads the day around now of one schedule.
func (s *site) strip(ctx context.Context, item *trigger.ScheduleItem, known *runsKnown) (*strip, error) {
	marks, err := s.pastMarks(ctx, item, known)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	end := now.Add(stripHalf)
	if item.Next != nil && item.Next.After(end) {
		return newStrip(now, s.Location, marks), nil
	}
	coming, err := s.Engine.NextFires(ctx, item.ID, now, stripNext)
	if err != nil {
		return nil, err
	}
	for _, at := range coming.Next {
		marks = append(marks, slotMark{from: at, to: at, kind: "coming", count: 1, paused: item.Paused})
	}
	if last := len(marks) - 1; len(coming.Next) == stripNext && marks[last].to.Before(end) {
		marks[last].to, marks[last].more = end, true // it goes on like this
	}
	return newStrip(now, s.Location, marks), nil
}

// pastMarks are the marks of what a schedule did.
func (s *site) pastMarks(ctx context.Context, item *trigger.ScheduleItem, known *runsKnown) ([]slotMark, error) {
	begin := s.Now().Add(-stripHalf)
	fires, _, err := s.Engine.Fires(ctx, runs.FireFilter{Workflow: item.Workflow, Trigger: item.Trigger, Since: begin, Limit: stripFires})
	if err != nil || len(fires) == 0 {
		return nil, err
	}
	statuses, err := known.of(ctx, item.Workflow)
	if err != nil {
		return nil, err
	}
	var marks []slotMark
	for i := range fires {
		marks = append(marks, statuses.mark(&fires[i]))
	}
	if len(fires) < stripFires {
		return marks, nil
	}
	oldest := fires[len(fires)-1].Slot
	for _, run := range statuses.failed {
		if run.Trigger == item.Trigger && run.ScheduledAt.Before(oldest) {
			marks = append(marks, slotMark{from: run.ScheduledAt, to: run.ScheduledAt, kind: string(run.Status), count: 1})
		}
	}
	for at := begin; at.Before(oldest); at = at.Add(stripSample) {
		until := at.Add(stripSample)
		if until.After(oldest) {
			until = oldest
		}
		sample, _, err := s.Engine.Fires(ctx, runs.FireFilter{Workflow: item.Workflow, Trigger: item.Trigger, Since: at, Until: until, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(sample) == 1 {
			one := statuses.mark(&sample[0])
			one.from, one.to, one.more = at, until, true
			marks = append(marks, one)
		}
	}
	return marks, nil
}
