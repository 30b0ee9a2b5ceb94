package ratelimit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/ratelimit"
)

// acquire takes a permit and answers it after latency; it returns the time of
// the grant.
func acquire(t *testing.T, l *ratelimit.Limiter, spec ratelimit.Spec, latency time.Duration) time.Time {
	t.Helper()
	release, err := l.Acquire(t.Context(), "k", spec, nil)
	if err != nil {
		t.Error(err)
		return time.Time{}
	}
	granted := time.Now()
	time.Sleep(latency)
	release(time.Time{})
	return granted
}

func TestSixtyAMinuteTakesAMinuteAndMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		var done sync.WaitGroup
		for range 80 {
			done.Go(func() { acquire(t, l, fixed(60, time.Minute), 200*time.Millisecond) })
		}
		done.Wait()
		// The first 60 at once, the others a window after those were answered.
		if took := time.Since(start); took != time.Minute+400*time.Millisecond {
			t.Errorf("80 calls at 60/1m took %s", took)
		}
	})
}

func TestSpreadRequestsAreEvenlySpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		spec := ratelimit.Spec{Requests: 10, Window: time.Second}
		var mu sync.Mutex
		var grants []time.Duration
		var done sync.WaitGroup
		for range 5 {
			done.Go(func() {
				at := acquire(t, l, spec, time.Minute)
				mu.Lock()
				defer mu.Unlock()
				grants = append(grants, at.Sub(start))
			})
		}
		done.Wait()
		slices.Sort(grants)
		want := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond}
		if diff := cmp.Diff(want, grants); diff != "" {
			t.Errorf("grants (-want +got):\n%s", diff)
		}
	})
}

func TestMaxConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		spec := ratelimit.Spec{MaxConcurrent: 3}
		var mu sync.Mutex
		open, most := 0, 0
		var done sync.WaitGroup
		for range 10 {
			done.Go(func() {
				release, err := l.Acquire(t.Context(), "k", spec, nil)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				open++
				most = max(most, open)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				open--
				mu.Unlock()
				release(time.Now())
				release(time.Now()) // counts once
			})
		}
		done.Wait()
		if took := time.Since(start); most != 3 || took != 4*time.Second {
			t.Errorf("at most %d at a time, %s", most, took)
		}
	})
}

func TestTheQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		var mu sync.Mutex
		var order []int
		var done sync.WaitGroup
		for i := range 50 {
			done.Go(func() {
				acquire(t, l, fixed(7, time.Second), 10*time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			})
			synctest.Wait() // the next one comes later
			time.Sleep(time.Millisecond)
		}
		done.Wait()
		if !slices.IsSorted(order) {
			t.Errorf("order = %v", order)
		}
	})
}

func TestOtherKeysDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		spec := fixed(1, time.Hour)
		for _, key := range []string{"a", "b", "c"} {
			if _, err := l.Acquire(t.Context(), key, spec, nil); err != nil {
				t.Error(err)
			}
		}
		for range 1000 {
			acquire(t, l, ratelimit.Spec{}, 0) // no limit
		}
		if time.Since(start) != 0 {
			t.Errorf("waited %s", time.Since(start))
		}
	})
}

