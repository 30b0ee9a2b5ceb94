package local

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// call is a call in flight.
type call struct {
	command journal.Command
	cancel  context.CancelFunc
}

// maxTimerSleep bounds how long a timer trusts the monotonic clock: the wall
// clock is asked again at least this often (docs/reliability.md, P9).
const maxTimerSleep = 30 * time.Second

// timer is a durable timer: its command is in the journal, this is its clock.
type timer struct {
	command journal.Command
	clock   *time.Timer
}

func (t *timer) stop() { t.clock.Stop() }

// dispatch does what the commands say. Logs and the finish are part of the
// record itself and need nothing more.
func (r *run) dispatch(commands []journal.Command) {
	if r.driver.draining() {
		commands = r.withhold(commands)
	}
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall:
			r.startCall(command)
		case journal.CommandTimer:
			r.startTimer(command)
		case journal.CommandChild:
			r.startChild(command)
		case journal.CommandCancel:
			r.cancelCommand(command.Path)
		}
	}
}

func (r *run) cancelCommand(path string) {
	if t := r.timers[path]; t != nil {
		t.stop()
		delete(r.timers, path)
	}
	if c := r.calls[path]; c != nil {
		c.cancel()
		return
	}
	switch c := r.children[path]; {
	case c != nil:
		r.cancelChild(c)
	case !runs.IsTimer(path): // no timer
		r.dropped[path] = true // its start waits for a commit
	}
}

func (r *run) startCall(command journal.Command) {
	if r.dropped[command.Path] { // canceled while its intent became durable
		delete(r.dropped, command.Path)
		r.calls[command.Path] = &call{command: command, cancel: func() {}}
		event := answerEvent(command.Path, dispatch.Failure(plan.KindCanceled, runs.NotApplied, "canceled before it was sent"))
		if command.Call.Reconcile != "" {
			event = journal.Event{Kind: journal.Reconciled, Path: command.Path, Outcome: &runs.Outcome{Note: "canceled before the question was sent"}}
		}
		r.mail.put(message{event: &event, answerTo: &command})
		return
	}
	ctx, cancel := context.WithCancel(r.driver.ctx)
	r.calls[command.Path] = &call{command: command, cancel: cancel}
	request := r.request(command)
	one := dispatch.Call{
		Action: r.workflow.Actions[command.Call.Action], Command: command.Call, Request: request, Listener: &sink{run: r, step: request.Step},
	}
	r.driver.workers.Go(func() {
		defer cancel()
		if command.Call.Reconcile != "" {
			r.ask(ctx, command, one)
			return
		}
		end := r.driver.calls.Call(ctx, one)
		if end.Released {
			r.mail.put(message{released: &released{command: command, sent: end.Sent}})
			return
		}
		event := answerEvent(command.Path, end.Answer)
		r.mail.put(message{event: &event, answerTo: &command})
	})
}

// ask asks about a lost call. What held the question up stands in the record of its
// answer, as that of a call.
func (r *run) ask(ctx context.Context, command journal.Command, question dispatch.Call) {
	reply := r.driver.calls.Ask(ctx, question)
	if reply.Released {
		r.mail.put(message{released: &released{command: command}})
		return
	}
	r.mail.put(message{
		event:    &journal.Event{Kind: journal.Reconciled, Path: command.Path, Outcome: &reply.Outcome, Waits: reply.Waits},
		answerTo: &command,
	})
}

func (r *run) request(command journal.Command) runs.Request {
	operation := command.Path
	if command.Call.Reconcile != "" {
		operation = command.Call.Reconcile
	}
	return runs.Request{
		Action:         command.Call.Action,
		Connection:     command.Call.Connection,
		Workflow:       r.workflow.Name,
		RunID:          r.row.ID,
		Step:           command.Call.Step,
		Operation:      operation,
		Attempt:        command.Call.Attempt,
		IdempotencyKey: runs.IdempotencyKey(r.row.ID, operation),
		Input:          command.Call.Input,
		PageCursor:     command.Call.PageCursor,
		Checkpoint:     command.Call.Checkpoint,
		PageNote:       command.Call.PageNote,
		AllPages:       command.Call.AllPages,
		ScheduledAt:    r.row.ScheduledAt,
		Timeout:        command.Call.Timeout,
	}
}

