package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
	"github.com/flowrun/flowrun/bench/program"
)

// bench is one measuring: its programs, its folder, what it has measured.
type bench struct {
	options
	dir     string
	plugin  string // the program of the plugin
	self    string
	samples []figures.Sample
	out     *os.File           // nil = the samples are not written
	stores  map[string]*stored // what was generated, by its size
}

func newBench(ctx context.Context, o options) (*bench, error) {
	dir, err := os.MkdirTemp(o.dir, "scenarios")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, dir: dir, plugin: filepath.Join(dir, "bench"), stores: map[string]*stored{}}
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if o.quick {
		b.repeat = 1
	}
	if o.out != "" {
		if b.out, err = os.Create(o.out); err != nil {
			return nil, fmt.Errorf("write the samples: %w", err)
		}
	}
	for _, p := range []struct {
		path    *string
		name    string
		release bool
	}{{&b.flowrun, "cmd/flowrun", true}, {&b.floor, "bench/floor", false}, {&b.plugin, "bench/testdata/bench", false}} {
		if *p.path != "" && *p.path != b.plugin {
			if *p.path, err = filepath.Abs(*p.path); err != nil {
				return nil, err
			}
			continue
		}
		*p.path = filepath.Join(dir, filepath.Base(p.name))
		if err := program.Build(ctx, *p.path, p.name, p.release); err != nil {
			return nil, err
		}
	}
	return b, b.add(b.surroundings(ctx))
}

// surroundings says where and of what this is measured.
func (b *bench) surroundings(ctx context.Context) figures.Sample {
	s := figures.Sample{Program: "machine", Scenario: "machine", Values: map[string]float64{}}
	version, err := exec.CommandContext(ctx, b.flowrun, "version").Output()
	if err != nil {
		version = []byte("flowrun of unknown version")
	}
	commit := "without git"
	if text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		commit = "commit " + strings.TrimSpace(string(text))
	}
	first, _, _ := strings.Cut(string(version), "\n")
	s.Variant = strings.Join([]string{strings.TrimSpace(first), commit, goVersion(), processors(), probe.Machine()}, "; ")
	s.Load, s.Running = probe.Load()
	return s
}

func (b *bench) close() error {
	errs := []error{os.RemoveAll(b.dir)}
	if b.out != nil {
		errs = append(errs, b.out.Close())
	}
	return errors.Join(errs...)
}

// add keeps a sample.
func (b *bench) add(s figures.Sample) error {
	b.samples = append(b.samples, s)
	if b.out == nil {
		return nil
	}
	return figures.Write(b.out, s)
}

// size is a number, or a small one where it is only tried whether all works.
func (b *bench) size(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}

// turn is one of those who are measured in turns.
type turn struct {
	scenario, variant string
	measure           func() (figures.Sample, error)
}

// inTurns measures all, one after the other, as often as is asked for. The load of the
// machine is looked at before each.
func (b *bench) inTurns(turns ...turn) error {
	return b.inTurnsOf(b.repeat, turns...)
}

func (b *bench) inTurnsOf(repeat int, turns ...turn) error {
	for repetition := range repeat {
		for i := range turns {
			t := turns[(i+repetition)%len(turns)] // nobody is always the first
			load, running := probe.Load()
			s, err := t.measure()
			if err != nil {
				return fmt.Errorf("%s of %s: %w", t.variant, t.scenario, err)
			}
			s.Scenario, s.Repetition, s.Load, s.Running = t.scenario, repetition+1, load, running
			if t.variant != "" {
				s.Variant = t.variant
			}
			if s.Program == "" {
				s.Program = "flowrun"
			}
			if err := b.add(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// sampled runs a program that prints a sample.
func (b *bench) sampled(ctx context.Context, program string, args ...string) (figures.Sample, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return figures.Sample{}, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, &stderr)
	}
	var s figures.Sample
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
		return s, fmt.Errorf("%s printed no sample: %w\n%s", filepath.Base(program), err, &stdout)
	}
	return s, nil
}

// ofFloor is a turn of the floor.
func (b *bench) ofFloor(ctx context.Context, scenario string, args ...string) turn {
	return turn{scenario: scenario, measure: func() (figures.Sample, error) {
		return b.sampled(ctx, b.floor, append(args, "-dir", b.dir)...)
	}}
}

// ofWorker is a turn of flowrun in a fresh process with a fresh store.
func (b *bench) ofWorker(ctx context.Context, scenario, variant string, args ...string) turn {
	return turn{scenario: scenario, variant: variant, measure: func() (figures.Sample, error) {
		dir, err := b.project("")
		if err != nil {
			return figures.Sample{}, err
		}
		s, err := b.sampled(ctx, b.self, append([]string{"worker", "-dir", dir}, args...)...)
		return s, errors.Join(err, os.RemoveAll(dir))
	}}
}

// project makes the folder of a project with the plugin, and what flowrun.yaml says
// besides.
func (b *bench) project(more string) (dir string, err error) {
	if dir, err = os.MkdirTemp(b.dir, "project"); err != nil {
		return "", err
	}
	return dir, writeFiles(dir, map[string]string{"flowrun.yaml": "plugins:\n  bench: {source: " + b.plugin + "}\n" + more})
}

// writeFiles writes files below a folder, and makes the folders that they need.
func writeFiles(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// command runs a whole command, and measures it from outside: processor time is that of
// the process and of all that it waited for.
func (b *bench) command(ctx context.Context, dir, program string, args ...string) (figures.Sample, error) {
	return b.watched(ctx, nil, dir, program, args...)
}

// heldBy is command, with a look at the memory of the process meanwhile.
func (b *bench) heldBy(ctx context.Context, dir, program string, args ...string) (figures.Sample, error) {
	return b.watched(ctx, watchMemory, dir, program, args...)
}

func (b *bench) watched(ctx context.Context, watch func(pid int) func() int64, dir, program string, args ...string) (figures.Sample, error) {
	s := figures.Sample{Units: 1, Unit: "command", Values: map[string]float64{}}
	var output bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Stdout, command.Stderr = dir, &output, &output
	begun := time.Now()
	if err := command.Start(); err != nil {
		return s, err
	}
	held := func() int64 { return 0 }
	if watch != nil {
		held = watch(command.Process.Pid)
	}
	err := command.Wait()
	s.Wall, s.RssAnon = time.Since(begun), held()
	if err != nil {
		return s, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, &output)
	}
	s.CPU = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return s, nil
}

// memoryEvery is how often the memory of a process is looked at.
const memoryEvery = 5 * time.Millisecond

// watchMemory looks at the memory of a process of its own (RssAnon) until it is asked for
// the most that it saw.
func watchMemory(pid int) (most func() int64) {
	stop, answer := make(chan struct{}), make(chan int64)
	go func() {
		var held int64
		ticks := time.NewTicker(memoryEvery)
		defer ticks.Stop()
		for {
			held = max(held, probe.RssAnon(pid))
			select {
			case <-stop:
				answer <- held
				return
			case <-ticks.C:
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-answer
	}
}