func TestClosingHoldsEverybody(t *testing.T) {
	for name, spec := range map[string]ratelimit.Spec{
		"fixed":      fixed(100, time.Minute),
		"spread":     {Requests: 1000, Window: time.Second},
		"no limit":   {},
		"concurrent": {MaxConcurrent: 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, start := newLimiter(), time.Now()
				var changed []string
				l.OnChange(func(key string) { changed = append(changed, key) })
				l.CloseUntil("k", start.Add(30*time.Second))
				l.CloseUntil("k", start.Add(10*time.Second)) // never shortens
				var done sync.WaitGroup
				for range 5 {
					done.Go(func() {
						if at := acquire(t, l, spec, 0); at.Sub(start) < 30*time.Second {
							t.Errorf("granted after %s", at.Sub(start))
						}
					})
				}
				done.Wait()
				if took := time.Since(start); took > 31*time.Second {
					t.Errorf("took %s", took)
				}
				if diff := cmp.Diff([]string{"k"}, changed); diff != "" {
					t.Errorf("changes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAWaiterHearsWhenItsTurnComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		spec := fixed(2, time.Minute)
		acquire(t, l, spec, 0)
		acquire(t, l, spec, 0)
		var heard [6][]time.Duration
		var done sync.WaitGroup
		for i := range heard {
			done.Go(func() {
				release, err := l.Acquire(t.Context(), "k", spec, func(until time.Time) {
					heard[i] = append(heard[i], until.Sub(start))
				})
				if err != nil {
					t.Error(err)
					return
				}
				if last := heard[i][len(heard[i])-1]; last != time.Since(start) {
					t.Errorf("waiter %d was told %s, granted after %s", i, last, time.Since(start))
				}
				release(time.Time{})
			})
			synctest.Wait()
		}
		time.Sleep(10 * time.Second)
		l.CloseUntil("k", start.Add(90*time.Second))
		done.Wait()
		for i, want := range [][]time.Duration{
			{60 * time.Second, 90 * time.Second}, {60 * time.Second, 90 * time.Second},
			{120 * time.Second, 150 * time.Second}, {120 * time.Second, 150 * time.Second},
			{180 * time.Second, 210 * time.Second}, {180 * time.Second, 210 * time.Second},
		} {
			if diff := cmp.Diff(want, heard[i]); diff != "" {
				t.Errorf("waiter %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestACanceledWaiterGivesItsPlaceUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		spec := fixed(1, time.Minute)
		acquire(t, l, spec, 0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var done sync.WaitGroup
		done.Go(func() {
			if _, err := l.Acquire(ctx, "k", spec, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("err = %v", err)
			}
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("canceled after %s", took)
			}
		})
		synctest.Wait()
		done.Go(func() { acquire(t, l, spec, 0) })
		done.Wait()
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the next one waited %s", took)
		}
		cancel()
		if _, err := l.Acquire(ctx, "other", spec, nil); err == nil {
			t.Error("an ended context got a permit")
		}
	})
}

func TestRowsSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		spec := fixed(2, time.Minute)
		acquire(t, l, spec, time.Second) // answered after 1 s
		if _, err := l.Acquire(t.Context(), "k", spec, nil); err != nil {
			t.Fatal(err) // in flight when the engine dies
		}
		l.CloseUntil("other", start.Add(time.Hour))
		rows := l.Snapshot()
		if diff := cmp.Diff(rows["k"], l.Row("k")); diff != "" || l.Row("no such") != nil {
			t.Errorf("row: %s", diff)
		}
		rows["damaged"] = []byte("{")

		time.Sleep(9 * time.Second)
		restarted := newLimiter()
		if err := restarted.Restore(rows); err == nil {
			t.Error("a damaged row was taken")
		}
		first := acquire(t, restarted, spec, 0)
		if first.Sub(start) != 61*time.Second {
			t.Errorf("first grant after %s", first.Sub(start))
		}
		second := acquire(t, restarted, spec, 0)
		if second.Sub(start) != 70*time.Second {
			t.Errorf("second grant after %s, the call in flight counts from the restart", second.Sub(start))
		}
		if _, err := restarted.Acquire(t.Context(), "other", ratelimit.Spec{}, nil); err != nil || time.Since(start) != time.Hour {
			t.Errorf("the closed bucket opened after %s, %v", time.Since(start), err)
		}
	})
}

func TestManyWaitersAreCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := newLimiter(), time.Now()
		var done sync.WaitGroup
		for range 2000 {
			done.Go(func() { acquire(t, l, fixed(60, time.Minute), 50*time.Millisecond) })
		}
		done.Wait()
		if took := time.Since(start); took > 34*time.Minute {
			t.Errorf("2000 calls took %s", took)
		}
	})
}
