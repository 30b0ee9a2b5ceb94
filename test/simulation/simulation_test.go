package simulation

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/suitesize"
)

// outcome of one seed: "" = all promises were kept.
type verdict struct {
	text  string
	trace string
}

// suite is how the seeds are run.
type suite struct {
	faults faults
	rules  rules
}

// run simulates one seed: a calm one under several schedules and crash patterns
// that must all come to what the model says, another one under one wild
// schedule.
func (x suite) run(ctx context.Context, seed uint64, verbose bool) (v verdict) {
	var s *sim
	text := ""
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		broken, ok := r.(violation)
		if !ok {
			broken.text = fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
		}
		v.text = broken.text
		if verbose && s != nil {
			v.trace = text + s.trace.String()
		}
	}()
	f := generate(seed, seed%2 == 0)
	text = f.yaml()
	c, err := compile(ctx, f)
	if err != nil {
		violated("%v", err)
	}
	w := &world{seed: seed, flow: f}
	if !f.calm {
		s = newSim(c, w, 0, verbose)
		s.faults = x.faults
		s.crashes, s.jumps = s.r.IntN(4), s.r.IntN(3)
		if s.r.one(10) {
			s.crashes = 12 // a call that kills the engine
		}
		s.people.wild()
		s.run()
		return v
	}
	m := predict(f, w, x.rules)
	for schedule := range uint64(3) {
		s = newSim(c, w, schedule, verbose)
		s.faults = x.faults
		s.note("schedule %d", schedule)
		if schedule > 0 {
			if f.crashSafe {
				s.crashes = 1 + s.r.IntN(4)
			}
			if !f.waits {
				s.jumps = s.r.IntN(3)
			}
		}
		s.run()
		s.ending().compare(m)
	}
	return v
}

// number of seeds, and the one seed to run alone.
func seeds(t testing.TB, fallback int) (count int, only uint64) {
	t.Helper()
	if text := os.Getenv("FLOWRUN_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FLOWRUN_SEED: %v", err)
		}
		return 0, seed
	}
	return suitesize.Of(t, "FLOWRUN_SIM_SEEDS", fallback), 0
}

// first is the first seed: FLOWRUN_SIM_FROM moves it, so that a nightly run can
// go where no one has been.
func first(t testing.TB) uint64 {
	t.Helper()
	if os.Getenv("FLOWRUN_SIM_FROM") == "" {
		return 1
	}
	return uint64(suitesize.Of(t, "FLOWRUN_SIM_FROM", 1))
}

func TestP8SimulatedRunsHaveOneOutcomeWhateverTheScheduleAndTheCrashes(t *testing.T) {
	n, only := seeds(t, 500)
	if n == 0 {
		v := suite{}.run(t.Context(), only, true)
		if v.text != "" {
			t.Fatalf("seed %d: %s\n%s", only, v.text, v.trace)
		}
		return
	}
	from, began := first(t), time.Now()
	ctx := t.Context()
	if limit, there := t.Deadline(); there { // what was seen by then is told
		var stop context.CancelFunc
		ctx, stop = context.WithDeadline(ctx, limit.Add(-10*time.Second))
		defer stop()
	}
	failed := suite{}.search(ctx, from, n, 20)
	if ctx.Err() != nil {
		t.Errorf("the time was too short for %d seeds: give more with -timeout", n)
	}
	for _, seed := range failed {
		v := suite{}.run(t.Context(), seed, true)
		t.Errorf("seed %d: %s\nFLOWRUN_SEED=%d replays it with its trace", seed, v.text, seed)
	}
	took := time.Since(began)
	t.Logf("%d seeds from %d in %s: %.0f a second", n, from, took.Round(time.Millisecond), float64(n)/took.Seconds())
}

// search runs seeds on two threads and returns those that break a promise, at
// most some.
func (x suite) search(ctx context.Context, from uint64, n, most int) []uint64 {
	var next atomic.Uint64
	var mu sync.Mutex
	var failed []uint64
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for {
				i := next.Add(1) - 1
				mu.Lock()
				enough := len(failed) >= most
				mu.Unlock()
				if i >= uint64(n) || enough || ctx.Err() != nil {
					return
				}
				if v := x.run(ctx, from+i, false); v.text != "" {
					mu.Lock()
					failed = append(failed, from+i)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return failed
}

// oneLine is the first line of a text.
func oneLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
