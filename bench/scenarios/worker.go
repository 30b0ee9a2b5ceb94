package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/collector"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// work is what a worker does: a process of its own with the embedding API.
type work struct {
	dir, what, action             string
	n, atATime, before, untilRuns int
	slower                        time.Duration // of the processor, for each call: what a gate must notice
	profile                       string        // where a profile of the processor goes; "" = none is made
}

// worker measures one thing once and prints the sample.
func worker(ctx context.Context, args []string) (err error) {
	var w work
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.StringVar(&w.dir, "dir", "", "the project's folder")
	flags.StringVar(&w.what, "what", "steps", "steps, fan, runs, conditions, plan or commits")
	flags.StringVar(&w.action, "action", "write", "write or read")
	flags.IntVar(&w.n, "n", 1000, "how many steps, or runs")
	flags.IntVar(&w.atATime, "at-a-time", 64, "how many runs at a time")
	flags.IntVar(&w.before, "before", 0, "how often it is done before, not measured")
	flags.IntVar(&w.untilRuns, "until-runs", 0, "of commits: wait first until retention has left so many runs")
	flags.DurationVar(&w.slower, "slower", 0, "how much processor time each call takes more: for tests of gates")
	flags.StringVar(&w.profile, "cpuprofile", "", "write a profile of what is measured: its time is not that without")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if w.what == "plan" {
		return w.plan(ctx)
	}
	collector.Bound(os.Environ()) // as the program does, and as one does that embeds the engine for this
	e, err := openWith(ctx, w.dir, func(c *workspace.Config) { c.Observer = busy(w.slower) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	if err := runToEnd(ctx, e, sequence(1, w.action)); err != nil { // the plugin's process is there
		return err
	}
	s, err := w.measured(ctx, e)
	if err != nil {
		return err
	}
	return figures.Write(os.Stdout, s)
}

func (w work) measured(ctx context.Context, e *engine.Engine) (figures.Sample, error) {
	switch w.what {
	case "steps":
		return w.repeated(ctx, e, sequence(w.n, w.action))
	case "fan":
		return w.repeated(ctx, e, fan(w.n, w.action))
	case "runs":
		var took []time.Duration
		s, err := w.count(e, "run", func() (err error) {
			took, err = atOnce(ctx, e, sequence(3, w.action), w.n, w.atATime)
			return err
		})
		if len(took) > 0 {
			slices.Sort(took)
			s.P99 = took[len(took)*99/100]
		}
		return s, err
	case "conditions":
		return w.conditions(ctx, e)
	case "commits":
		return w.commits(ctx, e)
	}
	return figures.Sample{}, fmt.Errorf("there is no work %q", w.what)
}

func (w work) repeated(ctx context.Context, e *engine.Engine, source string) (figures.Sample, error) {
	for range w.before {
		if err := runToEnd(ctx, e, source); err != nil {
			return figures.Sample{}, err
		}
	}
	return w.count(e, "step", func() error { return runToEnd(ctx, e, source) })
}

// count counts what body costs; where a profile is wanted, of several rounds.
func (w work) count(e *engine.Engine, unit string, body func() error) (figures.Sample, error) {
	if w.profile == "" {
		return count(e, w.n, unit, body)
	}
	s, err := count(e, w.n*probe.ProfiledRounds, unit, func() error { return probe.Profiled(w.profile, body) })
	s.Profile = w.profile
	return s, err
}

// busy is an observer that keeps a processor busy for each call; nil for 0.
func busy(more time.Duration) *runs.Observer {
	if more == 0 {
		return nil
	}
	return &runs.Observer{Call: func(*runs.Request) func(runs.Answer) {
		for until := time.Now().Add(more); time.Now().Before(until); {
		}
		return nil
	}}
}

// openEngine opens the engine of a project, whose state lies beside its file. open is
// that of the config.
func openEngine(ctx context.Context, dir string, open func(store.Hooks) (store.Store, error)) (*engine.Engine, error) {
	return openWith(ctx, dir, func(c *workspace.Config) { c.OpenStore = open })
}

func openWith(ctx context.Context, dir string, change func(*workspace.Config)) (*engine.Engine, error) {
	project, err := loadProject(ctx, dir, change)
	if err != nil {
		return nil, err
	}
	return engine.Open(ctx, project)
}

func loadProject(ctx context.Context, dir string, change func(*workspace.Config)) (*workspace.Workspace, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	config := workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Environ: os.Environ(),
		Executable: executable, Bundled: []string{"files"}, Version: "bench", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}
	change(&config)
	return engine.LoadProject(ctx, config)
}

// runToEnd runs a workflow, which must succeed.
func runToEnd(ctx context.Context, e *engine.Engine, source string) error {
	row, problems, err := e.Start(ctx, engine.StartRequest{File: "bench.yaml", Source: []byte(source)})
	if err != nil || row == nil {
		return fmt.Errorf("start: %w", errors.Join(err, problems))
	}
	result, err := e.Wait(ctx, row.ID)
	if err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	if result.Run.Status != runs.RunSucceeded {
		return fmt.Errorf("run %s ended as %s: %w", row.ID, result.Run.Status, result.Error)
	}
	return nil
}

// atOnce runs a workflow so many times, some of them at a time, and returns how long each
// took.
func atOnce(ctx context.Context, e *engine.Engine, source string, n, atATime int) ([]time.Duration, error) {
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
				errs[i] = runToEnd(ctx, e, source)
				took[run] = time.Since(begun)
			}
		})
	}
	workers.Wait()
	return took, errors.Join(errs...)
}

// count measures body, with what its process, the plugin's and the store did for it.
func count(e *engine.Engine, units int, unit string, body func() error) (figures.Sample, error) {
	plugin := e.Project().Host().Status("bench").PID
	var before, after runtime.MemStats
	stats := e.StoreStats()
	runtime.ReadMemStats(&before)
	own, its := probe.CPU(os.Getpid()), probe.CPU(plugin)
	begun := time.Now()
	err := body()
	s := figures.Sample{Program: "flowrun", Units: units, Unit: unit, Wall: time.Since(begun), CPU: probe.CPU(os.Getpid()) - own, PluginCPU: probe.CPU(plugin) - its}
	runtime.ReadMemStats(&after)
	s.Allocs, s.AllocBytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	now := e.StoreStats()
	s.Commits, s.Fsyncs, s.Written = now.Commits-stats.Commits, now.Fsyncs-stats.Fsyncs, now.Bytes-stats.Bytes
	s.RssAnon, s.Durability = probe.RssAnon(os.Getpid()), "fsync before it is acknowledged"
	s.Values = map[string]float64{"plugin RssAnon": float64(probe.RssAnon(plugin))}
	return s, err
}
