package simulation

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func recoded(ev journal.Event) journal.Event {
	var stored journal.Event
	if err := json.Unmarshal(encoded(ev), &stored); err != nil {
		violated("decode event %s: %v", ev.Kind, err)
	}
	return stored
}

// noteRecord writes a record into the trace.
func (s *sim) noteRecord(r *journal.Record) {
	if s.trace == nil {
		return
	}
	event := string(encoded(r.Event))
	if len(event) > 260 {
		event = event[:260] + "..."
	}
	s.note("%d %s", r.Seq, event)
	for i := range r.Commands {
		command := string(encoded(r.Commands[i]))
		if len(command) > 260 {
			command = command[:260] + "..."
		}
		s.note("    -> %s", command)
	}
}

// dispatch does what the commands say.
func (s *sim) dispatch(commands []journal.Command) {
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall:
			s.call(command)
		case journal.CommandTimer:
			s.arm(s.fly(command))
		case journal.CommandChild:
			s.child(command)
		case journal.CommandCancel:
			s.cancel(command.Path)
		}
	}
}

// fly notes what is open. A path is open once; only what was canceled may still
// be there.
func (s *sim) fly(command journal.Command) *flight {
	if other := s.open[command.Path]; other != nil && !other.canceled {
		violated("%s is open already", command.Path)
	}
	f := &flight{command: command, life: s.life}
	s.open[command.Path] = f
	return f
}

// land takes an answered flight from the open ones; false for a late answer.
func (s *sim) land(f *flight) bool {
	if s.open[f.command.Path] != f || f.life != s.life {
		return false
	}
	delete(s.open, f.command.Path)
	return true
}

// arm sets a timer's clock: it trusts the monotonic clock for 30 seconds at most.
func (s *sim) arm(f *flight) {
	left := f.command.Timer.At.Sub(s.wall())
	lag := s.delay()
	if left > 0 {
		lag = min(lag, time.Second)
	}
	s.in(max(0, left)+lag, func() {
		if s.open[f.command.Path] != f {
			return
		}
		if s.wall().Before(f.command.Timer.At) {
			s.arm(f) // the clock was put back
			return
		}
		s.land(f)
		s.watch.fires(f.command, s.wall())
		s.take(journal.Event{Kind: journal.TimerFired, Path: f.command.Path}, f)
	})
}

// call sends a call: it waits for its limiter, reaches the service, and its answer
// comes.
func (s *sim) call(command journal.Command) {
	f, c := s.fly(command), command.Call
	if s.dropped[command.Path] { // canceled while its intent became durable
		delete(s.dropped, command.Path)
		ev := failed(command.Path, &runs.Error{Kind: plan.KindCanceled, Applied: runs.NotApplied, Message: "canceled before it was sent"})
		if c.Reconcile != "" {
			ev = journal.Event{Kind: journal.Reconciled, Path: command.Path, Outcome: &runs.Outcome{}}
		}
		s.in(0, func() {
			if s.land(f) {
				s.take(ev, f)
			}
		})
		return
	}
	f.deaf = s.r.one(6)
	s.watch.sends(command)
	if c.Reconcile != "" {
		s.question(f)
		return
	}
	s.service.of(command.Path, string(c.Effect)).here = false
	s.in(s.delay(), func() {
		if f.canceled && s.open[command.Path] != f {
			return
		}
		f.reached = true
		ask := s.service.ask(command)
		r := s.world.reply(ask)
		s.service.reached(command, ask)
		took := s.delay()
		if s.r.one(30) && !s.c.flow.calm {
			took = pick(s.r, 9*time.Second, 40*time.Second, 3*time.Minute)
		}
		ev := answer(command, r)
		if r.silent || c.Timeout > 0 && took > c.Timeout {
			took = c.Timeout
			ev = failed(command.Path, &runs.Error{Kind: plan.KindTimeout, Message: "no answer in time", Applied: runs.AppliedUnknown})
		}
		s.note("%s attempt %d (%s) reached the service: %s", command.Path, c.Attempt, runs.IdempotencyKey(runID, command.Path)[:6], r)
		s.in(took, func() {
			if s.land(f) {
				s.watch.answered(ev)
				s.take(ev, f)
			}
		})
	})
}

