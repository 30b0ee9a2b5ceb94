package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/engine"
)

// firstRun is the variant of a file that is new: the plugin is asked about the input of
// each step before the run begins. The others measure steps: their file is known.
const firstRun = "first run of a file"

// sequentialWrites is S2.
func sequentialWrites(ctx context.Context, b *bench) error {
	n := strconv.Itoa(b.size(1000, 50))
	return b.inTurns(
		b.ofWorker(ctx, "S2", "", "-what", "steps", "-action", "write", "-n", n, "-before", "1"),
		b.ofWorker(ctx, "S2", firstRun, "-what", "steps", "-action", "write", "-n", n),
		b.ofFloor(ctx, "S2", "steps", "-policy", "merged", "-n", n),
		b.ofFloor(ctx, "S2", "steps", "-policy", "merged", "-transport", "stream", "-n", n),
	)
}

// sequentialReads is S2r. The work is short: it is measured more often.
func sequentialReads(ctx context.Context, b *bench) error {
	n := strconv.Itoa(b.size(1000, 50))
	return b.inTurnsOf(2*b.repeat,
		b.ofWorker(ctx, "S2r", "", "-what", "steps", "-action", "read", "-n", n, "-before", "1"),
		b.ofWorker(ctx, "S2r", firstRun, "-what", "steps", "-action", "read", "-n", n),
		b.ofFloor(ctx, "S2r", "steps", "-policy", "reads", "-n", n),
		b.ofFloor(ctx, "S2r", "steps", "-policy", "reads", "-transport", "stream", "-n", n),
	)
}

// linearity is S2l: steps of reads, so that the disk is not what is measured.
func linearity(ctx context.Context, b *bench) error {
	small, large := strconv.Itoa(b.size(100, 10)), strconv.Itoa(b.size(1000, 50))
	return b.inTurns(
		b.ofWorker(ctx, "S2l", "sequence of 100", "-what", "steps", "-action", "read", "-n", small, "-before", "1"),
		b.ofWorker(ctx, "S2l", "sequence of 1,000", "-what", "steps", "-action", "read", "-n", large, "-before", "1"),
		b.ofWorker(ctx, "S2l", "fan of 100", "-what", "fan", "-action", "read", "-n", small, "-before", "1"),
		b.ofWorker(ctx, "S2l", "fan of 1,000", "-what", "fan", "-action", "read", "-n", large, "-before", "1"),
		b.ofWorker(ctx, "S2l", "conditions", "-what", "conditions", "-n", large),
	)
}

// fanOut is S3.
func fanOut(ctx context.Context, b *bench) error {
	n := strconv.Itoa(b.size(1000, 50))
	return b.inTurns(
		b.ofWorker(ctx, "S3", "young process", "-what", "fan", "-action", "write", "-n", n),
		b.ofWorker(ctx, "S3", "after ten runs", "-what", "fan", "-action", "write", "-n", n, "-before", strconv.Itoa(b.size(10, 1))),
		b.ofFloor(ctx, "S3", "fan", "-n", n),
		b.ofFloor(ctx, "S3", "fan", "-transport", "stream", "-n", n),
	)
}

// manyRuns is S4.
func manyRuns(ctx context.Context, b *bench) error {
	n, few := strconv.Itoa(b.size(1000, 20)), strconv.Itoa(b.size(100, 5))
	return b.inTurns(
		b.ofWorker(ctx, "S4", "64 at a time", "-what", "runs", "-n", n),
		b.ofFloor(ctx, "S4", "runs", "-n", n),
		b.ofFloor(ctx, "S4", "runs", "-transport", "stream", "-n", n),
		b.ofWorker(ctx, "S4", "one at a time", "-what", "runs", "-n", few, "-at-a-time", "1"),
		b.renamed(b.ofFloor(ctx, "S4", "runs", "-n", few, "-at-a-time", "1"), "merged unary, one at a time"),
	)
}

// renamed is a turn whose samples have another variant.
func (b *bench) renamed(t turn, variant string) turn {
	t.variant = variant
	return t
}

// conditions measures what a condition costs at the begin and at the end of a long
// workflow, by the times at which steps ended.
func (w work) conditions(ctx context.Context, e *engine.Engine) (figures.Sample, error) {
	var id string
	s, err := w.count(e, "step", func() error {
		row, problems, err := e.Start(ctx, engine.StartRequest{File: "bench.yaml", Source: []byte(conditions(w.n))})
		if err != nil || row == nil {
			return fmt.Errorf("start: %w", errors.Join(err, problems))
		}
		id = row.ID
		_, err = e.Wait(ctx, id)
		return err
	})
	if err != nil {
		return s, err
	}
	steps, err := e.Steps(ctx, id)
	if err != nil {
		return s, err
	}
	if len(steps) != w.n {
		return s, fmt.Errorf("the run has %d steps, not %d", len(steps), w.n)
	}
	part := w.n / 5
	span := func(from, to int) (time.Duration, error) {
		if steps[from].FinishedAt == nil || steps[to].FinishedAt == nil {
			return 0, fmt.Errorf("steps %s and %s do not say when they ended", steps[from].Path, steps[to].Path)
		}
		return steps[to].FinishedAt.Sub(*steps[from].FinishedAt), nil
	}
	first, err := span(0, part)
	if err != nil {
		return s, err
	}
	last, err := span(w.n-1-part, w.n-1)
	if err != nil {
		return s, err
	}
	s.Values["first fifth ms"], s.Values["last fifth ms"] = float64(first.Microseconds())/1000, float64(last.Microseconds())/1000
	return s, nil
}
