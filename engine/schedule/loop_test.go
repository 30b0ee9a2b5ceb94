package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// world is a store, a starter of runs and a clock that can be set.
type world struct {
	mu     sync.Mutex
	rows   map[string]runs.Fire // by id and slot
	states map[string]runs.TriggerState
	active map[string]bool
	items  []Item
	offset time.Duration // of the wall clock
	fail   int           // so many starts fail
	refuse *SkippedError
	starts int
	edits  int // transactions of PutFires
	runs   func(run string)

	changed chan struct{}
	loop    *Loop
	stop    func()
}

func newWorld(items ...Item) *world {
	return &world{
		rows: map[string]runs.Fire{}, states: map[string]runs.TriggerState{}, active: map[string]bool{}, items: items, changed: make(chan struct{}, 1),
	}
}

func item(name string, s plan.Schedule) Item {
	if s.Timezone == "" {
		s.Timezone = "UTC"
	}
	if s.Catchup == (plan.Catchup{}) {
		s.Catchup = catchup(time.Hour, "latest")
	}
	kind := plan.TriggerEvery
	if s.Cron != "" {
		kind = plan.TriggerCron
	}
	return Item{Workflow: "w", Trigger: name, Kind: kind, Schedule: &s}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

func (w *world) jump(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += d
}

// begin starts a loop on what the world keeps, as a process would; end stops it.
func (w *world) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	w.loop = NewLoop(Options{
		Store: w, Runs: w, Changed: w.changed, Epoch: 1, Now: w.now, After: time.After, Log: slog.New(slog.DiscardHandler),
		Items: func(context.Context) ([]Item, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.Clone(w.items), nil
		},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.loop.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-done
	}
	synctest.Wait()
}

func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) TriggerState(workflow, trigger string) (*runs.TriggerState, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if state, ok := w.states[runs.TriggerID(workflow, trigger)]; ok {
		return &state, nil
	}
	return nil, nil
}

func (w *world) PutFires(fires []runs.Fire, workflow, trigger string, edit func(*runs.TriggerState)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edits++
	for _, fire := range fires {
		w.put(fire)
	}
	id := runs.TriggerID(workflow, trigger)
	state := w.states[id]
	edit(&state)
	w.states[id] = state
	return nil
}

func (w *world) put(fire runs.Fire) bool {
	key := runs.TriggerID(fire.Workflow, fire.Trigger) + fire.Slot.Format(time.RFC3339Nano)
	if _, there := w.rows[key]; there {
		return false
	}
	w.rows[key] = fire
	return true
}

func (w *world) NewestFire(_, trigger string) (newest *runs.Fire, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range w.rows {
		if row.Trigger == trigger && (newest == nil || row.Slot.After(newest.Slot)) {
			newest = &row
		}
	}
	return newest, nil
}

func (w *world) Start(_ context.Context, item Item, fire runs.Fire) (string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.fail > 0:
		w.fail--
		return "", false, errors.New("the engine can't")
	case w.refuse != nil:
		return "", false, w.refuse
	}
	w.starts++
	fire.Run = fmt.Sprintf("run%d", w.starts)
	if !w.put(fire) {
		return "before", false, nil
	}
	id := runs.TriggerID(item.Workflow, item.Trigger)
	state := w.states[id]
	state.LastRun, state.Epoch = fire.Run, 1
	if fire.Slot.After(state.Done) {
		state.Done = fire.Slot
	}
	w.states[id] = state
	if w.runs != nil {
		w.runs(fire.Run)
	}
	return fire.Run, true, nil
}

func (w *world) Active(run string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active[run], nil
}

