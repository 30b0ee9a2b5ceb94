package runstats

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestStatsOfRuns: twenty that succeeded in 1 to 20 ms, three that failed, and one that goes on.
func TestStatsOfRuns(t *testing.T) {
	began := time.Date(2026, 3, 1, 14, 0, 0, 0, time.UTC)
	var rows []runs.Run // the newest first
	add := func(status runs.Status, took int64, failure *runs.Error) {
		rows = append(rows, runs.Run{ID: fmt.Sprint("r", len(rows)), Status: status, DurationMS: took, Error: failure, StartedAt: began.Add(-time.Duration(len(rows)) * time.Hour)})
	}
	add(runs.RunRunning, 0, nil)
	add(runs.RunFailed, 500, &runs.Error{Kind: plan.KindDenied})
	add(runs.RunFailed, 500, &runs.Error{Step: "each[b].get", Kind: plan.KindTimeout})
	for i := range 20 {
		add(runs.RunSucceeded, int64(20-i), nil)
	}
	add(runs.RunTimedOut, 900, &runs.Error{Step: "each[a].get", Kind: plan.KindTimeout})
	s := Of("weekly", rows)
	if *s.P50MS != 10 || *s.P95MS != 19 || s.Runs != 24 || !s.Since.Equal(began.Add(-23*time.Hour)) {
		t.Errorf("p50 %d, p95 %d of %d since %s", *s.P50MS, *s.P95MS, s.Runs, s.Since)
	}
	want := []Failure{{Step: "each.get", Kind: plan.KindTimeout, Count: 2, Last: "r2"}, {Kind: plan.KindDenied, Count: 1, Last: "r1"}}
	if diff := cmp.Diff(want, s.Failures); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if len(s.Ended) != 23 || s.Ended[0].Run != "r23" || s.Ended[22].Run != "r1" {
		t.Errorf("ended: %+v", s.Ended)
	}
	if diff := cmp.Diff(map[runs.Status]int{"running": 1, "failed": 2, "succeeded": 20, "timed_out": 1}, s.Statuses); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if none := Of("none", nil); none.P50MS != nil || none.Since != nil {
		t.Errorf("%+v", none)
	}
}
