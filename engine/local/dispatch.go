package local

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// maxTimerSleep bounds how long a timer trusts the monotonic clock: the wall
// clock is asked again at least this often (docs/reliability.md, P9).
const maxTimerSleep = 30 * time.Second

// dispatch does what the commands say. Logs and the finish are part of the
// record itself and need nothing more.
func (r *run) dispatch(commands []journal.Command) {
	if r.driver.draining() {
		commands = r.withhold(commands)
	}
	r.Do(commands, r.begin)
}

// begin starts what an operation asks for.
func (r *run) begin(op *drive.Operation) {
	switch {
	case op.Command.Child != nil:
		r.startChild(op)
	case op.Command.Timer != nil:
		r.startTimer(op)
	case op.Canceled: // while its intent became durable
		event := op.Unsent()
		r.mail.put(message{event: &event, answerTo: op})
	default:
		r.startCall(op)
	}
}

// call is a call that the run has begun.
type call struct {
	dispatch.Call
	op     *drive.Operation
	ctx    context.Context
	cancel context.CancelFunc
}

// startCall begins a call. It is made by the run's worker when that has read all that came,
// or by another goroutine.
func (r *run) startCall(op *drive.Operation) {
	ctx, cancel := context.WithCancel(r.driver.ctx)
	op.Stop = cancel
	request := r.request(op.Command)
	if r.next != nil {
		r.makeBeside(r.next)
	}
	r.next = &call{op: op, ctx: ctx, cancel: cancel, Call: dispatch.Call{
		Action: r.workflow.Actions[request.Action], Command: op.Command.Call, Request: request, Listener: &sink{run: r, step: request.Step},
	}}
}

// makeBeside has a call made on a goroutine of its own.
func (r *run) makeBeside(made *call) {
	r.driver.workers.Go(func() {
		if r.mail.enter(r.make(made)) {
			r.work()
		}
	})
}

// make makes a call and returns what the run is to be told of its end. It is not the
// worker's.
func (r *run) make(made *call) message {
	defer made.cancel()
	op := made.op
	if made.Command.Reconcile != "" {
		return r.ask(made)
	}
	end := r.driver.calls.Call(made.ctx, made.Call)
	if end.Released {
		return message{released: &released{op: op, sent: end.Sent}}
	}
	event := op.Answer(end.Answer)
	return message{event: &event, answerTo: op}
}

// ask asks about a lost call. What held the question up stands in the record of its
// answer, as that of a call.
func (r *run) ask(made *call) message {
	op := made.op
	reply := r.driver.calls.Ask(made.ctx, made.Call)
	if reply.Released {
		return message{released: &released{op: op}}
	}
	return message{
		event:    &journal.Event{Kind: journal.Reconciled, Path: op.Command.Path, Outcome: &reply.Outcome, Waits: reply.Waits},
		answerTo: op,
	}
}

func (r *run) request(command journal.Command) runs.Request {
	operation := command.Path
	if command.Call.Reconcile != "" {
		operation = command.Call.Reconcile
	}
	digest := "" // of the revision that the plan was made with
	if action := r.workflow.Actions[command.Call.Action]; action != nil {
		digest = action.PluginDigest
	}
	return runs.Request{
		Action:         command.Call.Action,
		PluginDigest:   digest,
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

// settle takes an operation that has ended from the open ones; false where its end is
// late.
func (r *run) settle(op *drive.Operation) bool {
	if !r.Settle(op) {
		return false
	}
	if call := op.Command.Call; call != nil {
		delete(r.waits, call.Step)
	}
	return true
}

func (r *run) startTimer(op *drive.Operation) {
	at := op.Command.Timer.At
	var clock *time.Timer
	due := func() {
		now := r.driver.now()
		if left := at.Sub(now); left > 0 {
			clock.Reset(min(left, maxTimerSleep))
			return
		}
		// The time that was found due is the one that is stored: a clock that is set
		// back in between stores no firing before its time.
		r.mail.put(message{
			event:    &journal.Event{Kind: journal.TimerFired, At: now, Path: op.Command.Path},
			answerTo: op,
		})
	}
	// A stopped clock is set before the callback can run, since it resets it.
	clock = time.AfterFunc(time.Hour, due)
	op.Stop = func() { clock.Stop() }
	clock.Reset(max(0, min(at.Sub(r.driver.now()), maxTimerSleep)))
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
		if r.waits == nil {
			r.waits = map[string]limiterWait{}
		}
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
