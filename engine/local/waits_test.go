package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// slowLimit holds every call back for 9.5 s of a clock that goes on by its word
// alone.
type slowLimit struct {
	ahead   atomic.Int64
	waiting chan struct{} // a call waits
	open    chan struct{} // one may go on
}

func newSlowLimit() *slowLimit {
	return &slowLimit{waiting: make(chan struct{}, 100), open: make(chan struct{}, 100)}
}

var limitBegin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (l *slowLimit) now() time.Time { return limitBegin.Add(time.Duration(l.ahead.Load())) }

func (l *slowLimit) Acquire(ctx context.Context, _ *plan.Action, _ string, onWait func(time.Time)) (func(runs.Answer), error) {
	onWait(l.now().Add(9 * time.Second))
	onWait(l.now().Add(9500 * time.Millisecond)) // it takes a little longer than was thought
	l.waiting <- struct{}{}
	select {
	case <-l.open:
		l.ahead.Add(int64(9500 * time.Millisecond))
		return func(runs.Answer) {}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withLimit replaces the bench's driver by one with a limiter and its clock.
func (b *bench) withLimit(limit *slowLimit) { b.withLimitAnd(limit, nil) }

func (b *bench) withLimitAnd(limit *slowLimit, asked dispatch.Reconciler) {
	b.t.Helper()
	if err := b.driver.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	b.driver = local.New(local.Options{
		Journal: b.store, Caller: b.service, Reconciler: asked, Limiter: limit, Now: limit.now, Log: slog.New(slog.DiscardHandler), Memory: b.store, Identifier: byInput{},
	})
}

func (b *bench) records(id string) []*journal.Record {
	b.t.Helper()
	records, err := b.store.Records(id, 0, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	return records
}

// TestIssue12_22AWaitForTheLimiterIsJournaled: it is shown while it lasts, stands in
// the record of the answer with begin and end, and takes no record of its own.
func TestIssue12_22AWaitForTheLimiterIsJournaled(t *testing.T) {
	for _, effect := range []string{"read", "once"} {
		t.Run(effect, func(t *testing.T) {
			b := newBench(t)
			quick := b.wait(b.start(workflow("a " + effect)))
			limit := newSlowLimit()
			b.withLimit(limit)
			b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
				limit.ahead.Add(int64(500 * time.Millisecond))
				return done()
			}
			id := b.start(workflow("a " + effect))
			<-limit.waiting
			steps, err := b.driver.Steps(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if s := steps[0]; s.Status != runs.StepWaiting || s.Wait != string(runs.WaitRateLimit) || s.WaitSince == nil || !s.WaitSince.Equal(limitBegin) ||
				s.Until == nil || !s.Until.Equal(limitBegin.Add(9500*time.Millisecond)) {
				t.Errorf("while it waits: %+v", s)
			}
			limit.open <- struct{}{}
			result := b.wait(id)
			if s := result.Steps["a"]; s.WaitedMS != 9500 || s.WaitSince != nil || result.Run.Status != runs.RunSucceeded {
				t.Errorf("after it: %+v", s)
			}
			records, without := b.records(id), b.records(quick.Run.ID)
			if len(records) != len(without) {
				t.Errorf("%d records with a wait, %d without", len(records), len(without))
			}
			var waits []runs.Hold
			for _, record := range records {
				waits = append(waits, record.Event.Waits...)
			}
			if len(waits) != 1 || waits[0].For != runs.WaitRateLimit || !waits[0].From.Equal(limitBegin) || waits[0].Until.Sub(waits[0].From) != 9500*time.Millisecond {
				t.Errorf("journaled: %+v", waits)
			}
			for _, record := range without {
				if record.Event.Waits != nil {
					t.Errorf("a call that did not wait has %+v", record.Event.Waits)
				}
			}
			b.reopen() // what a replay makes of it
			if again := b.wait(id); again.Steps["a"].WaitedMS != 9500 {
				t.Errorf("after a restart: %+v", again.Steps["a"])
			}
		})
	}
}

// TestIssue12_22AKillInTheWait: the call was not sent, and is sent once after it,
// with the wait of the process that sent it.
func TestIssue12_22AKillInTheWait(t *testing.T) {
	b := newBench(t)
	limit := newSlowLimit()
	b.withLimit(limit)
	id := b.start(workflow("a read"))
	<-limit.waiting
	b.reopen()
	if got := b.service.count("a"); got != 0 {
		t.Errorf("sent %d times before the kill", got)
	}
	b.withLimit(limit)
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	<-limit.waiting
	limit.open <- struct{}{}
	result := b.wait(id)
	if s := result.Steps["a"]; result.Run.Status != runs.RunSucceeded || s.WaitedMS != 9500 || s.Attempts != 1 || b.service.count("a") != 1 {
		t.Errorf("%s, %+v, sent %d times", result.Run.Status, s, b.service.count("a"))
	}
}

// TestIssue12_22TheQuestionOfALostCallWaitsLikeACall: its wait is shown while it
// lasts, stands in the record of the question's answer, and a replay gives the same.
// A question that is asked twice has both waits.
func TestIssue12_22TheQuestionOfALostCallWaitsLikeACall(t *testing.T) {
	for _, questions := range []int32{1, 2} {
		b := newBench(t)
		limit := newSlowLimit()
		a := &asker{service: b.service, answer: func(n int32, _ runs.Request) (runs.Outcome, error) {
			if n < questions {
				return runs.Outcome{}, errors.New("not now")
			}
			return runs.Outcome{Applied: runs.AppliedFully, Output: json.RawMessage(`{"ok":true}`)}, nil
		}}
		b.withLimitAnd(limit, a)
		b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindTimeout, Message: "lost"}}
		}
		w := workflow("a once")
		w.Actions["fake.once"].Reconcile = true
		id := b.start(w)
		<-limit.waiting
		limit.open <- struct{}{} // the call itself
		for n := range questions {
			<-limit.waiting
			since := limitBegin.Add(time.Duration(n+1) * 9500 * time.Millisecond)
			steps, err := b.driver.Steps(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if s := steps[0]; s.Status != runs.StepWaiting || s.Wait != string(runs.WaitRateLimit) || s.WaitSince == nil || !s.WaitSince.Equal(since) {
				t.Errorf("question %d, while it waits: %+v", n, s)
			}
			limit.open <- struct{}{}
		}
		want := 9500 * int64(1+questions)
		if result := b.wait(id); result.Run.Status != runs.RunSucceeded || result.Steps["a"].WaitedMS != want || result.Steps["a"].WaitSince != nil {
			t.Errorf("%d questions: %s, %+v", questions, result.Run.Status, result.Steps["a"])
		}
		var waits []runs.Hold
		for _, record := range b.records(id) {
			if record.Event.Kind == journal.Reconciled {
				waits = record.Event.Waits
			}
		}
		if len(waits) != int(questions) || waits[0].For != runs.WaitRateLimit || waits[0].Until.Sub(waits[0].From) != 9500*time.Millisecond {
			t.Errorf("%d questions, journaled: %+v", questions, waits)
		}
		b.reopen()
		if again := b.wait(id); again.Steps["a"].WaitedMS != want || b.service.count("a") != 1 {
			t.Errorf("after a restart: %+v", again.Steps["a"])
		}
	}
}

// TestIssue12_22AKillInTheWaitOfAQuestion: the next process asks, once, with the
// wait of its own.
func TestIssue12_22AKillInTheWaitOfAQuestion(t *testing.T) {
	b := newBench(t)
	limit := newSlowLimit()
	a := &asker{service: b.service, answer: func(int32, runs.Request) (runs.Outcome, error) {
		return runs.Outcome{Applied: runs.NotApplied}, nil
	}}
	b.withLimitAnd(limit, a)
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		if b.service.count("a") == 1 {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindTimeout, Message: "lost"}}
		}
		return done()
	}
	w := workflow("a once")
	w.Actions["fake.once"].Reconcile = true
	w.Steps[0].Retry = &plan.Retry{Attempts: 2, On: []plan.ErrorKind{plan.KindTimeout}, Explicit: true}
	id := b.start(w)
	<-limit.waiting
	limit.open <- struct{}{}
	<-limit.waiting
	b.reopen()
	if got := a.asked.Load(); got != 0 {
		t.Errorf("asked %d times before the kill", got)
	}
	b.withLimitAnd(limit, a)
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the question, then the call once more
		<-limit.waiting
		limit.open <- struct{}{}
	}
	result := b.wait(id)
	if s := result.Steps["a"]; result.Run.Status != runs.RunSucceeded || s.WaitedMS != 3*9500 || a.asked.Load() != 1 || b.service.count("a") != 2 {
		t.Errorf("%s, %+v, asked %d times, sent %d times (%v)", result.Run.Status, s, a.asked.Load(), b.service.count("a"), result.Error)
	}
}
