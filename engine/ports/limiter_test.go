package ports

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/ratelimit"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// TestTheFirstUseOfALimitIsStoredAtOnce: a process that is killed within its
// first second must not forget what the service has counted.
func TestTheFirstUseOfALimitIsStoredAtOnce(t *testing.T) {
	rows := memstore.New(memstore.Options{}).KV()
	around := Surroundings{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	first, err := NewLimiter(declaredLimits{}, ratelimit.New(time.Now, time.After), rows, around)
	if err != nil {
		t.Fatal(err)
	}
	action := &plan.Action{Plugin: "netinfo", Name: "whois", Limiters: []plan.Limiter{{Name: "all", Requests: 2, Window: time.Minute, FixedWindow: true}}}
	began := time.Now()
	for range 2 {
		if _, err := first.Acquire(context.Background(), action, "netinfo", nil); err != nil {
			t.Fatal(err)
		}
	}
	// Not closed: as if the process had been killed. Both are open calls then.
	for open := 0; open < 2; {
		if time.Since(began) > time.Minute {
			t.Fatal("the uses were not stored")
		}
		keys, err := rows.List(limiterBucket, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			value, _, _, err := rows.Get(limiterBucket, key)
			if err != nil {
				t.Fatal(err)
			}
			var row struct{ Open int }
			if err := json.Unmarshal(value, &row); err != nil {
				t.Fatal(err)
			}
			open = row.Open
		}
	}

	second, err := NewLimiter(declaredLimits{}, ratelimit.New(time.Now, time.After), rows, around)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := second.Acquire(ctx, action, "netinfo", nil); err == nil {
		t.Error("the next process let a third request through within the window")
	}
	first.Close()
}

// TestIssue13_08ARetryAfterClosesTheSharedBucketForAsLong: for every run, as long
// as the service said, and for a second where it said nothing.
func TestIssue13_08ARetryAfterClosesTheSharedBucketForAsLong(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	rows := memstore.New(memstore.Options{}).KV()
	around := Surroundings{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	for seconds, want := range map[float64]time.Duration{0: time.Second, 0.5: 500 * time.Millisecond, 2: 2 * time.Second, 90: 90 * time.Second, 7200: 2 * time.Hour} {
		limits := ratelimit.New(around.Now, time.After)
		l, err := NewLimiter(declaredLimits{}, limits, rows, around)
		if err != nil {
			t.Fatal(err)
		}
		action := &plan.Action{Plugin: "netinfo", Name: "whois", Limiters: []plan.Limiter{{Name: "all", MaxConcurrent: 100}}}
		answered, err := l.Acquire(t.Context(), action, "netinfo", nil)
		if err != nil {
			t.Fatal(err)
		}
		answered(runs.Answer{Failed: &runs.Error{Kind: plan.KindRateLimited, RetryAfterS: seconds}})
		expected := make(chan time.Time, 1)
		waiting, cancel := context.WithCancel(t.Context())
		_, err = l.Acquire(waiting, action, "netinfo", func(until time.Time) {
			expected <- until
			cancel()
		})
		if err == nil {
			t.Fatalf("after %vs the next call of another run was let through", seconds)
		}
		if until := <-expected; until.Sub(now) != want {
			t.Errorf("after Retry-After: %v the bucket is closed for %s", seconds, until.Sub(now))
		}
		cancel()
		l.Close()
		if err := rows.DeleteBefore(limiterBucket, "\xff"); err != nil {
			t.Fatal(err)
		}
	}
}

// declaredLimits are those of the action alone, as of a connection without a rate.
type declaredLimits struct{}

func (declaredLimits) LimitBuckets(action *plan.Action, connection string) ([]workspace.LimitBucket, error) {
	var buckets []workspace.LimitBucket
	for _, l := range action.Limiters {
		buckets = append(buckets, workspace.LimitBucket{Name: l.Name, Key: connection + "/" + l.Name, Spec: ratelimit.Spec{
			Requests: l.Requests, Window: l.Window, Fixed: l.FixedWindow, MaxConcurrent: l.MaxConcurrent,
		}})
	}
	return buckets, nil
}
