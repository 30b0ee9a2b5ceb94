package local_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func TestTheDriverShowsWhatEveryDriverMust(t *testing.T) {
	enginetest.Exercise(t, func(testing.TB) enginetest.Driver { return virtualDriver{} })
}

// virtualDriver runs the local driver on a real store in virtual time.
type virtualDriver struct{}

// Run drives one scripted run to its end.
func (virtualDriver) Run(t testing.TB, workflow *plan.Workflow, inputs json.RawMessage, script *enginetest.Script) enginetest.Result {
	t.Helper()
	var result enginetest.Result
	synctest.Test(t.(*testing.T), func(t *testing.T) {
		e := &virtualEngine{t: t, script: script, path: filepath.Join(t.TempDir(), "flowrun.db"), began: time.Now()}
		e.open()
		e.start(workflow, inputs)
		for _, act := range script.Acts {
			e.act(act)
		}
		e.awaitEnd(nil)
		result = e.result()
		e.shut()
	})
	return result
}

// virtualEngine is one driver with its store; a crash makes new ones.
type virtualEngine struct {
	t      *testing.T
	script *enginetest.Script
	path   string
	began  time.Time // of the bubble's clock

	store    *boltstore.Store
	driver   *local.Driver
	released chan struct{} // closed when calls that never end must let go

	mu    sync.Mutex
	calls []enginetest.Call
}

func (e *virtualEngine) now() time.Time { return enginetest.Begin().Add(time.Since(e.began)) }

func (e *virtualEngine) open() {
	file, err := boltstore.Open(e.path, boltstore.Options{Hooks: store.Hooks{Now: e.now}, InitialMmapSize: 1 << 24})
	if err != nil {
		e.t.Fatal(err)
	}
	e.store, e.released = file, make(chan struct{})
	e.driver = local.New(local.Options{
		Journal: file, Caller: e, Reconciler: e, Limiter: noLimit{}, Now: e.now, Log: slog.New(slog.DiscardHandler),
	})
}

// shut ends the driver without a word. Its calls let go only after it has
// stopped to listen.
func (e *virtualEngine) shut() {
	closed := make(chan error, 1)
	go func() { closed <- e.driver.Close(context.Background()) }()
	synctest.Wait()
	close(e.released)
	if err := <-closed; err != nil {
		e.t.Error(err)
	}
	if err := e.store.Close(); err != nil {
		e.t.Error(err)
	}
}

// drain stops the driver in good order. Calls in flight have no time to end.
func (e *virtualEngine) drain() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = e.driver.Drain(ended) // that calls were in flight is what the case is about
}

