package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	measure := func(sweep string) func() (figures.Sample, error) {
		return func() (figures.Sample, error) {
			return b.sampled(ctx, b.self, "worker", "-what", "commits", "-dir", dir, "-n", "200", "-sweep", sweep)
		}
	}
	return errors.Join(
		b.inTurns(b.ofWorker(ctx, "S12", "a small store", "-what", "commits", "-n", "200")),
		b.inTurnsOf(1, turn{scenario: "S12", variant: "retention at work", measure: measure("1")}),
		b.inTurns(turn{scenario: "S12", variant: "after retention", measure: measure("0")}),
	)
}

// commits measures steps with an effect on the store that is there; with sweep retention
// does its work before, and the sample says what the file holds.
func (w work) commits(ctx context.Context, e *engine.Engine) (figures.Sample, error) {
	values := map[string]float64{}
	if w.sweep > 0 {
		s, err := count(e, 1, "sweep", func() error {
			e.Sweep(ctx)
			return nil
		})
		if err != nil {
			return s, err
		}
		values["sweep ms"] = float64(s.Wall.Milliseconds())
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
	runs := 0
	for _, n := range stats.Runs {
		runs += n
	}
	values["file bytes"], values["live bytes"], values["runs"] = float64(file.Size()), float64(stats.UsedBytes), float64(runs)
	s.Values = values
	return s, nil
}
