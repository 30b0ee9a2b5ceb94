package ratelimit_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Whatever the latencies and the moments at which calls come, and wherever
// between its grant and its answer a request reaches the service: the service
// never counts more than N of them in any window, of any alignment.
func TestNoWindowHoldsMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(rt, "limit")
		window := time.Duration(rapid.IntRange(1, 60).Draw(rt, "window")) * time.Second
		calls := rapid.IntRange(limit, 60).Draw(rt, "calls")
		concurrent := rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(rt, "concurrent")
		source := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		var arrivals []time.Time
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter()
			spec := fixed(limit, window)
			spec.MaxConcurrent = concurrent
			var mu sync.Mutex
			var done sync.WaitGroup
			for range calls {
				comes := time.Duration(source.Int64N(int64(3 * window)))
				there := time.Duration(source.Int64N(int64(window) * 2))
				back := time.Duration(source.Int64N(int64(window)))
				done.Go(func() {
					time.Sleep(comes)
					release, err := l.Acquire(t.Context(), "k", spec, nil)
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(there)
					mu.Lock()
					arrivals = append(arrivals, time.Now())
					mu.Unlock()
					time.Sleep(back)
					release(time.Now())
				})
			}
			done.Wait()
		})
		slices.SortFunc(arrivals, time.Time.Compare)
		if len(arrivals) != calls {
			rt.Fatalf("%d of %d calls came through", len(arrivals), calls)
		}
		for i := limit; i < len(arrivals); i++ {
			if apart := arrivals[i].Sub(arrivals[i-limit]); apart < window {
				rt.Fatalf("%d arrivals within %s, the window is %s", limit+1, apart, window)
			}
		}
	})
}
