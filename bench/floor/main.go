package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
)

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// options are those of the measured commands.
type options struct {
	n, atATime, steps, procs, warm  int
	policy, transport, dir, profile string
}

func command(args []string) error {
	if len(args) == 0 {
		return errors.New("which command? steps, fan, runs, cold or plugin")
	}
	var o options
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.IntVar(&o.n, "n", 1000, "how many steps, or runs")
	flags.IntVar(&o.steps, "steps", 3, "steps of each of the runs")
	flags.IntVar(&o.atATime, "at-a-time", 64, "how many runs, or calls of a fan, at a time")
	flags.IntVar(&o.procs, "plugin-procs", 0, "GOMAXPROCS of the plugin, 0 = Go's own")
	flags.IntVar(&o.warm, "warm", 1, "how many runs of one step come before, not measured")
	flags.StringVar(&o.policy, "policy", policyMerged, "rpc, apart, merged or reads")
	flags.StringVar(&o.transport, "transport", unary, "unary or stream")
	flags.StringVar(&o.dir, "dir", "", "where the store is made; a temporary folder otherwise")
	flags.StringVar(&o.profile, "cpuprofile", "", "write where the processor time of the measured work went to this file")
	socket := flags.String("socket", "", "of the plugin")
	store := flags.String("store", "", "the store file of cold")
	workflow := flags.String("workflow", "", "the workflow file of cold; no step of it calls a plugin where there is none")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if !slices.Contains([]string{policyRPC, policyApart, policyMerged, policyReads}, o.policy) {
		return fmt.Errorf("there is no policy %q: rpc, apart, merged or reads", o.policy)
	}
	switch args[0] {
	case "plugin":
		return servePlugin(*socket, os.Stdin, os.Stdout)
	case "cold":
		return cold(*store, *workflow)
	case "steps", "fan", "runs":
		return measured(args[0], o)
	}
	return fmt.Errorf("there is no command %q: steps, fan, runs, cold or plugin", args[0])
}

// measured opens a store of its own, starts the plugin, does the work and prints the
// sample.
func measured(what string, o options) (err error) {
	dir, err := os.MkdirTemp(o.dir, "floor")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	p, err := startPlugin(ctx, dir, o.transport, o.procs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	e := &engine{calls: p.calls, policy: o.policy}
	if o.policy != policyRPC {
		if e.store, err = openStore(filepath.Join(dir, "floor.db")); err != nil {
			return err
		}
	}
	for range o.warm {
		if err := e.sequence(ctx, 1); err != nil {
			return err
		}
	}
	sample, err := e.measure(ctx, what, o, p.command.Process.Pid)
	if err == nil && e.store != nil {
		err = e.store.close()
	}
	if err != nil {
		return err
	}
	return figures.Write(os.Stdout, sample)
}

// measure does the work once.
func (e *engine) measure(ctx context.Context, what string, o options, plugin int) (figures.Sample, error) {
	s := figures.Sample{Program: "floor", Variant: o.policy + " " + o.transport, Units: o.n, Unit: "step"}
	var before, after runtime.MemStats
	var commits, written uint64
	if e.store != nil {
		commits, written = e.store.committed(), e.store.written()
	}
	runtime.ReadMemStats(&before)
	own, its := probe.CPU(os.Getpid()), probe.CPU(plugin)
	begun := time.Now()
	work := func() error {
		switch what {
		case "steps":
			return e.sequence(ctx, o.n)
		case "fan":
			return e.fan(ctx, o.n, o.atATime)
		}
		took, err := e.many(ctx, o.n, o.steps, o.atATime)
		slices.Sort(took)
		s.Unit, s.P99 = "run", took[len(took)*99/100]
		return err
	}
	var err error
	if o.profile == "" {
		err = work()
	} else {
		s.Units, s.Profile = o.n*probe.ProfiledRounds, o.profile
		err = probe.Profiled(o.profile, work)
	}
	s.Wall = time.Since(begun)
	s.CPU, s.PluginCPU = probe.CPU(os.Getpid())-own, probe.CPU(plugin)-its
	runtime.ReadMemStats(&after)
	s.Allocs, s.AllocBytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	s.RssAnon = probe.RssAnon(os.Getpid())
	if e.store != nil {
		s.Commits, s.Written = e.store.committed()-commits, e.store.written()-written
		s.Fsyncs = 2 * s.Commits // pages, then the meta page: as bbolt does
		s.Durability = "fsync before it is acknowledged"
	} else {
		s.Durability = "nothing is stored"
	}
	return s, err
}
