package deliver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/sdk"
)

// TestMain is a plugin where a workspace starts the test program as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" && os.Args[2] == "serve" {
		deskPlugin().Serve()
		return
	}
	os.Exit(m.Run())
}

type letter struct {
	Text string `json:"text"`
	Name string `json:"name" default:""`
}

// deskPlugin has an action that takes a key and one that must not be called twice.
func deskPlugin() *sdk.Plugin {
	send := func(*sdk.Call[struct{}], letter) (struct{}, error) { return struct{}{}, nil }
	return sdk.New("desk", "1.0.0", "A desk", sdk.Keyed("send", "Send a letter", send), sdk.Once("pay", "Pay", send),
		sdk.Delivery{Action: "send", Content: "text", Path: "name"})
}

const began = "01k8zq4c0vdx3y6t7k9m2n5p8r"

// world is what deliveries stand in: a run that has succeeded, a clock that the test moves,
// and what calls end with.
type world struct {
	*Deliveries
	workflow *plan.Workflow
	row      *runs.Run

	mu    sync.Mutex
	at    time.Time
	ends  []*runs.Error // of the calls that come, in order; nil behind them
	calls []Call
	stops error // what a call gets in place of being sent
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) move(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(by)
}

func (w *world) Ended(context.Context, string) (*runs.Result, *plan.Workflow, json.RawMessage, error) {
	return &runs.Result{Run: *w.row, Outputs: map[string]json.RawMessage{"digest": json.RawMessage(`"all is well"`)}}, w.workflow, json.RawMessage(`{"site":"A"}`), nil
}

func (w *world) Destinations(*runs.Run) (*plan.Workflow, error) { return w.workflow, nil }

func (w *world) Note(string, []runs.Log) error { return nil }

func (w *world) Call(_ context.Context, call Call, _ runs.Sink) (*runs.Error, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stops != nil {
		return nil, w.stops
	}
	w.calls = append(w.calls, call)
	if len(w.ends) == 0 {
		return nil, nil
	}
	end := w.ends[0]
	w.ends = w.ends[1:]
	return end, nil
}

// newWorld has a run whose output goes to these destinations.
func newWorld(t *testing.T, to string, ends ...*runs.Error) *world {
	t.Helper()
	dir, w := t.TempDir(), &world{at: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), ends: ends}
	if err := os.WriteFile(filepath.Join(dir, "flowrun.yaml"), []byte("connections: {front: {plugin: desk}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	project, err := workspace.Load(t.Context(), workspace.Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, Executable: executable, Bundled: []string{"desk"}, Version: "test",
		Now: w.now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), Environ: os.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(project.Close)
	workflow, problems := project.CheckText(t.Context(), "w.yaml", []byte(
		"flowrun: v1\nname: weekly\ninputs: {site: {type: string}}\nsteps: [{let: {x: 1}}]\noutputs: {digest: {value: \"all is well\", to: ["+to+"]}}\n"))
	if workflow == nil {
		t.Fatal(problems)
	}
	finished := w.at
	w.workflow = workflow
	w.row = &runs.Run{ID: began, Workflow: "weekly", Status: runs.RunSucceeded, Closed: true, ScheduledAt: w.at, StartedAt: w.at, FinishedAt: &finished}
	w.Deliveries = New(Options{
		Project: project, Store: memstore.New(memstore.Options{}), Runs: w, Fault: func(err error) error { return err }, After: time.After,
	})
	return w
}

