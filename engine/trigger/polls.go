package trigger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

const (
	// pollsAtOnce bounds the polls in flight.
	pollsAtOnce = 16
	// pollLook is the longest time between two looks at the clock: a clock that is
	// set moves the next poll.
	pollLook = 30 * time.Second
)

// pollTrigger names a poll that is in force.
type pollTrigger struct {
	workflow, trigger string
	every             time.Duration
}

// polls decides when each poll is due. One poll is never in flight twice. Safe for
// concurrent use.
type polls struct {
	now   func() time.Time
	after func(time.Duration) <-chan time.Time

	mu    sync.Mutex
	next  map[string]time.Time // by pollKey, of those in force while the loop runs
	busy  map[string]bool
	locks map[string]*sync.Mutex
}

func newPolls(now func() time.Time, after func(time.Duration) <-chan time.Time) *polls {
	return &polls{now: now, after: after, next: map[string]time.Time{}, busy: map[string]bool{}, locks: map[string]*sync.Mutex{}}
}

// lock holds a poll; unlock must be called.
func (p *polls) lock(key string) (unlock func()) {
	p.mu.Lock()
	mutex := p.locks[key]
	if mutex == nil {
		mutex = &sync.Mutex{}
		p.locks[key] = mutex
	}
	p.mu.Unlock()
	mutex.Lock()
	return mutex.Unlock
}

// pollSource is where the loop finds its polls, and what makes them.
type pollSource struct {
	list    func(context.Context) ([]pollTrigger, error)
	changed <-chan struct{} // gets a tick when the list may have changed
	begin   func(pollTrigger) time.Time
	poll    func(context.Context, pollTrigger)
}

// run makes the polls when they are due, until ctx ends, and waits for those in
// flight.
func (p *polls) run(ctx context.Context, source pollSource) {
	var flying sync.WaitGroup
	defer flying.Wait()
	slots, done := make(chan struct{}, pollsAtOnce), make(chan struct{}, 1)
	list, stale := []pollTrigger(nil), true
	for ctx.Err() == nil {
		if stale {
			if fresh, err := source.list(ctx); err == nil {
				list, stale = fresh, false
				p.replan(list, source.begin)
			}
		}
		wait := pollLook
		for _, trigger := range list {
			in, due := p.due(trigger)
			wait = min(wait, in)
			if !due {
				continue
			}
			flying.Go(func() {
				defer p.ended(trigger, done)
				select {
				case slots <- struct{}{}:
					defer func() { <-slots }()
					source.poll(ctx, trigger)
				case <-ctx.Done():
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-source.changed:
			stale = true
		case <-done:
		case <-p.after(max(wait, time.Millisecond)):
		}
	}
}

// replan takes over which polls are in force. A new one is due when begin says so.
func (p *polls) replan(list []pollTrigger, begin func(pollTrigger) time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := make(map[string]time.Time, len(list))
	for _, trigger := range list {
		key := runs.TriggerID(trigger.workflow, trigger.trigger)
		at, ok := p.next[key]
		if !ok {
			at = begin(trigger)
		}
		next[key] = at
	}
	p.next = next
}

// due reports whether a poll is to be made now, and marks it as begun; else in how
// long it is.
func (p *polls) due(trigger pollTrigger) (in time.Duration, due bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key, now := runs.TriggerID(trigger.workflow, trigger.trigger), p.now()
	at, planned := p.next[key]
	if !planned || p.busy[key] {
		return pollLook, false
	}
	if latest := now.Add(trigger.every); at.After(latest) { // a shorter `every`, or a clock that was set back
		at = latest
		p.next[key] = at
	}
	if at.After(now) {
		return at.Sub(now), false
	}
	p.busy[key] = true
	p.next[key] = now.Add(trigger.every)
	return trigger.every, true
}

func (p *polls) ended(trigger pollTrigger, done chan<- struct{}) {
	p.mu.Lock()
	delete(p.busy, runs.TriggerID(trigger.workflow, trigger.trigger))
	p.mu.Unlock()
	select {
	case done <- struct{}{}:
	default:
	}
}

// runPolls makes the polls of all workflows in force until ctx ends.
func (tr *Triggers) runPolls(ctx context.Context) {
	ticks, stop := tr.revisions.Changed()
	defer stop()
	tr.polls.run(ctx, pollSource{list: tr.pollTriggers, changed: ticks, begin: tr.firstPoll, poll: tr.pollInBackground})
}

func (tr *Triggers) pollTriggers(ctx context.Context) ([]pollTrigger, error) {
	revs, err := tr.revisions.All(ctx)
	var list []pollTrigger
	for _, rev := range revs {
		for i := range rev.Workflow().Triggers {
			if t := &rev.Workflow().Triggers[i]; t.Poll != nil {
				list = append(list, pollTrigger{rev.Name(), t.Name, t.Poll.Every})
			}
		}
	}
	return list, err
}

// firstPoll is when a poll is due that this process has not made yet: where the last
// one left its time, as long after it as the workflow says.
func (tr *Triggers) firstPoll(trigger pollTrigger) time.Time {
	now := tr.config.Now()
	row, err := tr.pollRow(trigger.workflow, trigger.trigger)
	if err != nil || row == nil || row.At.After(now) {
		return now
	}
	return row.At.Add(trigger.every)
}

// pollInBackground makes one poll of a trigger as it is in force now. What goes wrong
// is in the log and in the trigger's rows.
func (tr *Triggers) pollInBackground(ctx context.Context, trigger pollTrigger) {
	rev, err := tr.revisions.Named(ctx, trigger.workflow)
	if err != nil {
		return // it is gone; the next list does not have it
	}
	t := rev.Trigger(trigger.trigger)
	if t == nil || t.Poll == nil {
		return
	}
	var failure *runs.Error
	if _, err := tr.poll(ctx, rev, t, ""); err != nil && !errors.As(err, &failure) && ctx.Err() == nil {
		tr.config.Log.Warn("poll not finished", "trigger", runs.TriggerID(trigger.workflow, trigger.trigger), "error", err)
	}
}

// nextPoll is when a poll is due; false while nobody makes them.
func (tr *Triggers) nextPoll(workflow, trigger string) (time.Time, bool) {
	tr.polls.mu.Lock()
	defer tr.polls.mu.Unlock()
	at, ok := tr.polls.next[runs.TriggerID(workflow, trigger)]
	return at, ok
}

// pollNow makes a poll that a person asks for, and returns the runs that it started.
// *ConflictError where there is nothing new, or where the call failed.
func (tr *Triggers) pollNow(ctx context.Context, rev *inforce.Revision, t *plan.Trigger, by string) ([]string, error) {
	if by == "" {
		by = "a person"
	}
	rows, err := tr.poll(ctx, rev, t, by)
	var failure *runs.Error
	switch {
	case errors.As(err, &failure):
		return rows, &fault.ConflictError{Message: "the poll failed: " + tr.project.Redact(failureText(failure))}
	case err != nil:
		return rows, err
	case len(rows) == 0:
		return nil, &fault.ConflictError{
			Message: fmt.Sprintf("the poll of %s found nothing new", runs.TriggerID(rev.Name(), t.Name)),
			Hint:    diag.Say("it starts a run for each new or changed item; the first poll only notes what is there"),
		}
	}
	return rows, nil
}
