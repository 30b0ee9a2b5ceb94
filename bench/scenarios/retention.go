package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/engine"
)

// retention is S12: a store of many runs of which retention leaves a tenth. Commits are
// measured on a small store, on the large one, and when the runs are gone.
func retention(ctx context.Context, b *bench) error {
	count := b.size(100_000, 300)
	dir, err := b.project(fmt.Sprintf("retention: {keep: 3650d, max_runs: %d, max_total: %d}\n", count/10, count/10))
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the folder that is removed at the end
	if err := fill(ctx, dir, count, usual()); err != nil {
		return err
	}
	measure := func(runs string) func() (figures.Sample, error) {
		return func() (figures.Sample, error) {
			return b.sampled(ctx, b.self, "worker", "-what", "commits", "-dir", dir, "-n", "200", "-until-runs", runs)
		}
	}
	return errors.Join(
		b.inTurns(b.ofWorker(ctx, "S12", "a small store", "-what", "commits", "-n", "200")),
		b.inTurnsOf(1, turn{scenario: "S12", variant: "retention at work", measure: measure(strconv.Itoa(b.size(count/10+1, 0)))}),
		b.inTurns(turn{scenario: "S12", variant: "after retention", measure: measure("0")}),
	)
}

// retentionTakes is how long retention may take for all that it removes.
const retentionTakes = 4 * time.Minute

// commits measures steps with an effect on the store that is there, and says what the file
// holds; where untilRuns is set, when retention has left so many runs.
func (w work) commits(ctx context.Context, e *engine.Engine) (figures.Sample, error) {
	values := map[string]float64{}
	for begun := time.Now(); w.untilRuns > 0; time.Sleep(20 * time.Millisecond) {
		left, err := storedRuns(ctx, e)
		if err != nil {
			return figures.Sample{}, err
		}
		if left <= w.untilRuns {
			values["retention ms"] = float64(time.Since(begun).Milliseconds())
			break
		}
		if time.Since(begun) > retentionTakes {
			return figures.Sample{}, fmt.Errorf("retention has left %d runs after %s, not %d", left, retentionTakes, w.untilRuns)
		}
	}
	s, err := count(e, w.n, "step", func() error { return runToEnd(ctx, e, sequence(w.n, "write")) })
	if err != nil {
		return s, err
	}
	file, err := os.Stat(filepath.Join(w.dir, "state", "flowrun.db"))
	if err != nil {
		return s, err
	}
	stats, err := e.DBStats(ctx)
	if err != nil {
		return s, err
	}
	left, err := storedRuns(ctx, e)
	values["file bytes"], values["live bytes"], values["runs"] = float64(file.Size()), float64(stats.UsedBytes), float64(left)
	s.Values = values
	return s, err
}

// storedRuns is how many runs a store has.
func storedRuns(ctx context.Context, e *engine.Engine) (int, error) {
	stats, err := e.DBStats(ctx)
	if err != nil {
		return 0, err
	}
	all := 0
	for _, n := range stats.Runs {
		all += n
	}
	return all, nil
}
