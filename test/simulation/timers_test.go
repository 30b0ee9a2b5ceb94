package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// timersYAML has two durable timers an item: a sleep, and the delay of a retry.
const timersYAML = `flowrun: v1
name: timers
timeout: 87600h
inputs:
  n: {type: integer}
steps:
  - id: each
    foreach: ${{ 1..inputs.n }}
    as: i
    max_parallel: 250
    steps:
      - id: rest
        uses: core.sleep
        with: {for: '${{ duration(string(1 + i * 7919 % 600) + "s") }}'}
      - id: ask
        uses: svc.read
        with: {n: '${{ i }}'}
        retry: {attempts: 2, delay: 40s, jitter: 0.5, max_delay: 90s}
`

const (
	itemsOfRun = 250
	runsAtOnce = 20
)

// wallClock is a clock that jumps: what the engine's Now gives. The monotonic
// clock below it is the bubble's. A suspended machine is a jump forward, since
// its monotonic clock stands still meanwhile.
type wallClock struct {
	began  time.Time
	jumped atomic.Int64
}

func (c *wallClock) now() time.Time {
	return begin().Add(time.Since(c.began) + time.Duration(c.jumped.Load()))
}

func TestP9DurableTimersFireOnceAtOrAfterTheirTime(t *testing.T) {
	total := suitesize.Of(t, "FLOWRUN_SIM_TIMERS", 2*itemsOfRun*4)
	runs := (total + 2*itemsOfRun - 1) / (2 * itemsOfRun)
	seed := uint64(1)
	if _, only := seeds(t, 1); only > 0 {
		seed = only
	}
	fired := 0
	for ; runs > 0; runs -= runsAtOnce {
		synctest.Test(t, func(t *testing.T) {
			bubble := newTimers(t, seed)
			bubble.run(min(runs, runsAtOnce))
			n, problems := bubble.judge()
			for i, problem := range problems {
				if i < 10 {
					t.Errorf("seed %d: %s; FLOWRUN_SEED=%d begins with it", seed, problem, seed)
				}
			}
			fired += n
		})
		seed++
	}
	if fired < total {
		t.Errorf("%d timers fired, want %d", fired, total)
	}
	t.Logf("%d timers fired, each once, at or after their time", fired)
}

// timers drives runs full of timers while the clock jumps and the engine is
// killed.
type timers struct {
	t     *testing.T
	r     *rng
	clock wallClock
	store *store

	driver  *local.Driver
	kills   int
	jumps   map[time.Duration]int // by hours
	program *plan.Workflow
	hash    string
}

func newTimers(t *testing.T, seed uint64) *timers {
	workflow, err := checker().check(t.Context(), "timers.yaml", timersYAML)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := workflow.Hash()
	if err != nil {
		t.Fatal(err)
	}
	b := &timers{t: t, r: newRNG(seed, "timers"), jumps: map[time.Duration]int{}, program: workflow, hash: hash}
	b.clock.began = time.Now()
	b.store = newStore(func() time.Duration { return 3 * time.Millisecond })
	b.open()
	return b
}

func (b *timers) open() {
	b.driver = local.New(local.Options{
		Journal: b.store.open(), Caller: b, Limiter: noLimit{}, Now: b.clock.now, Log: slog.New(slog.DiscardHandler),
	})
}

// Call fails the first time that an item asks.
func (b *timers) Call(_ context.Context, request runs.Request, _ runs.Sink) runs.Answer {
	if request.Attempt == 1 {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: "not now"}}
	}
	return runs.Answer{Completed: &runs.Completed{Output: []byte(`{"value":1}`)}}
}