// question asks the plugin what became of a lost call: it knows the truth, unless
// the world is not calm.
func (s *sim) question(f *flight) {
	path := f.command.Call.Reconcile
	s.in(s.delay(), func() {
		log, outcome := s.service.of(path, "once"), runs.Outcome{Applied: runs.NotApplied}
		switch {
		case !s.c.flow.calm && s.r.one(4):
			outcome = pick(s.r, runs.Outcome{Applied: runs.AppliedUnknown}, runs.Outcome{Note: "?"}, runs.Outcome{Applied: runs.AppliedPartly}, runs.Outcome{Applied: runs.AppliedFully})
		case log.here && s.world.happened(log.last):
			outcome = runs.Outcome{Applied: runs.AppliedFully, Output: encoded(map[string]any{"value": s.world.good(log.last).value})}
		}
		if s.land(f) {
			s.take(journal.Event{Kind: journal.Reconciled, Path: f.command.Path, Outcome: &outcome}, f)
		}
	})
}

func failed(path string, failure *runs.Error) journal.Event {
	return journal.Event{Kind: journal.Failed, Path: path, Failed: failure}
}

// answer is a reply as the driver gets it from a plugin.
func answer(command journal.Command, r reply) journal.Event {
	path := command.Path
	switch {
	case r.pending:
		return journal.Event{Kind: journal.Pending, Path: path, Pending: &runs.Pending{
			RetryAfter: 2 * time.Second, Checkpoint: []byte(r.checkpoint), Message: "not yet",
		}}
	case r.kind != "":
		return failed(path, &runs.Error{
			Kind: r.kind, Message: "simulated", Applied: r.applied, HTTPStatus: r.http, RetryAfterS: r.after,
		})
	}
	done := &runs.Completed{}
	switch command.Call.Action {
	case "svc.list", "svc.usage", "svc.feed":
		done.Output, done.NextCursor = encoded(map[string]any{"rows": r.rows}), r.next
		if r.broken {
			done.Output = json.RawMessage(`{"rows":"none"}`)
		}
	default:
		done.Output = encoded(map[string]any{"value": r.value})
		if r.broken {
			done.Output = json.RawMessage(`{"value":"none"}`)
		}
	}
	if command.Call.Action == "svc.feed" {
		done.Watermark = []byte(r.mark)
	}
	if name := command.Call.Cursor; name != "" {
		done.Cursor = &runs.CursorRead{Key: name, Version: 2}
	}
	return journal.Event{Kind: journal.Completed, Path: path, Completed: done}
}

// child answers the start of a sub-workflow's run.
func (s *sim) child(command journal.Command) {
	f := s.fly(command)
	f.deaf = true
	s.watch.sends(command)
	c, era := command.Child, s.era
	s.service.child(command)
	s.in(s.delay(), func() {
		if !s.land(f) {
			return
		}
		var input struct{ N int }
		if err := json.Unmarshal(c.Inputs, &input); err != nil {
			violated("inputs of the child %s: %v", command.Path, err)
		}
		end := s.world.child(command.Path, input.N, era)
		told := &journal.Child{RunID: c.RunID, Attempt: c.After + 1}
		switch {
		case f.canceled:
			told.Failed = &runs.Error{Kind: plan.KindCanceled, Message: "canceled"}
		case end.paused:
			told.Paused, told.Failed = runs.PausedError, &runs.Error{Kind: end.kind, Message: "simulated"}
		case end.kind != "":
			told.Failed = &runs.Error{Kind: end.kind, Message: "simulated"}
		default:
			told.Outputs = encoded(map[string]any{"out": end.out})
		}
		s.take(journal.Event{Kind: journal.ChildEnded, Path: command.Path, Child: told}, nil)
	})
}

// cancel drops a timer, or cancels a call, which then answers so unless it does
// not listen.
func (s *sim) cancel(path string) {
	f := s.open[path]
	if f == nil {
		if !strings.Contains(path, "!") {
			s.dropped[path] = true // its record is on its way
		}
		return
	}
	if f.command.Kind == journal.CommandTimer {
		delete(s.open, path)
		return
	}
	f.canceled = true
	if f.deaf {
		return
	}
	s.in(min(s.delay(), time.Second), func() {
		if !s.land(f) {
			return
		}
		if f.command.Call != nil && f.command.Call.Reconcile != "" {
			s.take(journal.Event{Kind: journal.Reconciled, Path: path, Outcome: &runs.Outcome{Note: "canceled"}}, f)
			return
		}
		s.take(failed(path, &runs.Error{Kind: plan.KindCanceled, Message: "canceled", Applied: runs.AppliedUnknown}), f)
	})
}