func (w *world) one(t *testing.T) runs.Delivery {
	t.Helper()
	list, err := w.Of(w.row, w.workflow)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

func (w *world) byHand(t *testing.T, request Request) runs.Delivery {
	t.Helper()
	if _, err := w.Deliver(t.Context(), w.row, w.workflow, request); err != nil {
		t.Fatal(err)
	}
	return w.one(t)
}

func failing(kind plan.ErrorKind, applied runs.Applied) *runs.Error {
	return &runs.Error{Kind: kind, Applied: applied, Message: "no"}
}

// What may help is tried for a day, at growing distances, with the same key and input each
// time.
func TestAttemptsGoOnForADay(t *testing.T) {
	w := newWorld(t, "desk.front/letter")
	if err := w.Take(t.Context(), runs.OutboxEntry{Kind: runs.OutboxClosed, Run: *w.row}, ""); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	for range 100 {
		w.ends = []*runs.Error{failing(plan.KindUnavailable, runs.AppliedUnknown)}
		w.attempt(t.Context(), began, "digest#1", nil)
		one := w.one(t)
		if one.State == runs.DeliveryFailed {
			break
		}
		if one.State != runs.DeliveryWaiting || one.NextAt == nil || one.Error == nil {
			t.Fatalf("%+v", one)
		}
		waits = append(waits, one.NextAt.Sub(w.now()))
		w.move(one.NextAt.Sub(w.now()))
	}
	want := []time.Duration{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600}
	for i := range want {
		want[i] *= time.Second
	}
	if len(waits) < 30 || !slices.Equal(waits[:12], want) || slices.Max(waits) != time.Hour {
		t.Errorf("waits %v", waits)
	}
	if one := w.one(t); one.State != runs.DeliveryFailed || one.Attempts != len(waits)+1 || w.now().Sub(one.CreatedAt) < Window {
		t.Errorf("%+v at %s", one, w.now())
	}
	for _, call := range w.calls {
		if call.Key != runs.DeliveryKey(began, "digest#1") || string(call.Input) != `{"name":"letter","text":"all is well"}` || call.Run != began || call.Connection != "front" {
			t.Fatalf("%+v %s", call, call.Input)
		}
	}
}

func TestWhatFollowsAnAttempt(t *testing.T) {
	late := failing(plan.KindRateLimited, runs.NotApplied)
	late.RetryAfterS = 600
	for name, test := range map[string]struct {
		to   string
		end  *runs.Error
		want runs.DeliveryState
		wait time.Duration
	}{
		"it is taken":                         {to: "desk.front/a", want: runs.DeliveryDelivered},
		"it is refused":                       {to: "desk.front/a", end: failing(plan.KindInvalid, runs.NotApplied), want: runs.DeliveryFailed},
		"a login is needed":                   {to: "desk.front/a", end: failing(plan.KindAuthRequired, runs.NotApplied), want: runs.DeliveryFailed},
		"the answer is lost":                  {to: "desk.front/a", end: failing(plan.KindTimeout, runs.AppliedUnknown), want: runs.DeliveryWaiting, wait: 2 * time.Second},
		"the service says when":               {to: "desk.front/a", end: late, want: runs.DeliveryWaiting, wait: 10 * time.Minute},
		"once, and the answer is lost":        {to: "{uses: desk.pay, with: {text: x}}", end: failing(plan.KindTimeout, runs.AppliedUnknown), want: runs.DeliveryUnknown},
		"once, and certainly nothing":         {to: "{uses: desk.pay, with: {text: x}}", end: failing(plan.KindUnavailable, runs.NotApplied), want: runs.DeliveryWaiting, wait: 2 * time.Second},
		"once, canceled while it was sent":    {to: "{uses: desk.pay, with: {text: x}}", end: failing(plan.KindCanceled, runs.AppliedUnknown), want: runs.DeliveryUnknown},
		"canceled while it was sent":          {to: "desk.front/a", end: failing(plan.KindCanceled, runs.AppliedUnknown), want: runs.DeliveryWaiting},
		"an expression that fails at the end": {to: "{uses: desk.send, with: {text: \"${{ [output.text][len(inputs.site)] }}\"}}", want: runs.DeliveryFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.to, test.end)
			one := w.byHand(t, Request{})
			if one.State != test.want || one.Attempts != 1 || (one.Error == nil) != (test.want == runs.DeliveryDelivered) {
				t.Errorf("%+v %v", one, one.Error)
			}
			if test.wait > 0 && (one.NextAt == nil || one.NextAt.Sub(w.now()) != test.wait) {
				t.Errorf("again at %v, now is %s", one.NextAt, w.now())
			}
		})
	}
}

// A process that ends sends nothing, and counts no attempt.
func TestAStopIsNoAttempt(t *testing.T) {
	w := newWorld(t, "desk.front/a")
	w.stops = errors.New("closing")
	if one := w.byHand(t, Request{}); one.State != runs.DeliveryWaiting || one.Attempts != 0 {
		t.Errorf("%+v", one)
	}
	w.stops = nil
	if one := w.byHand(t, Request{}); one.State != runs.DeliveryDelivered || one.Attempts != 1 {
		t.Errorf("%+v", one)
	}
}

// What was under way when the process died: the same call again, but for one of effect once.
func TestWhatAKillLeft(t *testing.T) {
	for to, want := range map[string]struct {
		state runs.DeliveryState
		calls int
	}{
		"desk.front/a":                       {runs.DeliveryDelivered, 1},
		"{uses: desk.pay, with: {text: x}}":  {runs.DeliveryUnknown, 0},
		"{uses: desk.send, with: {text: x}}": {runs.DeliveryDelivered, 1},
	} {
		w := newWorld(t, to)
		left := planned(w.workflow, w.row)[0]
		left.State, left.Attempts, left.NextAt = runs.DeliverySending, 1, nil
		if err := store.PutDelivery(w.store.KV(), &left, true); err != nil {
			t.Fatal(err)
		}
		open, err := store.OpenDeliveries(w.store.KV())
		if err != nil || len(open) != 1 {
			t.Fatalf("open: %v, %v", open, err)
		}
		w.attempt(t.Context(), began, left.ID, nil)
		if one := w.one(t); one.State != want.state || len(w.calls) != want.calls {
			t.Errorf("%s: %+v after %d calls", to, one, len(w.calls))
		}
	}
}