// story tells the rows of a trigger in the order of their slots.
func (w *world) story(trigger string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rows []runs.Fire
	for _, row := range w.rows {
		if row.Trigger == trigger {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b runs.Fire) int { return a.Slot.Compare(b.Slot) })
	lines := []string{}
	for _, row := range rows {
		line := row.Slot.Format("15:04:05 ") + row.Skipped
		if row.Run != "" {
			line += "run"
		}
		if row.Slots > 1 {
			line += fmt.Sprintf(" ×%d", row.Slots)
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) holds(t *testing.T, trigger string, want ...string) {
	t.Helper()
	if want == nil {
		want = []string{}
	}
	if diff := cmp.Diff(want, w.story(trigger)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The clock of a bubble begins at 2000-01-01T00:00:00Z.

func TestP10LoopFiresAtEachSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: time.Minute}), item("h", plan.Schedule{Cron: "30 * * * *"}))
		w.begin()
		w.pass(2*time.Minute + time.Second)
		w.holds(t, "m", "00:01:00 run", "00:02:00 run")
		w.holds(t, "h")
		w.pass(30 * time.Minute)
		w.holds(t, "h", "00:30:00 run")
		if got := len(w.story("m")); got != 32 || w.edits != 2 {
			t.Errorf("%d fires, %d transactions besides those of the runs, want 32 and the 2 of the first look", got, w.edits)
		}
		w.stop()
	})
}

func TestP10LoopJitterDelaysTheRunNotTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Cron: "0 1 * * *", Jitter: 10 * time.Minute}))
		w.begin()
		due := read(t, plan.Schedule{Cron: "0 1 * * *", Jitter: 10 * time.Minute})
		due.id = "w/m"
		delay := due.Due(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)).Sub(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC))
		w.pass(time.Hour + delay - time.Millisecond)
		w.holds(t, "m")
		w.pass(2 * time.Millisecond)
		w.holds(t, "m", "01:00:00 run")
		w.stop()
	})
}

func TestP10LoopCatchesUpAfterAnAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			item("latest", plan.Schedule{Every: 10 * time.Minute}),
			item("none", plan.Schedule{Every: 10 * time.Minute, Catchup: catchup(time.Hour, "none")}),
			item("all", plan.Schedule{Every: 10 * time.Minute, Catchup: catchup(30*time.Minute, "all")}),
		)
		w.begin()
		w.pass(time.Second)
		w.stop()
		w.pass(2*time.Hour - time.Second + time.Minute)
		w.begin()
		w.pass(time.Second)
		w.holds(t, "latest", "00:10:00 late ×6", "01:10:00 catchup ×5", "02:00:00 run")
		w.holds(t, "none", "00:10:00 late ×6", "01:10:00 catchup ×6")
		w.holds(t, "all", "00:10:00 late ×9", "01:40:00 run", "01:50:00 run", "02:00:00 run")
		w.pass(9 * time.Minute)
		w.holds(t, "none", "00:10:00 late ×6", "01:10:00 catchup ×6", "02:10:00 run")
		w.stop()
	})
}

func TestP10LoopSkipsWhileTheLastRunIsActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exclusive := item("m", plan.Schedule{Every: time.Minute})
		exclusive.Exclusive = true
		w := newWorld(exclusive, item("free", plan.Schedule{Every: time.Minute}))
		w.runs = func(run string) { w.active[run] = true }
		w.begin()
		w.pass(3*time.Minute + time.Second)
		w.holds(t, "m", "00:01:00 run", "00:02:00 overlap", "00:03:00 overlap")
		w.holds(t, "free", "00:01:00 run", "00:02:00 run", "00:03:00 run")
		w.mu.Lock()
		clear(w.active)
		w.mu.Unlock()
		w.pass(time.Minute)
		w.holds(t, "m", "00:01:00 run", "00:02:00 overlap", "00:03:00 overlap", "00:04:00 run")
		w.stop()
	})
}

