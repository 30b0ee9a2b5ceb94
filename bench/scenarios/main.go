package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		err = worker(ctx, os.Args[2:])
	} else {
		err = command(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(1) //nolint:gocritic // nothing of the signals is left to undo
	}
}

// options are those of the command.
type options struct {
	only, out, dir, flowrun, floor, profiles string
	repeat                                   int
	quick, list                              bool
}

func command(ctx context.Context, args []string) (err error) {
	var o options
	flags := flag.NewFlagSet("scenarios", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "which scenarios, with commas between; all otherwise")
	flags.IntVar(&o.repeat, "repeat", 5, "how often each is measured")
	flags.BoolVar(&o.quick, "quick", false, "small numbers, each once: whether they work, no figures")
	flags.BoolVar(&o.list, "list", false, "say which scenarios there are")
	flags.StringVar(&o.out, "o", "", "write the samples to this file, as lines of JSON")
	flags.StringVar(&o.profiles, "profiles", "", "measure nothing, but write processor profiles of steps and runs into this folder")
	flags.StringVar(&o.dir, "dir", "", "work below this folder; a temporary one otherwise")
	flags.StringVar(&o.flowrun, "flowrun", "", "the program to measure; built from this source otherwise")
	flags.StringVar(&o.floor, "floor", "", "the floor; built from this source otherwise")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.list {
		for _, s := range all() {
			fmt.Printf("%-9s %s\n", s.id, s.doc)
		}
		return nil
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if o.profiles != "" {
		return b.writeProfiles(ctx)
	}
	for _, s := range chosen {
		begun := time.Now()
		if err := s.run(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", s.id, err)
		}
		fmt.Fprintf(os.Stderr, "%-9s took %s\n", s.id, time.Since(begun).Round(time.Millisecond))
	}
	return report(os.Stdout, b.samples)
}

func report(w io.Writer, samples []figures.Sample) error {
	_, err := io.WriteString(w, figures.Text(figures.Rows(samples)))
	return err
}

// scenario is one of those of the table of goals.
type scenario struct {
	id, doc string
	run     func(ctx context.Context, b *bench) error
}

// all are the scenarios, those that are disturbed most by others first.
func all() []scenario {
	return []scenario{
		{"S1", "a cold `run` of one let step and of one step in a bundled plugin, beside 0, 10,000 and 100,000 stored runs, and beside 1,000 other processes", coldRuns},
		{"S2", "1,000 steps with an effect, one after the other", sequentialWrites},
		{"S2r", "1,000 steps that read, one after the other", sequentialReads},
		{"S2l", "1,000 steps beside 100, one after the other and at once; a condition at step 1,000 beside step 1", linearity},
		{"S3", "1,000 steps at once in one run, in a young process and after ten runs", fanOut},
		{"S4", "1,000 runs of 3 steps, 64 at a time, and one at a time", manyRuns},
		{"S5", "memory: idle, with 100,000 stored runs, with a run of 10,000 items, a plugin's", memory},
		{"S6", "the newest 50 of 10,000 and of 100,000 runs: API, command beside a server, command that owns the store", lists},
		{"S7", "a server that starts on a store of 1 GiB with 1,000 active runs, after a clean end and after a kill", restarts},
		{"S9", "fsyncs and bytes a step, seen from outside by a tracer", traced},
		{"S10", "load, check and plan a workflow of 1,000 steps; validate one of 250 steps that need 200 others each", plans},
		{"S12", "100,000 runs with retention on: commits before and after, the file beside its live data", retention},
		{"watchers", "a run of 1,000 items with 50 watchers, packed and plain, and with none", watchers},
		{"data", "filter, map, dedupe, loops over 10,000 and 50,000 rows of 300 bytes", realSize},
	}
}

func choose(only string) ([]scenario, error) {
	if only == "" {
		return all(), nil
	}
	var chosen []scenario
	for id := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(all(), func(s scenario) bool { return strings.EqualFold(s.id, id) })
		if at < 0 {
			return nil, fmt.Errorf("there is no scenario %q: -list says which there are", id)
		}
		chosen = append(chosen, all()[at])
	}
	return chosen, nil
}
