package upkeep_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/oklog/ulid/v2"
)

// Retention is tested in whole engines: what it asks of the life of runs is the real
// one.

// opened is an engine over the store in a folder.
func opened(t *testing.T, dir string, change func(*workspace.Config)) *engine.Engine {
	t.Helper()
	config := workspace.Config{
		StateDir: dir, Dir: t.TempDir(), Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	project, err := engine.LoadProject(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closeEngine(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// runHello runs a workflow to its end and returns its id.
func runHello(t *testing.T, e *engine.Engine) string {
	t.Helper()
	const hello = "flowrun: v1\nname: hello\nsteps:\n  - uses: core.log\n    with: {text: hello}\n"
	run, problems, err := e.Start(t.Context(), engine.StartRequest{File: "hello.yaml", Source: []byte(hello)})
	if err != nil || run == nil {
		t.Fatalf("start: %v %v", err, problems)
	}
	if result, err := e.Wait(t.Context(), run.ID); err != nil || result.Run.Status != runs.RunSucceeded {
		t.Fatalf("%+v: %v", result, err)
	}
	return run.ID
}

func TestOldRunsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "flowrun.yaml")
	if err := os.WriteFile(file, []byte("retention: {keep: 1d, max_runs: 22}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var shift atomic.Int64
	open := func() *engine.Engine {
		t.Helper()
		return opened(t, dir, func(c *workspace.Config) {
			c.ProjectFile, c.Dir = file, filepath.Dir(file)
			c.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
		})
	}
	e := open()
	var ids []string
	for range 25 {
		ids = append(ids, runHello(t, e))
	}
	if _, err := e.Project().Services().Seal(t.Context(), pluginhost.SealRequest{RunID: ids[0], Value: []byte(`"canary"`)}); err != nil {
		t.Fatal(err)
	}
	e.LastPassMayTake(time.Minute)
	closeEngine(t, e) // a short process makes its pass when it ends
	e = open()
	for i, id := range ids {
		_, err := e.Get(t.Context(), id)
		if gone := errors.Is(err, fault.ErrRunNotFound); gone != (i < 3) {
			t.Errorf("run %d of 25: %v", i+1, err)
		}
	}
	var gone *upkeep.RunNotFoundError
	if _, err := e.Get(t.Context(), ids[0]); !errors.As(err, &gone) || !strings.Contains(gone.Hint.Text, "22 runs are kept") {
		t.Errorf("a run above the number: %v %+v", err, gone)
	}
	if ids, err := e.Project().Services().OutputOwners(); err != nil || len(ids) != 0 {
		t.Errorf("sealed outputs of %v are left: %v", ids, err)
	}
	cuts, err := e.HistoryCuts()
	if err != nil || len(cuts) != 1 || cuts[0].Workflow != "hello" || cuts[0].By != "max_runs" || cuts[0].Limit != 22 || time.Since(cuts[0].UpTo) > time.Hour {
		t.Errorf("a history that is cut before its time: %+v %v", cuts, err)
	}
	shift.Store(int64(48 * time.Hour))
	ticks := make(chan time.Time)
	stop := e.KeepAt(ticks)
	ticks <- time.Now()
	ticks <- time.Now() // the first pass is over
	stop()
	if rows, _, err := e.List(t.Context(), runs.Filter{}); err != nil || len(rows) != workspace.KeptRuns {
		t.Errorf("%d runs are left after two days: %v", len(rows), err)
	}
	if _, err := e.Get(t.Context(), ids[3]); !errors.As(err, &gone) || !strings.Contains(gone.Hint.Text, "older than 1d") {
		t.Errorf("a run that is too old: %v %+v", err, gone)
	}
	if cuts, err := e.HistoryCuts(); err != nil || len(cuts) != 0 {
		t.Errorf("age alone would have cut it by now: %+v %v", cuts, err)
	}
	closeEngine(t, e)
}

// TestOutputsGoWithTheirRun: a pass of retention leaves no sealed output of what
// it removes. The sweep, which comes once an hour, is for what a crash left.
func TestOutputsGoWithTheirRun(t *testing.T) {
	var shift atomic.Int64
	e := opened(t, t.TempDir(), func(c *workspace.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
	})
	defer closeEngine(t, e)
	e.StopKeeper() // the passes are made here
	var ids []string
	for range workspace.KeptRuns + 3 {
		id := runHello(t, e)
		if _, err := e.Project().Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(`"canary"`)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if removed := e.Pass(t.Context()); removed != 0 {
		t.Fatalf("%d runs are removed before their time", removed)
	}
	shift.Store(int64(workspace.DefaultKeep + time.Hour))
	if removed := e.Pass(t.Context()); removed != 3 {
		t.Fatalf("%d runs are removed", removed)
	}
	left, err := e.Project().Services().OutputOwners()
	if slices.Sort(left); err != nil || !slices.Equal(left, ids[3:]) {
		t.Errorf("sealed outputs are left of %v, %v", left, err)
	}
}

// TestRunsAreRemovedThoughTheirOutputsCanNotBe: that is told, the history says where
// it was cut all the same, and the sweep takes the outputs later.
func TestRunsAreRemovedThoughTheirOutputsCanNotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flowrun.yaml")
	if err := os.WriteFile(file, []byte("retention: {max_runs: 20}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := opened(t, t.TempDir(), func(c *workspace.Config) { c.ProjectFile, c.Dir = file, filepath.Dir(file) })
	defer closeEngine(t, e)
	e.StopKeeper()
	var ids []string
	for range 22 {
		id := runHello(t, e)
		if _, err := e.Project().Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(`"canary"`)}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	e.Project().Services().Detach()
	removed, err := e.Expire(t.Context(), time.Now().UTC())
	if err := errors.Join(err, e.Project().Services().Attach(e.Store().KV())); !errors.Is(err, services.ErrNoStore) {
		t.Error(err)
	}
	if !slices.Equal(removed, ids[:2]) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if cuts, err := e.HistoryCuts(); err != nil || len(cuts) != 1 || cuts[0].Workflow != "hello" {
		t.Errorf("the history does not say where it was cut: %+v, %v", cuts, err)
	}
	if swept, err := e.SweepOutputs(time.Now()); err != nil || swept != 2 {
		t.Errorf("swept %d, %v", swept, err)
	}
}

func TestOutputsOfNothingAreSwept(t *testing.T) {
	e := opened(t, t.TempDir(), nil)
	defer closeEngine(t, e)
	kept := runHello(t, e)
	fresh := strings.ToLower(ulid.Make().String())
	for _, id := range []string{kept, "01k8zq4c0vdx3y6t7k9m2n5p8r", calls.Prefix + "01k8zq4c0vdx3y6t7k9m2n5p8r", calls.Prefix + fresh} {
		if _, err := e.Project().Services().Seal(t.Context(), pluginhost.SealRequest{RunID: id, Value: []byte(`"canary"`)}); err != nil {
			t.Fatal(err)
		}
	}
	swept, err := e.SweepOutputs(time.Now())
	if err != nil || swept != 2 {
		t.Errorf("swept %d: %v", swept, err)
	}
	if ids, err := e.Project().Services().OutputOwners(); err != nil || !slices.Equal(ids, []string{kept, calls.Prefix + fresh}) {
		t.Errorf("left: %v %v", ids, err)
	}
}
