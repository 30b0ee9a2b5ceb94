package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// world is everything around a call.
type world struct {
	now     time.Time
	call    func(ctx context.Context) runs.Answer
	acquire func(ctx context.Context, onWait func(until time.Time)) error
	waits   []string      // as they were shown
	answers []runs.Answer // that the limiter heard
	asked   int
	outcome func() (runs.Outcome, error)
}

func (w *world) Call(ctx context.Context, _ runs.Request, _ runs.Sink) runs.Answer {
	return w.call(ctx)
}

func (w *world) Acquire(ctx context.Context, _ *plan.Action, _ string, onWait func(until time.Time)) (func(runs.Answer), error) {
	if w.acquire != nil {
		if err := w.acquire(ctx, onWait); err != nil {
			return nil, err
		}
	}
	return func(answer runs.Answer) { w.answers = append(w.answers, answer) }, nil
}

func (w *world) Reconcile(context.Context, runs.Request) (runs.Outcome, error) {
	w.asked++
	return w.outcome()
}

func (w *world) Log(runs.Log)           {}
func (w *world) Progress(runs.Progress) {}
func (w *world) Wait(reason string, since, _ time.Time) {
	w.waits = append(w.waits, reason+since.Format(" 15:04"))
}

func done(context.Context) runs.Answer { return runs.Answer{Completed: &runs.Completed{}} }

func refused(context.Context) runs.Answer {
	return dispatch.Failure(plan.KindUnavailable, runs.NotApplied, "no")
}

func hang(ctx context.Context) runs.Answer {
	<-ctx.Done()
	return dispatch.Failure(plan.KindCanceled, runs.AppliedUnknown, "canceled")
}

// TestP17WhatTheEndOfTheEngineMakesOfACall: an answer is an answer, whoever stops. What
// has none is left to the next start, which hears whether it may have done anything.
func TestP17WhatTheEndOfTheEngineMakesOfACall(t *testing.T) {
	for name, test := range map[string]struct {
		call            func(ctx context.Context) runs.Answer
		stop            string // what ends, and when: before or while the call is made
		released, sent  bool
		calls, answered int // of the plugin, of the limiter
	}{
		"it is answered":                     {done, "", false, false, 1, 1},
		"no call is sent any more":           {done, "admission before", true, false, 0, 1},
		"none is sent, this one is answered": {done, "admission while", false, false, 1, 1},
		"none is sent, this one fails":       {refused, "admission while", false, false, 1, 1},
		"the process ends":                   {hang, "engine while", true, true, 1, 1},
		"it ends, the call did nothing":      {refused, "engine while", true, false, 1, 1},
		"it ends, the call is answered":      {done, "engine while", false, false, 1, 1},
		"the run cancels it":                 {hang, "run while", false, false, 1, 1},
		"the run cancels it while none goes": {hang, "run and admission while", false, false, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			engine, endEngine := context.WithCancel(t.Context())
			admission, endAdmission := context.WithCancel(t.Context())
			run, endRun := context.WithCancel(engine)
			defer endEngine()
			defer endAdmission()
			defer endRun()
			calls := 0
			w := &world{}
			w.call = func(ctx context.Context) runs.Answer {
				calls++
				switch test.stop {
				case "admission while":
					endAdmission()
				case "engine while":
					endEngine()
				case "run and admission while":
					endAdmission()
					endRun()
				case "run while":
					endRun()
				}
				return test.call(ctx)
			}
			if test.stop == "admission before" { // where the limiter has let it go already
				w.acquire = func(context.Context, func(time.Time)) error { endAdmission(); return nil }
			}
			d := dispatch.New(dispatch.Options{Caller: w, Limiter: w, Now: func() time.Time { return w.now }}, engine, admission)
			end := d.Call(run, dispatch.Call{Action: &plan.Action{}, Command: &journal.Call{}, Listener: w})
			if end.Released != test.released || end.Sent != test.sent || calls != test.calls || len(w.answers) != test.answered {
				t.Errorf("released %v, sent %v, %d calls, the limiter heard %d: %+v", end.Released, end.Sent, calls, len(w.answers), end.Answer)
			}
			if d.InFlight() != 0 {
				t.Errorf("%d calls in flight", d.InFlight())
			}
		})
	}
}

// TestWhatHeldACallUpStandsInItsAnswer: from the first word to the end of the wait, and
// the call's time begins after it.
func TestWhatHeldACallUpStandsInItsAnswer(t *testing.T) {
	w := &world{now: time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)}
	begin := w.now
	w.acquire = func(_ context.Context, onWait func(time.Time)) error {
		onWait(time.Time{}) // no wait yet
		onWait(w.now.Add(time.Minute))
		w.now = w.now.Add(time.Minute)
		onWait(w.now.Add(time.Minute))
		w.now = w.now.Add(time.Minute)
		return nil
	}
	var left time.Duration
	w.call = func(ctx context.Context) runs.Answer {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return done(ctx)
	}
	d := dispatch.New(dispatch.Options{Caller: w, Limiter: w, Now: func() time.Time { return w.now }}, t.Context(), t.Context())
	end := d.Call(t.Context(), dispatch.Call{Action: &plan.Action{}, Command: &journal.Call{}, Request: runs.Request{Timeout: time.Hour}, Listener: w})
	want := []runs.Hold{{For: runs.WaitRateLimit, From: begin, Until: begin.Add(2 * time.Minute)}}
	if !slices.Equal(end.Answer.Waits, want) || left <= 0 {
		t.Errorf("waits %+v, %s left", end.Answer.Waits, left)
	}
	if shown := []string{"rate limit 09:30", "rate limit 09:30", " 00:00"}; !slices.Equal(w.waits, shown) {
		t.Errorf("shown: %q", w.waits)
	}
}

// TestAQuestionThatFailsIsNotKnown: whatever goes wrong, the answer is one. Only the end
// of the engine leaves the question to the next start.
func TestAQuestionThatFailsIsNotKnown(t *testing.T) {
	happened := func() (runs.Outcome, error) { return runs.Outcome{Applied: runs.AppliedFully}, nil }
	for name, test := range map[string]struct {
		outcome  func() (runs.Outcome, error)
		ends     bool // the engine, while it is asked
		want     runs.Applied
		released bool
	}{
		"it happened":                      {happened, false, runs.AppliedFully, false},
		"it happened, and the engine ends": {happened, true, runs.AppliedFully, false},
		"the engine ends":                  {func() (runs.Outcome, error) { return runs.Outcome{}, errors.New("gone") }, true, runs.AppliedUnknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			engine, end := context.WithCancel(t.Context())
			defer end()
			w := &world{}
			w.outcome = func() (runs.Outcome, error) {
				if test.ends {
					end()
				}
				return test.outcome()
			}
			d := dispatch.New(dispatch.Options{Caller: w, Limiter: w, Reconciler: w, Now: time.Now}, engine, t.Context())
			reply := d.Ask(engine, dispatch.Call{Action: &plan.Action{}, Command: &journal.Call{}, Request: runs.Request{Timeout: time.Hour}, Listener: w})
			if reply.Outcome.Applied != test.want || reply.Released != test.released || w.asked != 1 || len(w.answers) != 1 {
				t.Errorf("%+v, asked %d times", reply, w.asked)
			}
		})
	}
}
