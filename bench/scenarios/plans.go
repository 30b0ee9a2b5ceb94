package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/bench/probe"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/engine/workspace"
)

// plans is S10, and what many needs cost the checker.
func plans(ctx context.Context, b *bench) error {
	dir, err := b.project("")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the folder that is removed at the end
	n, needs := b.size(250, 20), b.size(200, 10)
	if err := writeFiles(dir, map[string]string{
		"small.yaml": sequence(1, "read"), "long.yaml": sequence(b.size(1000, 50), "read"), "needing.yaml": needing(n, needs),
	}); err != nil {
		return err
	}
	validate := func(file string) turn {
		return turn{scenario: "S10", variant: "validate " + file, measure: func() (figures.Sample, error) {
			return b.command(ctx, dir, b.flowrun, "validate", file+".yaml")
		}}
	}
	if _, err := validate("small").measure(); err != nil { // the plugin is described
		return err
	}
	return b.inTurns(validate("small"), validate("long"), validate("needing"),
		b.ofWorker(ctx, "S10", "in the process", "-what", "plan", "-n", strconv.Itoa(b.size(1000, 50))))
}

// plan measures a parse of a long workflow, and the way to its plan, each the fastest of
// several.
func (w work) plan(ctx context.Context) (err error) {
	project, err := loadProject(ctx, w.dir, func(*workspace.Config) {})
	if err != nil {
		return err
	}
	defer project.Close()
	defer func() { project.EndPlugins(context.WithoutCancel(ctx)) }()
	source := []byte(sequence(w.n, "read"))
	const tries = 5
	var parsed, checked []time.Duration
	cpu := time.Duration(0)
	for range tries {
		begun := time.Now()
		if _, problems := spec.Parse("long.yaml", source); len(problems) > 0 {
			return errors.New(problems[0].Message)
		}
		parsed = append(parsed, time.Since(begun))
		before := probe.CPU(os.Getpid())
		begun = time.Now()
		if _, problems := project.CheckText(ctx, "long.yaml", source); len(problems) > 0 {
			return fmt.Errorf("check: %w", problems)
		}
		checked, cpu = append(checked, time.Since(begun)), probe.CPU(os.Getpid())-before
	}
	return figures.Write(os.Stdout, figures.Sample{Program: "flowrun", Units: 1, Unit: "workflow", Wall: figures.Least(checked), CPU: cpu, Values: map[string]float64{
		"parse ms": float64(figures.Least(parsed).Microseconds()) / 1000,
	}})
}
