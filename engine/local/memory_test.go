package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/dispatch"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// byInput names a call by its action and input.
type byInput struct{}

func (byInput) Identify(action *plan.Action, connection string, input json.RawMessage, _ bool) (string, error) {
	return action.FullName() + " " + connection + " " + string(input), nil
}

// counting is a workflow that adds one to `state.total` after its steps, one run
// at a time.
func counting(steps ...string) *plan.Workflow {
	w := workflow(steps...)
	w.State = json.RawMessage(`{"type":"object","properties":{"total":{"type":"integer","default":0},"other":{"type":"string","default":""}},"required":["total","other"],"additionalProperties":false}`)
	w.Concurrency = bounds("workflow:test", plan.OnFullQueue)
	set := plan.Step{ID: "_set", Kind: plan.StepSetState, RunIf: plan.RunIfOK, Let: []plan.Binding{{
		Name: "total", Value: plan.Value{Kind: plan.ValueExpr, Expr: &plan.Expr{Source: "state.total + 1"}},
	}}}
	if n := len(w.Steps); n > 0 {
		set.Needs = []string{w.Steps[n-1].ID}
	}
	w.Steps = append(w.Steps, set)
	return w
}

func bounds(key string, onFull plan.OnFull) *plan.Concurrency {
	text, _ := json.Marshal(key)
	return &plan.Concurrency{Key: plan.Value{Kind: plan.ValueLiteral, Literal: text}, Limit: 1, OnFull: onFull, QueueMax: 100}
}

func (b *bench) total() string {
	b.t.Helper()
	values, err := b.store.State("test")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, value := range values {
		if value.Name == "total" {
			return string(value.Value)
		}
	}
	return "none"
}

func (b *bench) row(id string) *runs.Run {
	b.t.Helper()
	row, err := b.store.Run(id)
	if err != nil {
		b.t.Fatal(err)
	}
	return row
}

// until waits until a run has a status.
func (b *bench) until(id string, status runs.Status) *runs.Run {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if row := b.row(id); row.Status == status {
			return row
		}
	}
	b.t.Fatalf("run %s is %s, want %s", id, b.row(id).Status, status)
	return nil
}

// ended waits until a run is closed and nobody drives it.
func (b *bench) ended(id string) *runs.Run {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if row := b.row(id); row.Closed && !b.driver.Driven(id) {
			return row
		}
	}
	b.t.Fatalf("run %s is %s", id, b.row(id).Status)
	return nil
}

// gate is a call that waits until it is opened.
type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) call(ctx context.Context, r runs.Request) runs.Answer {
	g.once.Do(func() { close(g.reached) })
	select {
	case <-g.open:
		return done()
	case <-ctx.Done():
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindCanceled, Message: "canceled"}}
	}
}

func TestRule14RunsCountOneAfterTheOther(t *testing.T) {
	b := newBench(t)
	var ids []string
	for range 20 {
		ids = append(ids, b.start(counting("a read", "b keyed")))
	}
	for _, id := range ids {
		if result := b.wait(id); result.Run.Status != runs.RunSucceeded {
			t.Fatalf("run ended as %+v: %v", result.Run, result.Error)
		}
	}
	if got := b.total(); got != "20" {
		t.Errorf("20 runs counted to %s", got)
	}
	changes, err := b.store.History("test", "total", "")
	if err != nil || len(changes) != 20 || changes[19].Run != ids[19] {
		t.Errorf("history %v: %v", changes, err)
	}
}

func TestRule16AQueuedRunIsShownAndReadsTheStateOfItsTurn(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	first := b.start(counting("a read"))
	<-g.reached
	second := b.start(counting("a read"))
	if row := b.row(second); row.Status != runs.RunQueued || row.StateOf() != runs.SlotQueued {
		t.Errorf("the second run is %+v", row)
	}
	if held := b.row(first).StateOf(); held != runs.SlotHeld {
		t.Errorf("the first run's place is %q", held)
	}
	close(g.open)
	if result := b.wait(second); result.Run.Status != runs.RunSucceeded || b.total() != "2" {
		t.Errorf("run ended as %+v, total %s", result.Run, b.total())
	}
	if row := b.ended(first); row.StateOf() != runs.SlotFree {
		t.Errorf("the first run's place is %q", row.StateOf())
	}
}