func (e *virtualEngine) start(workflow *plan.Workflow, inputs json.RawMessage) {
	encoded, err := workflow.Encode()
	if err != nil {
		e.t.Fatal(err)
	}
	hash, err := workflow.Hash()
	if err != nil {
		e.t.Fatal(err)
	}
	_, _, err = e.driver.Start(e.t.Context(), local.StartRequest{
		Row: runs.Run{
			ID: enginetest.RunID, Workflow: workflow.Name, Attempt: 1, Trigger: "manual",
			ScheduledAt: enginetest.Begin(), StartedAt: enginetest.Begin(), PlanHash: hash,
		},
		Workflow: workflow, PlanBytes: encoded,
		Start: journal.Start{
			RunID: enginetest.RunID, Inputs: inputs, Trigger: "manual", ScheduledAt: enginetest.Begin(), Interpreter: interp.Version,
		},
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

// stopped reports whether the run is closed or paused.
func (e *virtualEngine) stopped() bool {
	row, err := e.store.Run(enginetest.RunID)
	if err != nil {
		e.t.Fatal(err)
	}
	return row.Closed || row.Status == runs.RunPaused
}

// awaitEnd waits until the run is closed or paused, or for the timer.
func (e *virtualEngine) awaitEnd(timer <-chan time.Time) {
	ctx, cancel := context.WithCancel(e.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.driver.AwaitEnd(ctx, enginetest.RunID) }()
	select {
	case <-ended:
	case <-timer:
		cancel()
		<-ended
	}
}

func (e *virtualEngine) act(act enginetest.Act) {
	if left := act.After - time.Since(e.began); left > 0 {
		e.awaitEnd(time.After(left))
	}
	synctest.Wait()
	if e.stopped() {
		e.awaitEnd(nil)
	}
	var event *journal.Event
	if act.Crash || act.Stop {
		if act.Stop {
			e.drain()
		}
		e.shut()
		e.open()
		if e.stopped() {
			return
		}
	} else {
		event = &act.Event
	}
	if err := e.driver.Load(enginetest.RunID, event); err != nil {
		e.t.Fatal(err)
	}
	synctest.Wait()
}

// Call answers as the script says.
func (e *virtualEngine) Call(ctx context.Context, request runs.Request, _ runs.Sink) runs.Answer {
	after := time.Since(e.began)
	e.mu.Lock()
	e.calls = append(e.calls, enginetest.Call{Path: request.Operation, Attempt: request.Attempt, After: after, Command: journal.Call{
		Step: request.Step, Action: request.Action, Connection: request.Connection, Input: request.Input,
		Attempt: request.Attempt, PageCursor: request.PageCursor, Checkpoint: request.Checkpoint, PageNote: request.PageNote, Timeout: request.Timeout,
	}})
	e.mu.Unlock()
	answer := e.script.Next(request.Operation)
	canceled := ctx.Done()
	var due <-chan time.Time
	if !answer.Never {
		due = time.After(answer.After)
	}
	if answer.Never || answer.Deaf {
		canceled = nil
	}
	select {
	case <-due:
		return answer.Answer
	case <-canceled:
	case <-e.released:
	}
	failure := &runs.Error{Kind: plan.KindCanceled, Message: "canceled", Applied: runs.AppliedUnknown}
	if context.Cause(ctx) == context.DeadlineExceeded {
		failure = &runs.Error{Kind: plan.KindTimeout, Message: "no answer in time", Applied: runs.AppliedUnknown}
	}
	return runs.Answer{Failed: failure}
}

// Reconcile answers a question about a lost call as the script says.
func (e *virtualEngine) Reconcile(ctx context.Context, request runs.Request) (runs.Outcome, error) {
	outcome, after := e.script.Outcome(request.Operation)
	select {
	case <-time.After(after):
		return outcome, nil
	case <-ctx.Done():
	case <-e.released:
	}
	return runs.Outcome{}, context.Canceled
}

func (e *virtualEngine) result() enginetest.Result {
	took := time.Since(e.began)
	snapshot, err := e.driver.Snapshot(e.t.Context(), enginetest.RunID)
	if err != nil {
		e.t.Fatal(err)
	}
	records, err := e.store.Records(enginetest.RunID, 1, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	logs, _, err := e.store.Logs(enginetest.RunID, "", 0, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	sortCalls(e.calls, records)
	return enginetest.Result{
		Status: snapshot.Run.Status, Paused: snapshot.Run.Paused, Attempt: snapshot.Run.Attempt, Error: snapshot.Error,
		Outputs: snapshot.Outputs, Steps: snapshot.Steps, Calls: e.calls, Logs: logs, Took: took, Records: records,
	}
}

// sortCalls puts calls of the same time into the order of their commands: each
// call is made on a goroutine of its own. The n-th call of an attempt belongs to
// its n-th command; one that was sent again after a crash has none of its own.
func sortCalls(calls []enginetest.Call, records []*journal.Record) {
	type attempt struct {
		path   string
		number int
	}
	commands, count := map[attempt][]int{}, 0
	for _, record := range records {
		for _, command := range record.Commands {
			if command.Kind == journal.CommandCall {
				key := attempt{command.Path, command.Call.Attempt}
				commands[key] = append(commands[key], count)
				count++
			}
		}
	}
	type ordered struct {
		call  enginetest.Call
		place int
	}
	sorted, seen := make([]ordered, len(calls)), map[attempt]int{}
	for i, call := range calls {
		key := attempt{call.Path, call.Attempt}
		if places := commands[key]; len(places) > 0 {
			sorted[i].place = places[min(seen[key], len(places)-1)]
		}
		sorted[i].call = call
		seen[key]++
	}
	slices.SortStableFunc(sorted, func(a, b ordered) int {
		return cmp.Or(cmp.Compare(a.call.After, b.call.After), cmp.Compare(a.place, b.place))
	})
	for i := range sorted {
		calls[i] = sorted[i].call
	}
}
