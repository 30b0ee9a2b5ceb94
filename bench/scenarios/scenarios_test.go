package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/bench/figures"
	"github.com/flowrun/flowrun/internal/testbuild"
)

// programs builds what a measuring needs, and returns the options that name it.
func programs(t *testing.T) (self string, o options) {
	t.Helper()
	dir := t.TempDir()
	self, o = filepath.Join(dir, "scenarios"), options{repeat: 1, dir: dir, flowrun: filepath.Join(dir, "flowrun"), floor: filepath.Join(dir, "floor")}
	for path, source := range map[string]string{self: ".", o.flowrun: "../../cmd/flowrun", o.floor: "../floor"} {
		if err := testbuild.Program(path, source); err != nil {
			t.Fatal(err)
		}
	}
	return self, o
}

// TestScenariosRun tries some of them, small: commands, the embedding API, the server, a
// store that was filled.
func TestScenariosRun(t *testing.T) {
	self, o := programs(t)
	o.quick = true
	b, err := newBench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b.self = self
	for name, run := range map[string]func(context.Context, *bench) error{
		"S2": sequentialWrites, "S4": manyRuns, "S6": lists, "S10": plans, "watchers": watchers,
	} {
		if err := run(t.Context(), b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	rows := figures.Rows(b.samples)
	if len(rows) < 20 {
		t.Errorf("%d lines only:\n%s", len(rows), figures.Text(rows))
	}
	for _, r := range rows {
		if r.ID == "S9" && r.What == "fsyncs a step, with an effect" && (r.Median < 1.9 || r.Median > 2.2) {
			t.Errorf("%s: %v", r.What, r.Median)
		}
	}
	profilesAreWritten(t, b)
	if err := b.close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(o.dir)
	if err != nil || len(left) != 3 {
		t.Errorf("the folder has %d entries besides the programs: %v", len(left)-3, err)
	}
}

func TestScenariosAreChosenByName(t *testing.T) {
	chosen, err := choose("s2R,watchers")
	if err != nil || len(chosen) != 2 || chosen[0].id != "S2r" || chosen[1].id != "watchers" {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := choose("S2,S99"); err == nil {
		t.Error("S99 was found")
	}
}

func TestWhyARunFailed(t *testing.T) {
	for output, want := range map[string]string{
		"run x: running\n12:00 f failed · invalid: too large\n":     "invalid: too large\n",
		"plugin bench runs as it is\nrows.yaml:3:1: error[FR1]: no": "rows.yaml:3:1: error[FR1]: no",
		"killed": "killed",
	} {
		if got := reason(output); got != want {
			t.Errorf("of %q the reason is %q, not %q", output, got, want)
		}
	}
}