func TestRule14AChangedValueIsAConflict(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	w := counting("a read")
	w.OnFailure = workflow("told read").Steps
	w.OnSuccess = workflow("glad read").Steps
	id := b.start(w)
	<-g.reached
	if _, err := b.store.Change(store.Change{Workflow: "test", Name: "total", Value: []byte("7"), At: time.Now(), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	result := b.wait(id)
	if result.Run.Status != runs.RunFailed || result.Error == nil || result.Error.Kind != plan.KindConflict || !strings.Contains(result.Error.Message, "by ann") {
		t.Fatalf("run ended as %+v: %v", result.Run, result.Error)
	}
	if b.total() != "7" || b.service.count("on_failure:told") != 1 || b.service.count("on_success:glad") != 0 {
		t.Errorf("total %s, calls %v", b.total(), b.service.counts)
	}
	b.reopen() // the journal leads to the same end
	if result := b.wait(id); result.Run.Status != runs.RunFailed || result.Error.Kind != plan.KindConflict {
		t.Errorf("after a restart the run is %+v: %v", result.Run, result.Error)
	}
	state, _, begun, err := b.driver.ReadsOf(t.Context(), id)
	if err != nil || !begun || len(state) != 1 || state["total"] != 0 {
		t.Errorf("reads %v begun %v: %v", state, begun, err)
	}
	if err := b.driver.Load(id, &journal.Event{Kind: journal.Resumed, Discard: true}); err != nil {
		t.Fatal(err)
	}
	if result := b.wait(id); result.Run.Status != runs.RunSucceeded || b.total() != "7" {
		t.Errorf("with its writes discarded the run is %+v, total %s", result.Run, b.total())
	}
}

func TestRule14ADifferentNameIsNoConflict(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	id := b.start(counting("a read"))
	<-g.reached
	if _, err := b.store.Change(store.Change{Workflow: "test", Name: "other", Value: []byte(`"x"`), At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	if result := b.wait(id); result.Run.Status != runs.RunSucceeded || b.total() != "1" {
		t.Errorf("run ended as %+v, total %s", result.Run, b.total())
	}
}

func TestRule16QueuedRunsOutliveTheProcess(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	var ids []string
	for range 3 {
		ids = append(ids, b.start(counting("a read")))
	}
	<-g.reached
	b.reopen()
	close(g.open)
	for _, id := range ids[1:] {
		if row := b.row(id); row.Status != runs.RunQueued {
			t.Errorf("after the restart run %s is %s", id, row.Status)
		}
	}
	// The last one waits for the one before, and that for the one that holds the
	// place: all are taken up.
	if err := b.driver.Load(ids[2], nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if row := b.ended(id); row.Status != runs.RunSucceeded {
			t.Errorf("run %s is %s", id, row.Status)
		}
	}
	if b.total() != "3" {
		t.Errorf("total %s", b.total())
	}
}

func TestP5ACrashAtAnyMomentCountsOnce(t *testing.T) {
	b := newBench(t)
	var ids []string
	for range 3 {
		ids = append(ids, b.start(counting("a read", "b keyed", "c read")))
	}
	for round := 0; ; round++ {
		// A call that is in flight at five crashes pauses its run (P6), whose place and count
		// are another's then: each third crash comes when something has got on, on a slow
		// machine too.
		if round%3 == 2 {
			b.getsOn(ids)
		} else {
			time.Sleep(time.Duration(round%7) * time.Millisecond)
		}
		b.reopen()
		open, err := b.store.OpenRuns()
		if err != nil {
			t.Fatal(err)
		}
		if len(open) == 0 {
			break
		}
		for _, row := range open {
			if err := b.driver.Load(row.ID, nil); err != nil && !strings.Contains(err.Error(), "driven already") {
				t.Fatal(err)
			}
		}
	}
	for _, id := range ids {
		if row := b.row(id); row.Status != runs.RunSucceeded {
			t.Errorf("run %s is %+v", id, row)
		}
	}
	if b.total() != "3" {
		t.Errorf("3 runs counted to %s", b.total())
	}
}

// getsOn waits until one more of the runs' calls is answered, or all have ended.
func (b *bench) getsOn(ids []string) {
	b.t.Helper()
	answers := func() (count int, ended bool) {
		ended = true
		for _, id := range ids {
			records, err := b.store.Records(id, 1, 1000)
			if err != nil {
				b.t.Fatal(err)
			}
			for _, record := range records {
				if record.Event.Kind == journal.Completed {
					count++
				}
			}
			ended = ended && b.row(id).Closed
		}
		return count, ended
	}
	before, ended := answers()
	for end := time.Now().Add(time.Minute); !ended; time.Sleep(time.Millisecond) {
		if now, all := answers(); now > before || all {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%d calls were answered, and no more within a minute", before)
		}
	}
}

func TestRule16OnFull(t *testing.T) {
	for _, c := range []struct {
		onFull        plan.OnFull
		first, second runs.Status
		reason        string
	}{
		{plan.OnFullSkip, runs.RunSucceeded, runs.RunCanceled, "skipped"},
		{plan.OnFullFail, runs.RunSucceeded, runs.RunFailed, "concurrency"},
		{plan.OnFullCancelRunning, runs.RunCanceled, runs.RunSucceeded, ""},
	} {
		t.Run(string(c.onFull), func(t *testing.T) {
			b := newBench(t)
			g := newGate()
			b.service.script["a"] = g.call
			w := workflow("a read")
			w.Concurrency = bounds("k", c.onFull)
			w.Finally = workflow("end read").Steps
			first := b.start(w)
			<-g.reached
			second := b.start(w)
			if c.onFull != plan.OnFullCancelRunning {
				row := b.ended(second)
				if row.Error == nil || row.Error.Reason != c.reason || !strings.Contains(row.Error.Message, first) {
					t.Errorf("the second run's error is %v", row.Error)
				}
				if b.service.count("finally:end") != 0 {
					t.Error("handlers of a run that never began were called")
				}
				close(g.open)
			} else {
				b.ended(first)
				close(g.open)
			}
			if row := b.ended(first); row.Status != c.first {
				t.Errorf("the first run is %s, want %s", row.Status, c.first)
			}
			if row := b.ended(second); row.Status != c.second || row.FinishedAt == nil {
				t.Errorf("the second run is %+v, want %s", row, c.second)
			}
		})
	}
}

func TestRule16TheLatestTakesTheTurnOfThoseThatWait(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	w := workflow("a read")
	w.Concurrency = bounds("k", plan.OnFullLatest)
	var ids []string
	for range 4 {
		ids = append(ids, b.start(w))
		if len(ids) == 1 {
			<-g.reached
		}
	}
	b.ended(ids[1])
	b.ended(ids[2])
	close(g.open)
	want := []runs.Status{runs.RunSucceeded, runs.RunCanceled, runs.RunCanceled, runs.RunSucceeded}
	for i, id := range ids {
		if row := b.ended(id); row.Status != want[i] {
			t.Errorf("run %d is %s, want %s", i, row.Status, want[i])
		}
	}
}

func TestRule16TheQueueIsBounded(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	w := workflow("a read")
	w.Concurrency = bounds("k", plan.OnFullQueue)
	w.Concurrency.QueueMax = 1
	first := b.start(w)
	<-g.reached
	second, third := b.start(w), b.start(w)
	if row := b.ended(third); row.Status != runs.RunFailed || row.Error.Reason != "queue_full" {
		t.Errorf("the third run is %+v", row)
	}
	close(g.open)
	for _, id := range []string{first, second} {
		if row := b.ended(id); row.Status != runs.RunSucceeded {
			t.Errorf("run %s is %s", id, row.Status)
		}
	}
}

func TestRule16ACanceledQueuedRunBeginsOnlyWhenItIsResumed(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	w := workflow("a read")
	w.Concurrency = bounds("k", plan.OnFullQueue)
	first := b.start(w)
	<-g.reached
	second := b.start(w)
	if err := b.driver.Load(second, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if row := b.ended(second); row.Status != runs.RunCanceled {
		t.Errorf("run is %+v", row)
	}
	if _, _, begun, err := b.driver.ReadsOf(t.Context(), second); err != nil || begun {
		t.Errorf("begun %v: %v", begun, err)
	}
	if err := b.driver.Load(second, &journal.Event{Kind: journal.Resumed, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	b.until(second, runs.RunQueued) // it lines up again
	close(g.open)
	b.ended(first)
	if row := b.ended(second); row.Status != runs.RunSucceeded || row.Attempt != 2 || row.Error != nil || b.service.count("a") != 2 {
		t.Errorf("resumed, the run is %+v after %d calls", row, b.service.count("a"))
	}
	b.reopen()
	if result := b.wait(second); result.Run.Status != runs.RunSucceeded || result.Steps["a"].Status != runs.StepSucceeded {
		t.Errorf("after a restart the run is %+v", result)
	}
}

func TestRule16AResumeTakesAPlaceToo(t *testing.T) {
	b := newBench(t)
	w := workflow("a read")
	w.Concurrency = bounds("k", plan.OnFullQueue)
	w.Steps[0].Retry = nil
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "not there"}}
	}
	failed := b.start(w)
	if row := b.ended(failed); row.Status != runs.RunFailed || row.StateOf() != runs.SlotFree {
		t.Fatalf("run is %+v", row)
	}
	g := newGate()
	b.service.mu.Lock()
	b.service.script["a"] = g.call
	b.service.mu.Unlock()
	holder := b.start(w)
	<-g.reached
	if err := b.driver.Load(failed, &journal.Event{Kind: journal.Resumed, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if row := b.row(failed); row.Status != runs.RunQueued || row.Slot.By != "ann" {
		t.Errorf("the resumed run is %+v", row)
	}
	b.reopen() // it waits on
	close(g.open)
	if err := b.driver.Load(failed, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{holder, failed} {
		if row := b.ended(id); row.Status != runs.RunSucceeded {
			t.Errorf("run %s is %+v", id, row)
		}
	}
	if row := b.row(failed); row.Attempt != 2 || row.Slot.Resume {
		t.Errorf("the resumed run is %+v", row)
	}
}

func TestRule16APausedRunGivesItsPlaceBack(t *testing.T) {
	b := newBench(t)
	w := workflow("a read")
	w.Concurrency = bounds("k", plan.OnFullQueue)
	w.Steps[0].OnErrorAll = plan.ReactPause
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "not there"}}
	}
	first := b.start(w)
	if row := b.until(first, runs.RunPaused); row.StateOf() != runs.SlotFree {
		t.Errorf("the paused run's place is %q", row.StateOf())
	}
	b.until(b.start(w), runs.RunPaused)
}

func TestRule16AResolvedRunTakesAPlaceToo(t *testing.T) {
	b := newBench(t)
	w := workflow("a once", "b read")
	w.Concurrency = bounds("k", plan.OnFullQueue)
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindCrashed, Message: "gone"}}
	}
	paused := b.start(w)
	b.until(paused, runs.RunPaused)
	if err := b.driver.AwaitEnd(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	g := newGate()
	b.service.mu.Lock()
	b.service.script["b"] = g.call
	b.service.mu.Unlock()
	other := workflow("b read")
	other.Concurrency = w.Concurrency
	holder := b.start(other)
	<-g.reached
	said := journal.Event{Kind: journal.Resolved, Path: "a", By: "ann", Resolution: &journal.Resolution{Outcome: "happened", Output: json.RawMessage(`{"ok":true}`)}}
	if err := b.driver.Load(paused, &said); err != nil {
		t.Fatal(err)
	}
	if row := b.row(paused); row.Status != runs.RunQueued || !row.Slot.Resolved {
		t.Errorf("the resolved run is %+v", row)
	}
	b.reopen() // what was said stays
	close(g.open)
	if err := b.driver.Load(paused, nil); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{holder, paused} {
		if row := b.ended(id); row.Status != runs.RunSucceeded {
			t.Errorf("run %s is %+v", id, row)
		}
	}
	if row := b.row(paused); row.Attempt != 1 || b.service.count("a") != 1 {
		t.Errorf("the resolved run is %+v after %d calls", row, b.service.count("a"))
	}
}

func TestRule16KeysAndLimits(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = g.call
	w := workflow("a read")
	w.Concurrency = bounds("one", plan.OnFullQueue)
	w.Concurrency.Limit = 2
	other := workflow("b read")
	other.Concurrency = bounds("two", plan.OnFullQueue)
	first, second, third := b.start(w), b.start(w), b.start(w)
	if b.row(first).Status != runs.RunRunning || b.row(second).Status != runs.RunRunning || b.row(third).Status != runs.RunQueued {
		t.Errorf("runs are %s, %s, %s", b.row(first).Status, b.row(second).Status, b.row(third).Status)
	}
	if row := b.ended(b.start(other)); row.Status != runs.RunSucceeded {
		t.Errorf("the run of another key is %s", row.Status)
	}
	close(g.open)
	for _, id := range []string{first, second, third} {
		b.ended(id)
	}
}

// ledger is a workflow that reads what is new.
func ledger() *plan.Workflow {
	w := workflow("a read")
	w.Actions["fake.read"].Incremental = true
	w.Steps[0].Incremental = "ledger"
	w.Concurrency = bounds("workflow:test", plan.OnFullQueue)
	return w
}

func TestRule13ACursorMovesWithTheSuccess(t *testing.T) {
	b := newBench(t)
	var given []string
	fail := false
	b.service.script["a"] = func(_ context.Context, r runs.Request) runs.Answer {
		given = append(given, string(r.Watermark))
		answer := done()
		answer.Completed.Watermark = fmt.Appendf(nil, "%sx", r.Watermark)
		return answer
	}
	b.service.script["b"] = func(context.Context, runs.Request) runs.Answer {
		if fail {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "not there"}}
		}
		return done()
	}
	w := ledger()
	w.Steps = append(w.Steps, workflow("b read").Steps...)
	w.Steps[1].Needs = []string{"a"}
	b.wait(b.start(w))
	fail = true
	failed := b.start(w)
	b.ended(failed)
	fail = false
	b.wait(b.start(w))
	if want := []string{"", "x", "x"}; !slices.Equal(given, want) {
		t.Errorf("watermarks %q, want %q", given, want)
	}
	cursors, err := b.store.Cursors("test", "ledger")
	if err != nil || len(cursors) != 1 || string(cursors[0].Value) != "xx" {
		t.Fatalf("cursors %v: %v", cursors, err)
	}
	_, read, _, err := b.driver.ReadsOf(t.Context(), failed)
	if err != nil || len(read) != 1 || read[cursors[0].Key] == cursors[0].Version {
		t.Errorf("the failed run read %v, the cursor is at %d: %v", read, cursors[0].Version, err)
	}
}

