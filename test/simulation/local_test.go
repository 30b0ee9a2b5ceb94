package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// embedded drives a calm flow with engine/local's own driver in virtual time, on
// a store that loses what is not committed when the engine is killed.
type embedded struct {
	t      *testing.T
	c      *compiled
	world  *world
	store  *store
	driver *local.Driver
	began  time.Time
	killed bool

	mu  sync.Mutex
	r   *rng
	era int
	log map[string]*sendings
}

// fitsEmbedded says whether nothing in the flow needs more than calls and timers.
func fitsEmbedded(f *flow) bool {
	fits := true
	f.each(func(n *node) {
		fits = fits && n.kind != nodeChild && n.kind != nodeApprove && n.kind != nodeWait
	})
	return fits
}

func TestP8TheDriverHasTheOutcomeOfTheModelWhateverTheCrashes(t *testing.T) {
	n, only := seeds(t, 1000)
	from := first(t)
	if n == 0 {
		n, from = 10, only
	}
	n = max(1, n/10)
	ran := 0
	for seed := from; ran < n; seed++ {
		f := generate(seed, true)
		if !fitsEmbedded(f) {
			if only > 0 {
				return
			}
			continue
		}
		ran++
		if text := runEmbedded(t, seed, f); text != "" {
			t.Errorf("seed %d: %s\nFLOWRUN_SEED=%d replays its workflow and world:\n%s", seed, text, seed, f.yaml())
		}
	}
	t.Logf("%d flows through the driver", ran)
}

func runEmbedded(t *testing.T, seed uint64, f *flow) (text string) {
	c, err := compile(t.Context(), f)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	w := &world{seed: seed, flow: f}
	m := predict(f, w, rules{})
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			switch r := recover().(type) {
			case nil:
			case violation:
				text = r.text
			default:
				panic(r)
			}
		}()
		e := &embedded{t: t, c: c, world: w, r: newRNG(seed, "embedded"), log: map[string]*sendings{}, began: time.Now()}
		e.store = newStore(func() time.Duration { return e.delay(20 * time.Millisecond) })
		defer func() {
			e.kill()
			time.Sleep(time.Second) // for the committer to end
		}()
		e.open()
		e.run()
		e.ending().compare(m)
	})
	return text
}

func (e *embedded) now() time.Time { return begin().Add(time.Since(e.began)) }

func (e *embedded) delay(most time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.r.one(3) {
		return 0
	}
	return time.Duration(e.r.Int64N(int64(most)))
}

func (e *embedded) open() {
	e.driver = local.New(local.Options{
		Journal: e.store.open(), Caller: e, Reconciler: e, Limiter: noLimit{}, Now: e.now, Log: slog.New(slog.DiscardHandler),
	})
}

func (e *embedded) kill() {
	e.store.die()
	if err := e.driver.Close(context.Background()); err != nil {
		e.t.Error(err)
	}
}

// run drives the run to its end, over crashes, resolutions and resumes.
func (e *embedded) run() {
	e.start()
	crashes := 0
	if e.c.flow.crashSafe {
		crashes = e.r.IntN(4)
	}
	for turn := 0; ; turn++ {
		if turn > 200 {
			violated("the run did not end")
		}
		patience := 40 * 24 * time.Hour
		if crashes > 0 {
			patience = e.delay(40 * time.Second)
		}
		ctx, cancel := context.WithTimeout(e.t.Context(), patience)
		_ = e.driver.AwaitEnd(ctx, runID)
		timeIsUp := ctx.Err() != nil
		cancel()
		if crashes > 0 && (timeIsUp || turn%3 == 2) {
			crashes--
			e.crash()
			continue
		}
		synctest.Wait()
		if row := e.row(); e.driver.Driven(runID) || !row.Closed && row.Status != runs.RunPaused {
			if timeIsUp {
				violated("nothing happens, and the run is %s", row.Status)
			}
			continue
		}
		if !e.person() {
			return
		}
	}
}

func (e *embedded) crash() {
	e.kill()
	e.killed = true
	e.mu.Lock()
	e.era = e.resumes()
	e.mu.Unlock()
	time.Sleep(e.delay(3 * time.Second))
	e.open()
	if row := e.row(); !row.Closed && row.Status != runs.RunPaused {
		e.load(nil)
	}
}

func (e *embedded) load(ev *journal.Event) {
	if err := e.driver.Load(runID, ev); err != nil {
		violated("load: %v", err)
	}
}

func (e *embedded) row() runs.Run {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	return e.store.rows[runID]
}

// resumes counts those that are durable.
func (e *embedded) resumes() int {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	n := 0
	for _, data := range e.store.records[runID] {
		if strings.Contains(string(data), `"kind":"resumed"`) {
			n++
		}
	}
	return n
}

func (e *embedded) start() {
	f := e.c.flow
	encodedPlan, err := e.c.workflow.Encode()
	if err != nil {
		violated("%v", err)
	}
	hash := plan.HashOf(encodedPlan)
	start := journal.Start{
		RunID: runID, Inputs: fmt.Appendf(nil, `{"n":%d}`, f.n), Trigger: "manual", ScheduledAt: begin(), Interpreter: interp.Version,
	}
	if f.state {
		start.State, start.StateVersions = stored(), map[string]uint64{"total": 4}
	}
	_, _, err = e.driver.Start(e.t.Context(), local.StartRequest{
		Row: runs.Run{
			ID: runID, Workflow: "simulated", Attempt: 1, Trigger: "manual", ScheduledAt: begin(), StartedAt: begin(), PlanHash: hash,
		},
		Workflow: e.c.workflow, PlanBytes: encodedPlan, Start: start,
	})
	if err != nil {
		violated("start: %v", err)
	}
}

