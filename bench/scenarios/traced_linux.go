//go:build linux && (amd64 || arm64)

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/test/systrace"
)

// traced is S9: the same work twice, of another length each time, under a tracer that sees
// each write and sync of the store's folder. The difference is what the steps cost, seen
// by nothing of flowrun.
func traced(ctx context.Context, b *bench) error {
	for _, c := range []struct {
		variant   string
		few, many int
		args      []string
		unitsEach int
	}{
		{"sequential writes", 50, 250, []string{"-what", "steps", "-action", "write"}, 1},
		{"64 at a time", 64, 320, []string{"-what", "runs"}, 3},
	} {
		err := b.inTurnsOf(1, turn{scenario: "S9", variant: c.variant, measure: func() (figures.Sample, error) {
			few, err := b.underTracer(ctx, append(c.args, "-n", strconv.Itoa(c.few)))
			if err != nil {
				return figures.Sample{}, err
			}
			many, err := b.underTracer(ctx, append(c.args, "-n", strconv.Itoa(c.many)))
			return figures.Sample{Units: (c.many - c.few) * c.unitsEach, Unit: "step", Fsyncs: less(many.syncs, few.syncs), Written: less(many.bytes, few.bytes), Durability: "seen by a tracer"}, err
		}})
		switch {
		case errors.Is(err, systrace.ErrRefused):
			return b.add(figures.Sample{Program: "flowrun", Scenario: "S9", Variant: c.variant, Skipped: "tracing is not allowed here"})
		case err != nil:
			return err
		}
	}
	return nil
}

func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// seen is what a tracer counted of the files of a store.
type seen struct{ syncs, bytes uint64 }

func (b *bench) underTracer(ctx context.Context, args []string) (s seen, err error) {
	dir, err := b.project("")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return s, err
	}
	defer null.Close()
	store := filepath.Join(dir, "state", "flowrun.db")
	outcome, err := systrace.Run(ctx, systrace.Command{
		Path: b.self, Args: append([]string{b.self, "worker", "-dir", dir}, args...), Env: os.Environ(), Dir: dir, Files: []*os.File{null, null, os.Stderr},
	}, systrace.Handler{Exit: func(c *systrace.Call) {
		if c.Err != syscall.Errno(0) || !strings.HasPrefix(c.Path, store) {
			return
		}
		switch c.Kind {
		case systrace.Sync:
			s.syncs++
		case systrace.Write:
			s.bytes += uint64(c.Result)
		}
	}})
	if err == nil && outcome.Exit != 0 {
		err = errors.New("the worker failed under the tracer")
	}
	return s, err
}