func TestRule13AMovedCursorIsAConflict(t *testing.T) {
	b := newBench(t)
	g := newGate()
	b.service.script["a"] = func(ctx context.Context, r runs.Request) runs.Answer {
		answer := done()
		answer.Completed.Watermark = []byte("mine")
		return answer
	}
	b.service.script["b"] = g.call
	w := ledger()
	w.Steps = append(w.Steps, workflow("b read").Steps...)
	w.Steps[1].Needs = []string{"a"}
	id := b.start(w)
	<-g.reached
	key := runs.CursorKey("test", "ledger", `fake.read  {}`)
	if _, err := b.store.Change(store.Change{Workflow: "test", Name: "ledger", Key: key, Value: []byte("theirs"), At: time.Now(), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	if row := b.ended(id); row.Status != runs.RunFailed || row.Error.Kind != plan.KindConflict {
		t.Errorf("run is %+v", row)
	}
	if stored, err := b.store.Cursor(key); err != nil || string(stored.Value) != "theirs" {
		t.Errorf("cursor %v: %v", stored, err)
	}
}

func TestRule13OtherParametersBeginANewCursorWithAWarning(t *testing.T) {
	b := newBench(t)
	b.service.script["a"] = func(_ context.Context, r runs.Request) runs.Answer {
		answer := done()
		answer.Completed.Watermark = []byte("mark")
		return answer
	}
	w := ledger()
	b.wait(b.start(w))
	w.Actions["fake.read"].Input = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	w.Steps[0].With = plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{"n":1}`)}
	id := b.start(w)
	b.wait(id)
	logs, _, err := b.store.Logs(id, "", 0, 0)
	if err != nil || len(logs) != 1 || logs[0].Level != "warn" || !strings.Contains(logs[0].Message, "other parameters") {
		t.Errorf("logs %v: %v", logs, err)
	}
	if cursors, err := b.store.Cursors("test", "ledger"); err != nil || len(cursors) != 2 {
		t.Errorf("cursors %v: %v", cursors, err)
	}
}

// mapCache is a cache in memory.
type mapCache struct {
	mu      sync.Mutex
	answers map[string]*runs.Completed
}

func (c *mapCache) Get(key string, _ time.Duration) *runs.Completed {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[key]
}

func (c *mapCache) Put(key string, answer *runs.Completed, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[key] = answer
}

var _ dispatch.Cache = (*mapCache)(nil)

func TestAReadIsAnsweredFromTheCache(t *testing.T) {
	b := &bench{t: t, path: t.TempDir() + "/flowrun.db", service: newService(), cache: &mapCache{answers: map[string]*runs.Completed{}}}
	b.open()
	t.Cleanup(b.close)
	w := workflow("a read", "b read")
	w.Steps[0].Cache = time.Hour
	for i := range 2 {
		result := b.wait(b.start(w))
		if got := result.Steps["a"].Cached; got != (i > 0) || result.Steps["b"].Cached {
			t.Errorf("run %d: cached %v, %v", i, got, result.Steps["b"].Cached)
		}
	}
	if b.service.count("a") != 1 || b.service.count("b") != 2 {
		t.Errorf("calls %v", b.service.counts)
	}
}