// An entry that is taken twice changes nothing; one of a backup, and one that nobody took
// for a day, is not sent by itself.
func TestWhatTheOutboxGives(t *testing.T) {
	w := newWorld(t, "desk.front/a")
	entry := runs.OutboxEntry{Kind: runs.OutboxClosed, Run: *w.row}
	take := func(w *world, skip string) {
		t.Helper()
		if err := w.Take(t.Context(), entry, skip); err != nil {
			t.Fatal(err)
		}
	}
	take(w, "")
	w.byHand(t, Request{})
	take(w, runs.SkipRestored)
	if one := w.one(t); one.State != runs.DeliveryDelivered {
		t.Errorf("taken twice: %+v", one)
	}
	restored := newWorld(t, "desk.front/a")
	take(restored, runs.SkipRestored)
	if one := restored.one(t); one.State != runs.DeliveryFailed || one.Error.Kind != plan.KindExpired {
		t.Errorf("of a backup: %+v", one)
	}
	for by, want := range map[time.Duration]runs.DeliveryState{Window - time.Minute: runs.DeliveryWaiting, Window + time.Minute: runs.DeliveryFailed} {
		late := newWorld(t, "desk.front/a")
		late.move(by)
		take(late, runs.SkipLate)
		if one := late.one(t); one.State != want {
			t.Errorf("after %s: %+v", by, one)
		}
		if one := late.byHand(t, Request{By: "ann"}); one.State != runs.DeliveryDelivered || one.By != "ann" {
			t.Errorf("by hand after %s: %+v", by, one)
		}
	}
	for _, row := range []runs.Run{{ID: began, Status: runs.RunFailed, Closed: true}, {ID: began, Status: runs.RunSucceeded}, {ID: began, Status: runs.RunSucceeded, Closed: true, Parent: &runs.ParentStep{}}} {
		other := newWorld(t, "desk.front/a")
		if err := other.Take(t.Context(), runs.OutboxEntry{Kind: runs.OutboxClosed, Run: row}, ""); err != nil {
			t.Fatal(err)
		}
		if kept, err := store.Deliveries(other.store.KV(), began); err != nil || len(kept) != 0 {
			t.Errorf("%+v: %v, %v", row, kept, err)
		}
	}
}

// Follow takes up what the process before left, and ends with its context.
func TestFollowSendsWhatIsDue(t *testing.T) {
	w := newWorld(t, "desk.front/a")
	if err := w.Take(t.Context(), runs.OutboxEntry{Kind: runs.OutboxClosed, Run: *w.row}, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	again := New(Options{Project: w.project, Store: w.store, Runs: w, Fault: w.fault, After: w.after}) // another process
	go func() {
		defer close(done)
		again.Follow(ctx)
	}()
	for w.one(t).State != runs.DeliveryDelivered {
		if t.Context().Err() != nil {
			t.Fatal("it is not delivered")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	if open, err := store.OpenDeliveries(w.store.KV()); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	if err := store.DropDeliveries(w.store.KV(), began); err != nil {
		t.Fatal(err)
	}
	if ids, err := store.DeliveryRuns(w.store.KV()); err != nil || len(ids) != 0 {
		t.Errorf("kept: %v, %v", ids, err)
	}
}

func TestWhatCantBeDeliveredByHand(t *testing.T) {
	w := newWorld(t, "desk.front/a")
	conflict := func(row runs.Run) {
		t.Helper()
		row.ID = began
		var conflict *fault.ConflictError
		if _, err := w.Deliver(t.Context(), &row, w.workflow, Request{}); !errors.As(err, &conflict) {
			t.Errorf("%+v: %v", row, err)
		}
	}
	conflict(runs.Run{Status: runs.RunRunning})
	conflict(runs.Run{Status: runs.RunSucceeded})
	conflict(runs.Run{Status: runs.RunSucceeded, Closed: true, Parent: &runs.ParentStep{Run: "x"}})
	var unknown *fault.UnknownError
	if _, err := w.Deliver(t.Context(), w.row, w.workflow, Request{Output: "digset"}); !errors.As(err, &unknown) || unknown.Hint.Near != "digest" {
		t.Errorf("%v", err)
	}
}