func (b *timers) run(rows int) {
	encoded, err := b.program.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range rows {
		id := fmt.Sprintf("01jzt1mer00000000000000%03d", i)
		_, _, err := b.driver.Start(b.t.Context(), local.StartRequest{
			Row:      runs.Run{ID: id, Workflow: "timers", Attempt: 1, Trigger: "manual", ScheduledAt: begin(), StartedAt: begin(), PlanHash: b.hash},
			Workflow: b.program, PlanBytes: encoded,
			Start: journal.Start{
				RunID: id, Inputs: fmt.Appendf(nil, `{"n":%d}`, itemsOfRun), Trigger: "manual", ScheduledAt: begin(), Interpreter: interp.Version,
			},
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	for b.misfortune(); b.unended() > 0; b.misfortune() {
		if time.Since(b.clock.began) > 24*time.Hour {
			b.t.Fatalf("after a day %d runs have not ended: timers were lost", b.unended())
		}
	}
	b.kill(false)
	time.Sleep(time.Second) // for the committer to end
}

// unended is how many runs have not ended.
func (b *timers) unended() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	n := 0
	for _, row := range b.store.rows {
		if !row.Closed {
			n++
		}
	}
	return n
}

// misfortune waits a little, then moves the clock or kills the engine. A clock that
// goes back is set right after a while; in between, and at once after it, the
// engine may be killed too.
func (b *timers) misfortune() {
	time.Sleep(time.Duration(1+b.r.IntN(40)) * time.Second)
	var by time.Duration
	switch b.r.IntN(12) {
	case 0, 1, 2, 3:
		b.kill(true)
	case 4, 5: // suspended
		by = time.Duration(b.r.IntN(90)) * time.Second
	case 6:
		by = time.Hour
	case 7:
		by = 400 * 24 * time.Hour
	case 8, 9:
		by = -time.Hour
	case 10, 11:
		by = -400 * 24 * time.Hour
	}
	b.clock.jumped.Add(int64(by))
	b.jumps[by/time.Hour]++
	if by >= 0 {
		return
	}
	time.Sleep(time.Duration(1+b.r.IntN(200)) * time.Second)
	if b.r.one(2) {
		b.kill(true)
	}
	b.clock.jumped.Add(-int64(by))
}

// kill ends the engine without a word, and starts it again.
func (b *timers) kill(again bool) {
	b.store.die()
	if err := b.driver.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	if !again {
		return
	}
	b.kills++
	time.Sleep(time.Duration(b.r.IntN(90)) * time.Second)
	b.open()
	for id, row := range b.rows() {
		if row.Closed {
			continue
		}
		if err := b.driver.Load(id, nil); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *timers) rows() map[string]runs.Run {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	rows := make(map[string]runs.Run, len(b.store.rows))
	for id, row := range b.store.rows {
		rows[id] = row
	}
	return rows
}

// judge reads the journals: each timer fired once, at or after its time, or was
// canceled.
func (b *timers) judge() (fired int, problems []string) {
	for id, records := range b.store.records {
		judged := newTimerJudge(id)
		for _, data := range records {
			judged.take(decode(data))
		}
		judged.end()
		fired += judged.fired
		problems = append(problems, judged.problems...)
	}
	b.t.Logf("%d timers, %d kills, jumps by +1 h %d, -1 h %d, +400 days %d, -400 days %d, %s of virtual time", fired, b.kills,
		b.jumps[1], b.jumps[-1], b.jumps[400*24], b.jumps[-400*24], time.Since(b.clock.began).Round(time.Second))
	return fired, problems
}

// timerJudge follows the timers of one journal.
type timerJudge struct {
	id       string
	open     map[string]time.Time
	fired    int
	problems []string
}

func newTimerJudge(id string) *timerJudge { return &timerJudge{id: id, open: map[string]time.Time{}} }

func (j *timerJudge) problem(format string, args ...any) {
	j.problems = append(j.problems, "run "+j.id+": "+fmt.Sprintf(format, args...))
}

func (j *timerJudge) take(record *journal.Record) {
	if ev := record.Event; ev.Kind == journal.TimerFired {
		due, open := j.open[ev.Path]
		switch {
		case !open:
			j.problem("timer %s fired, and it was not set, or it had fired", ev.Path)
		case ev.At.Before(due):
			j.problem("timer %s fired at %s, %s before its time", ev.Path, ev.At, due.Sub(ev.At))
		}
		j.fired++
		delete(j.open, ev.Path)
	}
	for _, command := range record.Commands {
		switch command.Kind {
		case journal.CommandTimer:
			if _, open := j.open[command.Path]; open {
				j.problem("timer %s was set twice", command.Path)
			}
			j.open[command.Path] = command.Timer.At
		case journal.CommandCancel:
			delete(j.open, command.Path)
		}
	}
}

func (j *timerJudge) end() {
	for path := range j.open {
		j.problem("timer %s was lost", path)
	}
}

// A timer that fires twice, early or never must be seen.
func TestControlTheTimersAreJudged(t *testing.T) {
	at := begin()
	set := &journal.Record{Seq: 1, Event: journal.Event{Kind: journal.Started, At: at}, Commands: []journal.Command{
		{Kind: journal.CommandTimer, Path: "a!sleep", Timer: &journal.Timer{At: at.Add(time.Minute), Reason: "sleep"}},
	}}
	fire := func(after time.Duration) *journal.Record {
		return &journal.Record{Seq: 2, Event: journal.Event{Kind: journal.TimerFired, Path: "a!sleep", At: at.Add(after)}}
	}
	for name, c := range map[string]struct {
		records []*journal.Record
		bad     bool
	}{
		"once":  {[]*journal.Record{set, fire(time.Minute)}, false},
		"twice": {[]*journal.Record{set, fire(time.Minute), fire(time.Minute)}, true},
		"early": {[]*journal.Record{set, fire(59 * time.Second)}, true},
		"never": {[]*journal.Record{set}, true},
	} {
		judged := newTimerJudge("x")
		for _, record := range c.records {
			judged.take(record)
		}
		judged.end()
		if bad := len(judged.problems) > 0; bad != c.bad {
			t.Errorf("a timer that fires %s: problems %v", name, judged.problems)
		}
	}
}
