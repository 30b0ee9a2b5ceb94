// Package peer measures an engine of others with the work of bench/scenarios: 1,000 steps
// one after the other, 1,000 at once, 1,000 runs of three steps, 64 at a time. It prints
// samples as lines of JSON, as bench/figures reads them; it is a module of its own, which
// needs nothing, so that the peers need nothing of flowrun.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is an engine that runs, with a store of its own. All functions return when the
// engine says that the run has ended, and it must have succeeded.
type Engine struct {
	Program    string // with its version
	Durability string // what is on the disk when a step counts
	Sequence   func(ctx context.Context, steps int) error
	Fan        func(ctx context.Context, steps int) error // nil = it has no such thing
	PID        func() int                                 // of its process; nil = this one
	Close      func() error
}

// sample is figures.Sample, as far as peers are measured.
type sample struct {
	Program    string        `json:"program"`
	Scenario   string        `json:"scenario"`
	Units      int           `json:"units"`
	Unit       string        `json:"unit"`
	Wall       time.Duration `json:"wall_ns"`
	P99        time.Duration `json:"p99_ns,omitempty"`
	RssAnon    int64         `json:"rss_anon_bytes,omitempty"`
	Repetition int           `json:"repetition"`
	Load       float64       `json:"load"`
	Durability string        `json:"durability"`
}

// slow is how long a repetition may take: what would take longer is measured with a tenth
// of the steps.
const slow = 15 * time.Second

// Main measures what open opens, in a fresh folder for each repetition, and ends the
// process with an error where something fails.
func Main(open func(ctx context.Context, dir string) (*Engine, error)) {
	repeat := flag.Int("repeat", 3, "how often")
	n := flag.Int("n", 1000, "how many steps, or runs")
	flag.Parse()
	for repetition := range *repeat {
		if err := repeated(context.Background(), os.Stdout, open, *n, repetition+1); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func repeated(ctx context.Context, out io.Writer, open func(ctx context.Context, dir string) (*Engine, error), n, repetition int) (err error) {
	dir, err := os.MkdirTemp("", "peer")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	m := &measuring{engine: e, out: out, repetition: repetition}
	if err := e.Sequence(ctx, 1); err != nil { // what is made once is not measured
		return fmt.Errorf("%s: %w", e.Program, err)
	}
	if err := m.sequence(ctx, n); err != nil {
		return fmt.Errorf("%s, steps one after the other: %w", e.Program, err)
	}
	if e.Fan != nil {
		if err := m.do("S3", n, "step", func() error { return e.Fan(ctx, n) }); err != nil {
			return fmt.Errorf("%s, steps at once: %w", e.Program, err)
		}
	}
	if err := m.runs(ctx, n, 64); err != nil {
		return fmt.Errorf("%s, runs: %w", e.Program, err)
	}
	return nil
}

// measuring is one repetition.
type measuring struct {
	engine     *Engine
	out        io.Writer
	repetition int
}

// sequence measures a tenth first, and all where that does not take too long.
func (m *measuring) sequence(ctx context.Context, n int) error {
	begun := time.Now()
	if err := m.engine.Sequence(ctx, n/10); err != nil {
		return err
	}
	if took := time.Since(begun); took*10 > slow {
		return m.write("S2", n/10, "step", took, 0)
	}
	return m.do("S2", n, "step", func() error { return m.engine.Sequence(ctx, n) })
}

// runs measures as many runs of three steps; a tenth of them where they are slow.
func (m *measuring) runs(ctx context.Context, n, atATime int) error {
	begun := time.Now()
	if _, err := many(ctx, m.engine, n/10, atATime); err != nil {
		return err
	}
	if time.Since(begun)*10 > slow {
		n /= 10
	}
	begun = time.Now()
	took, err := many(ctx, m.engine, n, atATime)
	if err != nil {
		return err
	}
	wall := time.Since(begun)
	slices.Sort(took)
	return m.write("S4", n, "run", wall, took[len(took)*99/100])
}

func many(ctx context.Context, e *Engine, n, atATime int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	errs := make([]error, atATime)
	var next atomic.Int64
	var workers sync.WaitGroup
	for i := range atATime {
		workers.Go(func() {
			for errs[i] == nil {
				run := int(next.Add(1)) - 1
				if run >= n {
					return
				}
				begun := time.Now()
				errs[i] = e.Sequence(ctx, 3)
				took[run] = time.Since(begun)
			}
		})
	}
	workers.Wait()
	return took, errors.Join(errs...)
}

func (m *measuring) do(scenario string, units int, unit string, body func() error) error {
	begun := time.Now()
	if err := body(); err != nil {
		return err
	}
	return m.write(scenario, units, unit, time.Since(begun), 0)
}

func (m *measuring) write(scenario string, units int, unit string, wall, p99 time.Duration) error {
	pid := os.Getpid()
	if m.engine.PID != nil {
		pid = m.engine.PID()
	}
	return json.NewEncoder(m.out).Encode(sample{
		Program: m.engine.Program, Scenario: scenario, Units: units, Unit: unit, Wall: wall, P99: p99, RssAnon: rssAnon(pid),
		Repetition: m.repetition, Load: load(), Durability: m.engine.Durability,
	})
}

// rssAnon is the memory of a process that is no file's; 0 where the system does not tell.
func rssAnon(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib * 1024
}

func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	minute, _, _ := strings.Cut(string(text), " ")
	value, _ := strconv.ParseFloat(minute, 64)
	return value
}
