package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service is a scripted Caller: it counts calls by operation and answers with
// what the script of the step says.
type service struct {
	mu     sync.Mutex
	counts map[string]int
	script map[string]func(context.Context, runs.Request) runs.Answer
	says   map[string][]runs.Log
}

func newService() *service {
	return &service{counts: map[string]int{}, script: map[string]func(context.Context, runs.Request) runs.Answer{}}
}

func (s *service) Call(ctx context.Context, r runs.Request, sink runs.Sink) runs.Answer {
	s.mu.Lock()
	s.counts[r.Operation]++
	answer, says := s.script[r.Step], s.says[r.Step]
	s.mu.Unlock()
	for _, line := range says {
		sink.Log(line)
	}
	if answer != nil {
		return answer(ctx, r)
	}
	return done()
}

func (s *service) count(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[operation]
}

func done() runs.Answer {
	return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{"ok":true}`)}}
}

// hang answers when the call is canceled, as a plugin does.
func hang(ctx context.Context, _ runs.Request) runs.Answer {
	<-ctx.Done()
	return runs.Answer{Failed: &runs.Error{Kind: plan.KindCanceled, Message: "canceled"}}
}

type noLimit struct{}

func (noLimit) Acquire(context.Context, *plan.Action, string, func(time.Time)) (func(runs.Answer), error) {
	return func(runs.Answer) {}, nil
}

// bench is a driver on a real store.
type bench struct {
	t       *testing.T
	path    string
	store   *boltstore.Store
	driver  *local.Driver
	service *service
	cache   dispatch.Cache
	bounds  local.Options // JournalBytes, ReplayBytes and DecodedBytes
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, path: filepath.Join(t.TempDir(), "flowrun.db"), service: newService()}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *bench) open() { b.openWith(time.Now) }

// openWith starts the driver with a clock of the test's.
func (b *bench) openWith(now func() time.Time) {
	b.t.Helper()
	file, err := boltstore.Open(b.path, boltstore.Options{Hooks: store.Hooks{Now: time.Now}, InitialMmapSize: 1 << 24})
	if err != nil {
		b.t.Fatal(err)
	}
	b.store = file
	b.driver = local.New(local.Options{
		Journal: file, Caller: b.service, Limiter: noLimit{}, Now: now, Log: slog.New(slog.DiscardHandler),
		Memory: file, Identifier: byInput{}, Cache: b.cache,
		JournalBytes: b.bounds.JournalBytes, ReplayBytes: b.bounds.ReplayBytes, DecodedBytes: b.bounds.DecodedBytes,
	})
}

func (b *bench) close() {
	b.t.Helper()
	if err := b.driver.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
}

// reopen is a crash that loses nothing: the next driver starts from the store.
func (b *bench) reopen() {
	b.t.Helper()
	b.close()
	b.open()
}

func (b *bench) start(w *plan.Workflow) string {
	b.t.Helper()
	encoded, err := w.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	hash, err := w.Hash()
	if err != nil {
		b.t.Fatal(err)
	}
	now := time.Now().UTC()
	id := strings.ToLower(ulid.Make().String())
	got, _, err := b.driver.Start(context.Background(), local.StartRequest{
		Row:      runs.Run{ID: id, Workflow: w.Name, Attempt: 1, StartedAt: now, ScheduledAt: now, PlanHash: hash},
		Workflow: w, PlanBytes: encoded,
		Start: journal.Start{RunID: id, Inputs: json.RawMessage(`{}`), Interpreter: interp.Version, PlanHash: hash, ScheduledAt: now},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return got.ID
}

// wait follows the run to the end of its feed.
func (b *bench) wait(id string) *runs.Result {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	updates, err := b.driver.Watch(ctx, id, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	for range updates {
	}
	result, err := b.driver.Snapshot(ctx, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// workflow makes a plan of steps in sequence: each text is "id effect".
func workflow(steps ...string) *plan.Workflow {
	w := &plan.Workflow{Format: plan.FormatVersion, Name: "test", File: "test.yaml", Timeout: time.Hour, Actions: map[string]*plan.Action{}}
	for _, text := range steps {
		id, effect, _ := strings.Cut(text, " ")
		name := "fake." + effect
		w.Actions[name] = &plan.Action{
			Plugin: "fake", Name: effect, Effect: plan.Effect(effect),
			Input:  json.RawMessage(`{"type":"object","properties":{}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
		}
		step := plan.Step{
			ID: id, Kind: plan.StepAction, RunIf: plan.RunIfOK, Uses: name, Timeout: time.Minute,
			With:  plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{}`)},
			Retry: &plan.Retry{Attempts: 3, Delay: time.Millisecond, Factor: 1, MaxDelay: time.Second, On: plan.DefaultRetryKinds()},
		}
		if n := len(w.Steps); n > 0 {
			step.Needs = []string{w.Steps[n-1].ID}
		}
		w.Steps = append(w.Steps, step)
	}
	return w
}

func TestARunGoesThroughItsSteps(t *testing.T) {
	b := newBench(t)
	result := b.wait(b.start(workflow("a read", "b keyed", "c once", "d idempotent")))
	if result.Run.Status != runs.RunSucceeded || !result.Run.Closed {
		t.Fatalf("run ended as %+v", result.Run)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		if step := result.Steps[id]; step.Status != runs.StepSucceeded || b.service.count(id) != 1 {
			t.Errorf("step %s is %s after %d calls", id, step.Status, b.service.count(id))
		}
	}
}

func TestP4AnEffectIsSentAfterItsIntentIsDurable(t *testing.T) {
	b := newBench(t)
	var early []string
	check := func(_ context.Context, r runs.Request) runs.Answer {
		records, err := b.store.Records(r.RunID, 1, 100)
		if err != nil {
			t.Error(err)
		}
		found := false
		for _, record := range records {
			for _, command := range record.Commands {
				found = found || command.Kind == journal.CommandCall && command.Path == r.Operation
			}
		}
		if !found {
			early = append(early, r.Operation)
		}
		return done()
	}
	for _, id := range []string{"a", "b", "c"} {
		b.service.script[id] = check
	}
	if result := b.wait(b.start(workflow("a keyed", "b once", "c idempotent"))); result.Run.Status != runs.RunSucceeded {
		t.Fatalf("run ended as %+v", result.Run)
	}
	if len(early) > 0 {
		t.Errorf("sent before the intent was durable: %v", early)
	}
}

func TestAnInterruptedRunGoesOnWithWhatWasInFlight(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["b"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(workflow("a keyed", "b keyed", "c read"))
	<-reached
	b.reopen()
	delete(b.service.script, "b")
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded {
		t.Fatalf("run ended as %+v: %v", result.Run, result.Error)
	}
	want := map[string]int{"a": 1, "b": 2, "c": 1}
	for operation, count := range want {
		if got := b.service.count(operation); got != count {
			t.Errorf("%s was called %d times, want %d", operation, got, count)
		}
	}
}

func TestP3AOnceCallInFlightIsNeverRepeatedSilently(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["b"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(workflow("a read", "b once"))
	<-reached
	b.reopen()
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunPaused || result.Run.Paused != runs.PausedUnknownOutcome {
		t.Fatalf("run is %s (%s)", result.Run.Status, result.Run.Paused)
	}
	if step := result.Steps["b"]; step.Status != runs.StepUnknown || b.service.count("b") != 1 {
		t.Errorf("step b is %s after %d calls", step.Status, b.service.count("b"))
	}
	if err := b.driver.Load(id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	if result := b.wait(id); result.Run.Status != runs.RunPaused || b.service.count("b") != 1 {
		t.Errorf("after a resume: %s, %d calls", result.Run.Status, b.service.count("b"))
	}
}

func TestAFailedRunIsResumed(t *testing.T) {
	b := newBench(t)
	b.service.script["b"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "not there"}}
	}
	id := b.start(workflow("a keyed", "b read", "c read"))
	failed := b.wait(id)
	if failed.Run.Status != runs.RunFailed || failed.Steps["c"].Status != runs.StepBlocked {
		t.Fatalf("run is %s, c is %s", failed.Run.Status, failed.Steps["c"].Status)
	}
	delete(b.service.script, "b")
	if err := b.driver.AwaitEnd(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if err := b.driver.Load(id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	result := b.wait(id)
	if result.Run.Status != runs.RunSucceeded || result.Run.Attempt != 2 || b.service.count("a") != 1 {
		t.Errorf("resumed run is %+v, a was called %d times", result.Run, b.service.count("a"))
	}
}

func TestACanceledRunEndsItsCalls(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(workflow("a read", "b read"))
	<-reached
	if err := b.driver.Load(id, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
		t.Fatal(err)
	}
	if result := b.wait(id); result.Run.Status != runs.RunCanceled || b.service.count("b") != 0 {
		t.Errorf("run is %s, b was called %d times", result.Run.Status, b.service.count("b"))
	}
}

func TestAttemptsAreRepeatedAndShown(t *testing.T) {
	b := newBench(t)
	attempts := 0
	b.service.script["a"] = func(_ context.Context, r runs.Request) runs.Answer {
		attempts++
		if r.Attempt != attempts || r.IdempotencyKey != runs.IdempotencyKey(r.RunID, "a") {
			t.Errorf("attempt %d came as %d with key %s", attempts, r.Attempt, r.IdempotencyKey)
		}
		if attempts < 3 {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: "busy"}}
		}
		return done()
	}
	result := b.wait(b.start(workflow("a keyed")))
	if result.Run.Status != runs.RunSucceeded || result.Steps["a"].Attempts != 3 {
		t.Errorf("run is %s after %d attempts", result.Run.Status, result.Steps["a"].Attempts)
	}
}

func TestP8AJournalThatDoesNotFitIsParked(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	id := b.start(workflow("a keyed", "b keyed"))
	<-reached
	b.close()
	b.open()
	forged := &journal.Record{Seq: 2, Event: journal.Event{Kind: journal.Completed, At: time.Now().UTC(), Path: "a", Completed: done().Completed}}
	stored := make(chan error, 1)
	b.store.Append(id, []*journal.Record{forged}, nil, nil, func(err error) { stored <- err })
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	err := b.driver.Load(id, nil)
	if err == nil || !strings.Contains(err.Error(), "record 2") {
		t.Fatalf("load of a forged journal: %v", err)
	}
	row, err := b.store.Run(id)
	if err != nil || row.Status != runs.RunPaused || row.Paused != runs.PausedReplayMismatch {
		t.Errorf("the run is %+v (%v)", row, err)
	}
}

func TestWatchersHearOnlyOfWhatIsDurable(t *testing.T) {
	b := newBench(t)
	gate := make(chan struct{})
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		select {
		case <-gate:
			return done()
		case <-ctx.Done():
			return hang(ctx, r)
		}
	}
	var steps []string
	for i := range 20 {
		steps = append(steps, fmt.Sprintf("s%d read", i))
	}
	id := b.start(workflow(append([]string{"a read"}, steps...)...))
	updates, err := b.driver.Watch(context.Background(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	last := uint64(0)
	for update := range updates {
		if update.Kind != local.UpdateRecord {
			continue
		}
		if update.Seq != last+1 {
			t.Errorf("record %d follows %d", update.Seq, last)
		}
		last = update.Seq
		records, err := b.store.Records(id, update.Seq, 1)
		if err != nil || len(records) != 1 {
			t.Errorf("record %d was shown and is not stored: %v", update.Seq, err)
		}
	}
	if last < 21 {
		t.Errorf("the feed ended at record %d", last)
	}
}

// TestP9TheTimeThatATimerWasFoundDueIsStored: the clock is set back by an hour
// between the look at it and the record of the firing.
func TestP9TheTimeThatATimerWasFoundDueIsStored(t *testing.T) {
	const delay = 50 * time.Millisecond
	b := newBench(t)
	began := time.Now()
	var failedAt atomic.Int64 // since began, and one look at the clock after it
	var jumped atomic.Bool
	b.close()
	b.openWith(func() time.Time {
		since := time.Since(began)
		failed := time.Duration(failedAt.Load())
		if failed > 0 && since >= failed+delay && !jumped.CompareAndSwap(false, true) {
			since -= time.Hour
		}
		return limitBegin.Add(since)
	})
	b.service.script["a"] = func(_ context.Context, r runs.Request) runs.Answer {
		if r.Attempt > 1 {
			return done()
		}
		failedAt.Store(int64(time.Since(began)))
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: "busy"}}
	}
	w := workflow("a read")
	w.Steps[0].Retry.Delay = delay
	id := b.start(w)
	if result := b.wait(id); result.Run.Status != runs.RunSucceeded {
		t.Fatalf("run is %s", result.Run.Status)
	}
	var due time.Time
	fired := 0
	for _, record := range b.records(id) {
		if record.Event.Kind == journal.TimerFired {
			fired++
			if record.Event.At.Before(due) {
				t.Errorf("due at %s, stored as fired at %s", due, record.Event.At)
			}
		}
		for _, command := range record.Commands {
			if command.Kind == journal.CommandTimer {
				due = command.Timer.At
			}
		}
	}
	if fired != 1 || !jumped.Load() {
		t.Errorf("%d timers fired; the clock was set back: %t", fired, jumped.Load())
	}
}
