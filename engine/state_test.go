package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// stateProject is an engine over a project of some files.
func stateProject(t *testing.T, now func() time.Time, files map[string]string) *Engine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, Executable: "none", Version: "test", Now: now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler),
	}
	if _, found := files["flowrun.yaml"]; found {
		config.ProjectFile = filepath.Join(dir, "flowrun.yaml")
	}
	inMemory(&config)
	project, err := LoadProject(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

const countWorkflow = `flowrun: v1
name: count
inputs: {ok: {type: boolean, default: true}}
state: {total: {type: integer, default: 0}, note: {type: string, nullable: true}}
steps:
  - set_state: {total: "${{ state.total + 1 }}"}
  - uses: core.assert
    with: {that: "${{ inputs.ok }}"}
`

func startCount(t *testing.T, e *Engine, ok string) *runs.Result {
	t.Helper()
	run, problems, err := e.Start(t.Context(), StartRequest{File: "count.yaml", Source: []byte(countWorkflow), Inputs: map[string]workspace.Input{"ok": {Text: ok}}})
	if err != nil || run == nil {
		t.Fatalf("start: %v %v", err, problems)
	}
	result, err := e.Wait(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRule14StateIsReadAndSetByPeople(t *testing.T) {
	e := stateProject(t, time.Now, map[string]string{"flowrun.yaml": "workflows: [count.yaml]\n", "count.yaml": countWorkflow})
	ctx := t.Context()
	items, err := e.State(ctx, "count", "") // declared in a file, nothing has run
	if err != nil || len(items) != 2 || !items[0].Default || string(items[0].Value) != "0" || string(items[1].Value) != "null" {
		t.Fatalf("state %+v: %v", items, err)
	}
	startCount(t, e, "true")
	item, err := e.SetState(ctx, memory.StateRequest{Workflow: "count", Name: "total", Value: workspace.Input{Text: "41"}, By: "ann"})
	if err != nil || string(item.Value) != "41" || item.By != "ann" || item.Default {
		t.Fatalf("set gave %+v: %v", item, err)
	}
	startCount(t, e, "true")
	if items, err := e.State(ctx, "count", "total"); err != nil || string(items[0].Value) != "42" || items[0].Run == "" {
		t.Errorf("state %+v: %v", items, err)
	}
	history, err := e.StateHistory(ctx, "count", "total")
	if err != nil || len(history) != 3 || history[1].By != "ann" || string(history[2].Value) != "42" {
		t.Errorf("history %+v: %v", history, err)
	}
	names, err := e.ResetState(ctx, memory.StateRequest{Workflow: "count", By: "bob"})
	if err != nil || len(names) != 1 || names[0] != "total" {
		t.Errorf("reset %v: %v", names, err)
	}
	if history, err := e.StateHistory(ctx, "count", "total"); err != nil || !history[3].Reset || history[3].By != "bob" {
		t.Errorf("history %+v: %v", history, err)
	}
}

func TestRule14WhatDoesNotFitIsRefused(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	ctx := t.Context()
	var unknown *fault.UnknownError
	if _, err := e.State(ctx, "count", ""); !errors.As(err, &unknown) {
		t.Errorf("an unknown workflow gave %v", err)
	}
	startCount(t, e, "true") // no project file: the declaration is that of the newest run
	var wrong *fault.InputError
	for text, want := range map[string]string{"x": "expects an integer", "1.5": "expects an integer"} {
		if _, err := e.SetState(ctx, memory.StateRequest{Workflow: "count", Name: "total", Value: workspace.Input{Text: text}}); !errors.As(err, &wrong) || !strings.Contains(wrong.Message, want) {
			t.Errorf("%s gave %v", text, err)
		}
	}
	long, _ := json.Marshal(strings.Repeat("x", 1<<20))
	if _, err := e.SetState(ctx, memory.StateRequest{Workflow: "count", Name: "note", Value: workspace.Input{JSON: long}}); !errors.As(err, &wrong) {
		t.Errorf("a long value gave %v", err)
	}
	if _, err := e.SetState(ctx, memory.StateRequest{Workflow: "count", Name: "totl", Value: workspace.Input{Text: "1"}}); !errors.As(err, &unknown) || !strings.Contains(unknown.Hint.Text, "total") {
		t.Errorf("an unknown name gave %v", err)
	}
	if _, err := e.ResetState(ctx, memory.StateRequest{Workflow: "count", Name: "totl"}); !errors.As(err, &unknown) {
		t.Errorf("reset of an unknown name gave %v", err)
	}
	if _, err := e.StateHistory(ctx, "count", "totl"); !errors.As(err, &unknown) {
		t.Errorf("history of an unknown name gave %v", err)
	}
}

func TestRule14AResumeCountsOnWhatTheRunRead(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	ctx := t.Context()
	failed := startCount(t, e, "false")
	if failed.Run.Status != runs.RunFailed {
		t.Fatalf("run is %+v", failed.Run)
	}
	if _, err := e.SetState(ctx, memory.StateRequest{Workflow: "count", Name: "note", Value: workspace.Input{Text: "other"}, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(ctx, failed.Run.ID, ResumeRequest{}); err != nil {
		t.Fatalf("a value that the run does not read keeps it from going on: %v", err)
	}
	if _, err := e.Wait(ctx, failed.Run.ID); err != nil {
		t.Fatal(err)
	}
	startCount(t, e, "true")
	var conflict *fault.ConflictError
	if _, err := e.Resume(ctx, failed.Run.ID, ResumeRequest{}); !errors.As(err, &conflict) || !strings.Contains(conflict.Message, "the state `total` has moved") {
		t.Fatalf("resume gave %v", err)
	}
	if _, err := e.Resume(ctx, failed.Run.ID, ResumeRequest{DiscardWrites: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Wait(ctx, failed.Run.ID); err != nil {
		t.Fatal(err)
	}
	if items, err := e.State(ctx, "count", "total"); err != nil || string(items[0].Value) != "1" {
		t.Errorf("state %+v: %v", items, err)
	}
	rerun, _, err := e.Rerun(ctx, failed.Run.ID, RerunRequest{Inputs: map[string]workspace.Input{"ok": {Text: "true"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Wait(ctx, rerun.ID); err != nil {
		t.Fatal(err)
	}
	if items, err := e.State(ctx, "count", "total"); err != nil || string(items[0].Value) != "2" {
		t.Errorf("a rerun reads today's: %+v: %v", items, err)
	}
}

func TestRule16AKeyThatIsNoTextIsAnInputError(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	source := "flowrun: v1\nname: k\ninputs: {site: {type: string}}\nconcurrency: {key: \"${{ inputs.site }}\"}\nsteps: [{let: {a: 1}}]\n"
	_, _, err := e.Start(t.Context(), StartRequest{File: "k.yaml", Source: []byte(source), Inputs: map[string]workspace.Input{"site": {JSON: json.RawMessage(`""`)}}})
	var wrong *fault.InputError
	if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, "concurrency") {
		t.Errorf("start gave %v", err)
	}
}
