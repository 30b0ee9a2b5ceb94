package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
)

// idleFor is how long a server that does nothing is looked at.
const idleFor = 8 * time.Second

// memory is S5. A plugin's is in the samples of the sequences.
func memory(ctx context.Context, b *bench) error {
	dir, err := b.project(keepAll + "workflows: [workflows]\n")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the folder that is removed at the end
	schedules := map[string]string{}
	for i := range 10 {
		schedules[fmt.Sprintf("workflows/w%d.yaml", i)] = fmt.Sprintf("flowrun: v1\nname: w%d\ntriggers:\n  yearly: {cron: \"%d 3 1 1 *\"}\nsteps:\n  - {id: one, let: {n: 1}}\n", i, i)
	}
	if err := writeFiles(dir, schedules); err != nil {
		return err
	}
	stored, err := b.storeOf(ctx, b.size(100_000, 300))
	if err != nil {
		return err
	}
	return errors.Join(
		b.inTurnsOf(1, turn{scenario: "S5", variant: "idle", measure: func() (figures.Sample, error) { return b.held(ctx, dir, nil) }}),
		b.inTurnsOf(1, turn{scenario: "S5", variant: "idle, 100,000 runs", measure: func() (figures.Sample, error) { return b.held(ctx, stored.dir, nil) }}),
		b.inTurnsOf(1, turn{scenario: "S5", variant: "load, 100,000 runs", measure: func() (figures.Sample, error) { return b.held(ctx, stored.dir, b.loaded) }}),
	)
}

// held measures the memory of a server: the most that it had at once, and what it has at
// the end of a while.
func (b *bench) held(ctx context.Context, dir string, load func(ctx context.Context, s *server, dir string) error) (figures.Sample, error) {
	s, err := b.serve(ctx, dir)
	if err != nil {
		return figures.Sample{}, err
	}
	pid := s.command.Process.Pid
	most := watchMemory(pid)
	if load == nil {
		time.Sleep(time.Duration(b.size(int(idleFor), int(time.Second))))
	} else {
		err = load(ctx, s, dir)
	}
	sample := figures.Sample{Units: 1, Unit: "server", RssAnon: most(), Values: map[string]float64{"at the end": float64(probe.RssAnon(pid))}}
	return sample, errors.Join(err, s.stop())
}

// loaded runs a loop of 10,000 items, lists runs meanwhile and afterwards.
func (b *bench) loaded(ctx context.Context, s *server, dir string) error {
	if err := s.logIn(ctx, b, dir); err != nil {
		return err
	}
	id, err := s.start(ctx, "items")
	if err != nil {
		return err
	}
	for {
		if _, err := s.get(ctx, "/runs?limit=50"); err != nil {
			return err
		}
		status, err := s.statusOf(ctx, id)
		switch {
		case err != nil:
			return err
		case status == "succeeded":
			return nil
		case status != "running":
			return fmt.Errorf("the run of many items is %s", status)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// items is a workflow of a loop.
func items(n int, step string) string {
	return fmt.Sprintf("flowrun: v1\nname: items\nsteps:\n  - id: each\n    foreach: \"${{ 1..%d }}\"\n    as: x\n    key: \"${{ x }}\"\n    steps: [{id: one, %s}]\n", n, step)
}
