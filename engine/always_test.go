package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// serving is an engine over workflow files, with its server's parts running.
func serving(t *testing.T, dir string, files map[string]string, change func(*workspace.Config)) *Engine {
	t.Helper()
	for name, text := range files {
		writePlain(t, dir, name, text)
	}
	e, err := dbEngine(t, filepath.Join(dir, "state"), func(c *workspace.Config) {
		c.Dir, c.ProjectFile = dir, filepath.Join(dir, "flowrun.yaml")
		inMemory(c)
		if change != nil {
			change(c)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AlwaysOn(t.Context()); err != nil {
		closeEngine(t, e)
		t.Fatal(err)
	}
	return e
}

// ended waits for the end of a run.
func ended(t *testing.T, e *Engine, id string) *runs.Result {
	t.Helper()
	result, err := e.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// eventually asks until the answer is good: what happens in the background has no
// other end to wait for.
func eventually(t *testing.T, what string, good func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !good() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain: " + what)
		}
	}
}

const approvalWorkflow = `flowrun: v1
name: gate
steps:
  - {id: ask, uses: core.approve, with: {message: "go on?"}}
`

func TestAServerTakesUpWhatNoProcessDrives(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"flowrun.yaml": "workflows: [flows]\n", "flows/hello.yaml": helloWorkflow}
	e := serving(t, dir, files, nil)
	open, problems, err := e.Start(t.Context(), StartRequest{File: "gate.yaml", Source: []byte(approvalWorkflow)})
	if err != nil || open == nil {
		t.Fatal(err, problems)
	}
	done := runHello(t, e)
	closeEngine(t, e)

	e = serving(t, dir, nil, nil)
	defer closeEngine(t, e)
	eventually(t, "the open run is driven", func() bool { return e.driver.Driven(open.ID) })
	if e.driver.Driven(done) {
		t.Error("a run that has ended is driven")
	}
	if err := e.AlwaysOn(t.Context()); !errors.Is(err, errAlwaysOn) {
		t.Errorf("a second AlwaysOn: %v", err)
	}
	if _, err := e.Decide(t.Context(), open.ID, "ask", ActApprove, DecideRequest{}); err != nil {
		t.Fatal(err)
	}
	if result := ended(t, e, open.ID); result.Run.Status != runs.RunSucceeded {
		t.Errorf("it ends as %+v", result.Run)
	}
}

const oneAtATime = `flowrun: v1
name: narrow
concurrency: {key: narrow}
steps:
  - {id: ask, uses: core.approve, with: {message: "go on?"}}
`

// A run that waits for its place, and the one that holds it, are both taken up.
func TestAServerTakesUpTheQueue(t *testing.T) {
	dir := t.TempDir()
	e := serving(t, dir, map[string]string{"flowrun.yaml": "workflows: [flows]\n", "flows/narrow.yaml": oneAtATime}, nil)
	var ids []string
	for range 3 {
		run, problems, err := e.StartNamed(t.Context(), "narrow", NamedStart{})
		if err != nil {
			t.Fatal(err, problems)
		}
		ids = append(ids, run.ID)
	}
	closeEngine(t, e)

	e = serving(t, dir, nil, nil)
	defer closeEngine(t, e)
	for _, id := range ids {
		eventually(t, "run "+id+" waits for a person", func() bool {
			row, err := e.store.Run(id)
			return err == nil && row.Status == runs.RunWaiting && e.driver.Driven(id)
		})
		if _, err := e.Decide(t.Context(), id, "ask", ActApprove, DecideRequest{}); err != nil {
			t.Fatal(err)
		}
		if result := ended(t, e, id); result.Run.Status != runs.RunSucceeded {
			t.Errorf("run %s ends as %+v", id, result.Run)
		}
	}
}

func TestAStopEndsTheServersParts(t *testing.T) {
	e := serving(t, t.TempDir(), map[string]string{"flowrun.yaml": "workflows: [flows]\n"}, nil)
	if !e.background.On() || e.Ready() != nil {
		t.Error("the server's parts do not run")
	}
	if err := e.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.background.parts.Wait() // they end without Close
	if e.background.On() || !errors.Is(e.Ready(), ErrClosing) {
		t.Errorf("after a drain: on %v, ready %v", e.background.On(), e.Ready())
	}
	closeEngine(t, e)
}

// A sub-workflow's run is taken up by the run whose step it is.
func TestAServerTakesUpSubWorkflows(t *testing.T) {
	dir := t.TempDir()
	e := serving(t, dir, map[string]string{
		"flowrun.yaml":     "workflows: [flows]\n",
		"flows/gate.yaml":  approvalWorkflow,
		"flows/outer.yaml": "flowrun: v1\nname: outer\nsteps:\n  - {id: inner, uses: ./gate.yaml}\n",
	}, nil)
	run, problems, err := e.StartNamed(t.Context(), "outer", NamedStart{})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	child := func() (id string) {
		rows, _, err := e.store.Runs(runs.Filter{Workflow: "gate"})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 1 && rows[0].Status == runs.RunWaiting && e.driver.Driven(rows[0].ID) {
			id = rows[0].ID
		}
		return id
	}
	eventually(t, "the inner run waits", func() bool { return child() != "" })
	closeEngine(t, e)

	e = serving(t, dir, nil, nil)
	defer closeEngine(t, e)
	eventually(t, "both are driven", func() bool { return child() != "" && e.driver.Driven(run.ID) })
	if _, err := e.Decide(t.Context(), child(), "ask", ActApprove, DecideRequest{}); err != nil {
		t.Fatal(err)
	}
	if result := ended(t, e, run.ID); result.Run.Status != runs.RunSucceeded {
		t.Errorf("it ends as %+v", result.Run)
	}
}

// A run whose plugin is not what it was is left for a person; the others go on.
func TestAServerLeavesARunWhosePluginHasChanged(t *testing.T) {
	dir := t.TempDir()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "list.json")
	files := map[string]string{
		"list.json":         `{"items":[]}`,
		"flowrun.yaml":      "workflows: [flows]\nlimits: {sandbox: \"off\"}\nconnections: {feed: {plugin: feed, config: {file: " + list + ", token: \"${{ secrets.TOKEN }}\"}}}\n",
		"flows/gate.yaml":   approvalWorkflow,
		"flows/reader.yaml": "flowrun: v1\nname: reader\nsteps:\n  - {id: ask, uses: core.approve, with: {message: \"go on?\"}}\n  - {id: list, uses: feed.list}\n",
	}
	withPlugin := func(c *workspace.Config) {
		c.Executable, c.Bundled, c.Environ = executable, []string{"feed"}, []string{"FLOWRUN_SECRET_TOKEN=t0ken"}
	}
	e := serving(t, dir, files, withPlugin)
	var ids []string
	for _, name := range []string{"reader", "gate"} {
		run, problems, err := e.StartNamed(t.Context(), name, NamedStart{})
		if err != nil || run == nil {
			t.Fatal(err, problems)
		}
		ids = append(ids, run.ID)
	}
	closeEngine(t, e)

	e = serving(t, dir, map[string]string{"flowrun.yaml": "workflows: [flows]\n"}, nil)
	eventually(t, "the run without a plugin is driven", func() bool { return e.driver.Driven(ids[1]) })
	e.background.wait()
	if e.driver.Driven(ids[0]) {
		t.Error("a run whose plugin is gone is driven")
	}
	closeEngine(t, e)

	e = serving(t, dir, map[string]string{"flowrun.yaml": files["flowrun.yaml"]}, withPlugin)
	defer closeEngine(t, e)
	eventually(t, "the run is driven again", func() bool { return e.driver.Driven(ids[0]) })
}