// person goes on with a run that stopped; false when nobody does.
func (e *embedded) person() bool {
	row, f := e.row(), e.c.flow
	result, err := e.driver.Snapshot(e.t.Context(), runID)
	if err != nil {
		violated("snapshot: %v", err)
	}
	for path, step := range result.Steps {
		if step.Wait != "resolve" || row.Status != runs.RunPaused {
			continue
		}
		e.load(&journal.Event{Kind: journal.Resolved, Path: path, By: "person", Resolution: e.truth(path, step)})
		return true
	}
	e.mu.Lock()
	e.era = e.resumes()
	again := row.Status == runs.RunPaused && f.resumable && e.era < lastEra || row.Status == runs.RunFailed && e.world.wantsResume(e.era)
	if again {
		e.era++
	}
	e.mu.Unlock()
	if again {
		e.load(&journal.Event{Kind: journal.Resumed, By: "person"})
	}
	return again
}

func (e *embedded) truth(path string, step runs.Step) *journal.Resolution {
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.log[path]
	switch {
	case log != nil && log.here && e.world.happened(log.last):
		return &journal.Resolution{Outcome: "happened", Output: encoded(map[string]any{"value": e.world.good(log.last).value})}
	case strings.Contains(step.Error.Message, "the engine "):
		return &journal.Resolution{Outcome: "did_not"}
	}
	return &journal.Resolution{Outcome: "skip"}
}

// Call answers as the world says.
func (e *embedded) Call(ctx context.Context, request runs.Request, _ runs.Sink) runs.Answer {
	command := journal.Command{Path: request.Operation, Call: &journal.Call{Action: request.Action, Effect: e.c.workflow.Actions[request.Action].Effect}}
	r, sent := e.reach(ctx, command, request)
	if !sent {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindCanceled, Message: "canceled", Applied: runs.NotApplied}}
	}
	took := e.delay(2 * time.Second)
	if r.silent {
		took = 1000 * time.Hour
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
		kind := plan.KindCanceled
		if context.Cause(ctx) == context.DeadlineExceeded {
			kind = plan.KindTimeout
		}
		return runs.Answer{Failed: &runs.Error{Kind: kind, Message: "no answer", Applied: runs.AppliedUnknown}}
	}
	ev := answer(command, r)
	return runs.Answer{Completed: ev.Completed, Pending: ev.Pending, Failed: ev.Failed}
}

func (e *embedded) reach(ctx context.Context, command journal.Command, request runs.Request) (reply, bool) {
	e.mu.Lock()
	effect := string(command.Call.Effect)
	if e.log[command.Path] == nil {
		e.log[command.Path] = &sendings{effect: effect}
	}
	log := e.log[command.Path]
	log.here = false
	e.mu.Unlock()
	select {
	case <-time.After(e.delay(500 * time.Millisecond)):
	case <-ctx.Done():
		return reply{}, false
	}
	var input struct{ N int }
	if err := json.Unmarshal(request.Input, &input); err != nil {
		return reply{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	a := asked{
		path: command.Path, action: request.Action, attempt: request.Attempt, checkpoint: string(request.Checkpoint),
		cursor: request.PageCursor, n: input.N, era: e.era,
	}
	log.reached++
	log.last, log.here = a, true
	if command.Call.Effect.Writes() && e.world.happened(a) {
		log.applied++
	}
	return e.world.reply(a), true
}

// Reconcile tells the truth about a lost call.
func (e *embedded) Reconcile(_ context.Context, request runs.Request) (runs.Outcome, error) {
	time.Sleep(e.delay(time.Second))
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.log[request.Operation]
	if log != nil && log.here && e.world.happened(log.last) {
		return runs.Outcome{Applied: runs.AppliedFully, Output: encoded(map[string]any{"value": e.world.good(log.last).value})}, nil
	}
	return runs.Outcome{Applied: runs.NotApplied}, nil
}

// ending reads what the journal leads to.
func (e *embedded) ending() *ending {
	result, err := e.driver.Snapshot(e.t.Context(), runID)
	if err != nil {
		violated("snapshot: %v", err)
	}
	end := &ending{status: result.Run.Status, err: result.Error, outputs: result.Outputs, last: &journal.Finish{}, crashed: e.killed}
	for _, step := range result.Steps {
		end.steps = append(end.steps, step)
	}
	e.store.mu.Lock()
	records := slices.Clone(e.store.records[runID])
	e.store.mu.Unlock()
	for _, data := range records {
		record := decode(data)
		for i := range record.Commands {
			if finish := record.Commands[i].Finish; finish != nil {
				end.last = finish
			}
		}
		for _, path := range record.Event.Interrupted {
			if log := e.log[path]; log != nil {
				log.lost++
			}
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	end.log = e.log
	return end
}