// A catch-up of several waits for one run after the other, and skips none.
func TestP10LoopCatchUpWaitsForTheLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		exclusive := item("m", plan.Schedule{Every: 10 * time.Minute, Catchup: catchup(time.Hour, "all")})
		exclusive.Exclusive = true
		w := newWorld(exclusive)
		most := 0
		w.runs = func(run string) {
			w.active[run] = true
			most = max(most, len(w.active))
			go func() {
				time.Sleep(20 * time.Second)
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.active, run)
			}()
		}
		w.begin()
		w.pass(time.Second)
		w.stop()
		w.pass(31 * time.Minute)
		w.begin()
		w.pass(2 * time.Minute)
		w.holds(t, "m", "00:10:00 run", "00:20:00 run", "00:30:00 run")
		if most != 1 {
			t.Errorf("%d runs at a time", most)
		}
		w.stop()
		time.Sleep(time.Minute)
	})
}

func TestP10LoopClockJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: 10 * time.Minute}))
		w.begin()
		w.pass(10*time.Minute + time.Second)
		w.holds(t, "m", "00:10:00 run")
		w.jump(-time.Hour)
		w.pass(59 * time.Minute)
		w.holds(t, "m", "00:10:00 run") // the slots from 23:10 on were decided, or lie before the first look
		w.pass(11 * time.Minute)
		w.holds(t, "m", "00:10:00 run", "00:20:00 run")
		w.jump(400 * 24 * time.Hour)
		w.pass(Recheck)
		if got := w.story("m"); len(got) != 5 || !strings.Contains(got[2], "late ×10000") || !strings.Contains(got[3], "catchup ×5") || !strings.Contains(got[4], "run") {
			t.Errorf("%q", got)
		}
		w.stop()
	})
}

// A clock that was ahead when a trigger was seen first holds it up no longer than
// until the clock is right.
func TestP10LoopClockThatWasAheadAtTheFirstLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: 10 * time.Minute}))
		w.jump(365 * 24 * time.Hour)
		w.begin()
		w.pass(time.Second)
		w.jump(-365 * 24 * time.Hour)
		w.pass(10 * time.Minute)
		w.holds(t, "m", "00:10:00 run")
		w.stop()
	})
}

// A row that stands for many slots hides them all when the clock is set back into
// it.
func TestP10LoopClockSetBackIntoSkippedSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: 10 * time.Minute, Catchup: catchup(time.Hour, "none")}))
		w.begin()
		w.pass(time.Second)
		w.stop()
		w.pass(50 * time.Minute)
		w.begin()
		w.holds(t, "m", "00:10:00 catchup ×5")
		w.jump(-30 * time.Minute)
		w.pass(40 * time.Minute)
		w.holds(t, "m", "00:10:00 catchup ×5", "01:00:00 run")
		w.stop()
	})
}

func TestP10LoopErrorsOfTheEngineAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: 10 * time.Minute}))
		w.fail = 3
		w.begin()
		w.pass(10*time.Minute + 2*again + time.Second)
		w.holds(t, "m")
		w.pass(again)
		w.holds(t, "m", "00:10:00 run")
		w.mu.Lock()
		w.refuse = &SkippedError{Reason: runs.SkipInvalid, Note: "no such input"}
		w.mu.Unlock()
		w.pass(10 * time.Minute)
		w.holds(t, "m", "00:10:00 run", "00:20:00 invalid")
		w.stop()
	})
}

func TestP10LoopFollowsTheWorkflows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: 10 * time.Minute, Catchup: catchup(24*time.Hour, "all")}))
		w.begin()
		w.pass(10*time.Minute + time.Second)
		set := func(items ...Item) {
			w.mu.Lock()
			w.items = items
			w.mu.Unlock()
			w.changed <- struct{}{}
			synctest.Wait()
		}
		set()
		w.pass(40 * time.Minute)
		w.holds(t, "m", "00:10:00 run")
		set(item("m", plan.Schedule{Every: 10 * time.Minute, Catchup: catchup(24*time.Hour, "all")})) // nothing is caught up
		w.pass(10 * time.Minute)
		w.holds(t, "m", "00:10:00 run", "01:00:00 run")
		set(item("m", plan.Schedule{Every: 7 * time.Minute}))
		w.pass(7 * time.Minute)
		if got := w.story("m"); len(got) != 3 {
			t.Errorf("%q", got)
		}
		w.stop()
	})
}

