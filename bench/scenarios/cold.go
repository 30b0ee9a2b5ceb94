package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/flowrun/flowrun/bench/figures"
)

// others is how many other processes are there in one of the variants.
const others = 1000

// coldRuns is S1: the whole command from its start to its end, as a shell sees it.
func coldRuns(ctx context.Context, b *bench) error {
	floor, err := b.floorFiles(ctx)
	if err != nil {
		return err
	}
	var turns []turn
	for _, kind := range []string{"let", "plugin"} {
		turns = append(turns, turn{scenario: "S1", variant: kind, measure: func() (figures.Sample, error) {
			s, err := b.command(ctx, floor, b.floor, "cold", "-store", "floor.db", "-workflow", kind+".json")
			s.Program = "floor"
			return s, err
		}})
		for _, count := range []int{0, b.size(10_000, 100), b.size(100_000, 300)} {
			stored, err := b.storeOf(ctx, count)
			if err != nil {
				return err
			}
			variant := fmt.Sprintf("%s, %s", kind, storeName(b, count))
			turns = append(turns, turn{scenario: "S1", variant: variant, measure: func() (figures.Sample, error) {
				return b.command(ctx, stored.dir, b.flowrun, "run", kind+".yaml", "--state", "state")
			}})
		}
	}
	for range 2 { // what is made once is not measured: plugin descriptions, the pages of the files
		for i := range turns {
			if _, err := turns[i].measure(); err != nil {
				return err
			}
		}
	}
	if err := b.inTurnsOf(4*b.repeat, turns...); err != nil { // they are short
		return err
	}
	return b.besideOthers(ctx)
}

// storeName says how many runs a store has, by what it has in a full measuring.
func storeName(b *bench, count int) string {
	switch count {
	case 0:
		return "empty"
	case b.size(10_000, 100):
		return "10,000 runs"
	default:
		return "100,000 runs"
	}
}

// floorFiles makes a folder with a store and the workflows of the floor.
func (b *bench) floorFiles(ctx context.Context) (string, error) {
	dir := filepath.Join(b.dir, "floorfiles")
	err := writeFiles(dir, map[string]string{
		"let.json":    `{"name": "let", "steps": [{"id": "one", "value": {"n": 1}}]}`,
		"plugin.json": `{"name": "plugin", "steps": [{"id": "one", "uses": "echo", "with": {"n": 0}}]}`,
	})
	return dir, err
}

// besideOthers is S1 on a machine with many other processes, in turns with itself alone.
func (b *bench) besideOthers(ctx context.Context) error {
	stored, err := b.storeOf(ctx, 0)
	if err != nil {
		return err
	}
	measure := func() (figures.Sample, error) {
		return b.command(ctx, stored.dir, b.flowrun, "run", "plugin.yaml", "--state", "state")
	}
	count := b.size(others, 20)
	for range 2 {
		if err := b.inTurnsOf(2*b.repeat, turn{scenario: "S1", variant: "plugin, alone", measure: measure}); err != nil {
			return err
		}
		end, err := idleProcesses(ctx, count)
		if err == nil {
			err = b.inTurnsOf(2*b.repeat, turn{scenario: "S1", variant: "plugin, beside 1,000 processes", measure: measure})
		}
		if err := errors.Join(err, end()); err != nil {
			return err
		}
	}
	return nil
}

// idleProcesses starts processes that do nothing, until they are ended.
func idleProcesses(ctx context.Context, count int) (end func() error, err error) {
	var started []*exec.Cmd
	end = func() error {
		for _, p := range started {
			if err := p.Process.Kill(); err != nil {
				return err
			}
		}
		for _, p := range started {
			_ = p.Wait() // it was killed
		}
		return nil
	}
	for range count {
		p := exec.CommandContext(ctx, "sleep", "600")
		if err := p.Start(); err != nil {
			return end, fmt.Errorf("start a process beside: %w", err)
		}
		started = append(started, p)
	}
	return end, nil
}