func answerEvent(path string, answer runs.Answer) journal.Event {
	event := eventOf(path, answer)
	event.Waits = answer.Waits
	return event
}

func eventOf(path string, answer runs.Answer) journal.Event {
	switch {
	case answer.Completed != nil:
		return journal.Event{Kind: journal.Completed, Path: path, Completed: answer.Completed}
	case answer.Pending != nil:
		return journal.Event{Kind: journal.Pending, Path: path, Pending: answer.Pending}
	case answer.Failed != nil:
		return journal.Event{Kind: journal.Failed, Path: path, Failed: answer.Failed}
	}
	return journal.Event{Kind: journal.Failed, Path: path, Failed: &runs.Error{
		Kind: plan.KindCrashed, Message: "the call ended without an answer", Applied: runs.AppliedUnknown,
	}}
}

// settle takes an answered command from the open ones. A late answer for a
// command that is no longer open is dropped.
func (r *run) settle(command journal.Command, event *journal.Event) bool {
	if event.Kind == journal.TimerFired {
		t := r.timers[command.Path]
		if t == nil || t.command.Timer != command.Timer {
			return false
		}
		delete(r.timers, command.Path)
		return true
	}
	c := r.calls[command.Path]
	if c == nil || c.command.Call != command.Call {
		return false
	}
	delete(r.calls, command.Path)
	delete(r.waits, command.Call.Step)
	return true
}

func (r *run) startTimer(command journal.Command) {
	t := &timer{command: command}
	r.timers[command.Path] = t
	due := func() {
		now := r.driver.now()
		if left := command.Timer.At.Sub(now); left > 0 {
			t.clock.Reset(min(left, maxTimerSleep))
			return
		}
		// The time that was found due is the one that is stored: a clock that is set
		// back in between stores no firing before its time.
		r.mail.put(message{
			event:    &journal.Event{Kind: journal.TimerFired, At: now, Path: command.Path},
			answerTo: &command,
		})
	}
	// A stopped clock is set before the callback can run, since it resets it.
	t.clock = time.AfterFunc(time.Hour, due)
	t.clock.Reset(max(0, min(command.Timer.At.Sub(r.driver.now()), maxTimerSleep)))
}

// waiting notes or clears a limiter's wait and shows it.
func (r *run) waiting(wait limiterWait) {
	update := Update{Kind: UpdateWait, RunID: r.row.ID, Path: wait.path}
	if wait.until.IsZero() {
		if _, ok := r.waits[wait.path]; !ok {
			return
		}
		delete(r.waits, wait.path)
	} else {
		r.waits[wait.path] = wait
		update.Wait, update.Until = wait.reason, wait.until
	}
	r.feed.send(update)
}

// sink passes on what a call says before it ends.
type sink struct {
	run  *run
	step string
}

// Log queues a line for the run's log.
func (s *sink) Log(line runs.Log) {
	line.Step = s.step
	if line.At.IsZero() {
		line.At = s.run.driver.now()
	}
	s.run.mail.put(message{log: &line})
}

// Wait shows what holds the call up.
func (s *sink) Wait(reason string, since, until time.Time) {
	s.run.mail.put(message{wait: &limiterWait{path: s.step, since: since, until: until, reason: reason}})
}

// Progress shows how far the call is; it is not stored.
func (s *sink) Progress(progress runs.Progress) {
	s.run.feed.send(Update{Kind: UpdateProgress, RunID: s.run.row.ID, Path: s.step, Progress: &progress})
}