// What is done by hand waits for a decision that goes on, and is seen at once.
func TestLoopSeesWhatIsDoneByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(item("m", plan.Schedule{Every: time.Minute}))
		w.begin()
		w.pass(time.Minute + time.Second)
		err := w.loop.Exclusively(func() error {
			return w.PutFires(nil, "w", "m", func(s *runs.TriggerState) { s.Paused = true })
		})
		if err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.holds(t, "m", "00:01:00 run", "00:02:00 paused")
		w.stop()
	})
}

// TestP10LoopUnderRestartsAndJumps stops and starts the loop, and sets the clock,
// at random: each slot has one row at most, runs are of real slots, and none is
// decided before its time.
func TestP10LoopUnderRestartsAndJumps(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			next := func(n uint64) uint64 { seed = seed*6364136223846793005 + 1442695040888963407; return (seed >> 33) % n }
			items := []Item{
				item("a", plan.Schedule{Every: time.Minute}),
				item("b", plan.Schedule{Cron: "*/5 * * * *", Timezone: "Europe/Berlin", Jitter: time.Minute}),
				item("c", plan.Schedule{Cron: "0,30 * * * *", Catchup: catchup(3*time.Hour, "all")}),
			}
			items[2].Exclusive = true
			w := newWorld(items...)
			newest := time.Time{}
			w.begin()
			for range 40 {
				w.pass(time.Duration(next(600)) * time.Second)
				if now := w.now(); now.After(newest) {
					newest = now
				}
				switch next(6) {
				case 0:
					w.stop()
					w.pass(time.Duration(next(7200)) * time.Second)
					w.begin()
				case 1:
					w.jump(time.Duration(int64(next(7200))-3600) * time.Second)
				}
			}
			w.stop()
			if now := w.now(); now.After(newest) {
				newest = now
			}
			for _, it := range items {
				trigger, err := Read(runs.TriggerID("w", it.Trigger), it.Schedule)
				if err != nil {
					t.Fatal(err)
				}
				w.eachOnce(t, trigger, it.Trigger, newest)
			}
			if w.starts < 20 {
				t.Errorf("only %d runs", w.starts)
			}
		})
	}
}

// eachOnce walks over the rows of a trigger: no slot is left out, none is there
// twice, and none was decided before its time.
func (w *world) eachOnce(t *testing.T, trigger *Trigger, name string, newest time.Time) {
	t.Helper()
	var rows []runs.Fire
	for _, row := range w.rows {
		if row.Trigger == name {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b runs.Fire) int { return a.Slot.Compare(b.Slot) })
	last := time.Time{}
	for i, row := range rows {
		before := last
		if i == 0 {
			before = row.Slot.Add(-1)
		}
		if slot, ok := trigger.Next(before); !ok || !slot.Equal(row.Slot) {
			t.Errorf("%s: %v follows %v", name, row.Slot, before)
		}
		if last = trigger.lastSlot(row); last.After(newest) {
			t.Errorf("%s: %v was decided before %v", name, last, newest)
		}
	}
	if len(rows) == 0 {
		t.Errorf("%s has no rows", name)
	}
}

// A machine that sleeps stops the monotonic clock: were the loop to reckon by it,
// the slots of the night would pass for slots that it was there for.
func TestLoopReckonsByTheClockOnTheWall(t *testing.T) {
	l := NewLoop(Options{Now: time.Now})
	if text := l.now().String(); strings.Contains(text, "m=") {
		t.Errorf("%s has a monotonic reading", text)
	}
	if !strings.Contains(time.Now().String(), "m=") {
		t.Error("control: the clock has none")
	}
}