func TestOldFiresGoWithTheSweep(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	e := stateProject(t, func() time.Time { return now }, nil)
	var rows []runs.Fire
	for _, age := range []time.Duration{workspace.DefaultKeep + time.Hour, workspace.DefaultKeep - time.Hour, time.Minute} {
		at := now.Add(-age)
		rows = append(rows, runs.Fire{Workflow: "often", Trigger: "tick", Kind: plan.TriggerEvery, Slot: at, At: at, Skipped: runs.SkipOverlap})
	}
	if err := e.store.PutFires(rows, "often", "tick", nil); err != nil {
		t.Fatal(err)
	}
	e.Sweep(t.Context())
	left, _, err := e.store.Fires(runs.FireFilter{})
	if err != nil || len(left) != 2 || !left[1].Slot.Equal(rows[1].Slot) {
		t.Errorf("left: %+v, %v", left, err)
	}
}

func TestAnEngineWhoseStoreHasFailedIsNotReady(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	e.fail(&store.FailedError{Path: "x", Err: errors.New("no more")})
	e.fail(errors.New("and another"))
	var fault *fault.StoreError
	if err := e.Ready(); !errors.As(err, &fault) || !strings.Contains(err.Error(), "no more") {
		t.Errorf("ready: %v", err)
	}
}
