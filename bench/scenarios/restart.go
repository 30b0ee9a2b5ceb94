package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
)

// asking is a run that waits for a person.
const asking = "flowrun: v1\nname: asking\nsteps:\n  - {id: ask, uses: core.approve, with: {message: \"is it right?\"}}\n"

// restarts is S7.
func restarts(ctx context.Context, b *bench) error {
	dir, err := b.project(keepAll)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the folder that is removed at the end
	if err := writeFiles(dir, map[string]string{"let.yaml": stepOfLet}); err != nil {
		return err
	}
	if err := fill(ctx, dir, b.size(20_000, 50), large()); err != nil {
		return err
	}
	if err := active(ctx, dir, b.size(1000, 10)); err != nil {
		return err
	}
	file, err := os.Stat(filepath.Join(dir, "state", "flowrun.db"))
	if err != nil {
		return err
	}
	if least := b.size(1<<30, 1<<20); file.Size() < int64(least) {
		return fmt.Errorf("the store has %d bytes, not %d: it is no measure of a large one", file.Size(), least)
	}
	start := func(variant string, end func(*server) error) error {
		return b.inTurnsOf(1, turn{scenario: "S7", variant: variant, measure: func() (figures.Sample, error) {
			s, err := b.serve(ctx, dir)
			if err != nil {
				return figures.Sample{}, err
			}
			pid := s.command.Process.Pid
			sample := figures.Sample{Units: 1, Unit: "start", Wall: s.ready, CPU: probe.CPU(pid), RssAnon: probe.RssAnon(pid), Values: map[string]float64{"file bytes": float64(file.Size())}}
			return sample, end(s)
		}})
	}
	// A kill comes when the server has written: the file is not as a clean end left it.
	kill := func(s *server) error {
		_, err := b.command(ctx, dir, b.flowrun, "run", "let.yaml", "--state", "state")
		return errors.Join(err, s.kill())
	}
	for range max(1, b.repeat/2+1) {
		if err := errors.Join(
			start("after a clean end", kill),
			start("after a kill", (*server).stop),
		); err != nil {
			return err
		}
	}
	return nil
}

// active stores runs that wait for a person.
func active(ctx context.Context, dir string, count int) (err error) {
	e, err := openEngine(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	for range count {
		row, problems, err := e.Start(ctx, engine.StartRequest{File: "asking.yaml", Source: []byte(asking)})
		if err != nil || row == nil {
			return fmt.Errorf("start: %w", errors.Join(err, problems))
		}
	}
	for waiting := 0; waiting < count; time.Sleep(10 * time.Millisecond) {
		rows, _, err := e.List(ctx, runs.Filter{Status: runs.RunWaiting, Limit: count})
		if err != nil {
			return err
		}
		waiting = len(rows)
	}
	return nil
}
