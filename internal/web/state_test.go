package web

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/memory"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// fakeMemory knows one workflow with a name that no path can hold.
type fakeMemory struct{ requests []memory.StateRequest }

const oddName = "über ./? &"

func (f *fakeMemory) known(workflow string) error {
	if workflow != oddName {
		return &fault.UnknownError{What: "workflow with state", Name: workflow, Hint: diag.Say("look")}
	}
	return nil
}

func (f *fakeMemory) State(_ context.Context, workflow, name string) ([]memory.StateItem, error) {
	return []memory.StateItem{{Workflow: workflow, Name: name, Value: json.RawMessage("1")}}, f.known(workflow)
}

func (f *fakeMemory) SetState(_ context.Context, r memory.StateRequest) (*memory.StateItem, error) {
	f.requests = append(f.requests, r)
	if r.Value.Text == "x" {
		return nil, &fault.InputError{Input: r.Name, Message: "expects an integer"}
	}
	return &memory.StateItem{Workflow: r.Workflow, Name: r.Name, Value: json.RawMessage(r.Value.Text), By: r.By}, f.known(r.Workflow)
}

func (f *fakeMemory) PluginStates(_ context.Context, plugin string) ([]services.PluginState, error) {
	return []services.PluginState{{Plugin: plugin, Scope: "plugin", Keys: 2}}, nil
}

func (f *fakeMemory) RemovePluginState(_ context.Context, r services.PluginStateRequest) (*services.RemovedState, error) {
	return &services.RemovedState{Removed: []services.PluginState{{Plugin: r.Plugin, Scope: r.Scope}}}, nil
}

func (f *fakeMemory) ResetState(_ context.Context, r memory.StateRequest) ([]string, error) {
	return []string{r.Name}, f.known(r.Workflow)
}

func (f *fakeMemory) StateCursors(_ context.Context, workflow string) ([]memory.CursorItem, error) {
	return []memory.CursorItem{{Workflow: workflow, Name: "c"}}, nil
}

func (f *fakeMemory) StateHistory(_ context.Context, workflow, name string) ([]memory.StateChange, error) {
	return []memory.StateChange{{Version: 1, By: workflow + name}}, f.known(workflow)
}

func TestStateGoesThroughTheAPI(t *testing.T) {
	backend := &fakeMemory{}
	client := NewClient(InProcess(NewSocketHandler(Options{Memory: backend, Gate: NewGate()})))
	ctx := t.Context()
	if items, err := client.State(ctx, oddName, "n/a"); err != nil || items[0].Workflow != oddName || items[0].Name != "n/a" {
		t.Errorf("state %+v: %v", items, err)
	}
	item, err := client.SetState(ctx, memory.StateRequest{Workflow: oddName, Name: "a", Value: workspace.Input{Text: "2"}, By: "ann"})
	if err != nil || string(item.Value) != "2" || item.By != "ann" {
		t.Errorf("set %+v: %v", item, err)
	}
	if states, err := client.PluginStates(ctx, "tasks"); err != nil || len(states) != 1 || states[0].Plugin != "tasks" || states[0].Keys != 2 {
		t.Errorf("states %+v: %v", states, err)
	}
	if removed, err := client.RemovePluginState(ctx, services.PluginStateRequest{Plugin: "tasks", Scope: "connection/a b"}); err != nil || removed.Removed[0].Scope != "connection/a b" {
		t.Errorf("removed %+v: %v", removed, err)
	}
	if answer, err := client.ResetState(ctx, memory.StateRequest{Workflow: oddName, Name: "a"}); err != nil || answer.Reset[0] != "a" || answer.Workflow != oddName {
		t.Errorf("reset %+v: %v", answer, err)
	}
	if items, err := client.StateCursors(ctx, ""); err != nil || items[0].Name != "c" || items[0].Workflow != "" {
		t.Errorf("cursors %+v: %v", items, err)
	}
	if changes, err := client.StateHistory(ctx, oddName, "a"); err != nil || changes[0].By != oddName+"a" {
		t.Errorf("history %+v: %v", changes, err)
	}
}

func TestStateErrorsHaveTheirCodes(t *testing.T) {
	client := NewClient(InProcess(NewSocketHandler(Options{Memory: &fakeMemory{}, Gate: NewGate()})))
	ctx := t.Context()
	want := func(what string, err error, code wire.Code) {
		t.Helper()
		var problem *Problem
		if !errors.As(err, &problem) || problem.Code != code {
			t.Errorf("%s gave %v, want %s", what, err, code)
		}
	}
	_, err := client.State(ctx, "w", "")
	want("an unknown workflow", err, wire.CodeNotFound)
	_, err = client.State(ctx, "", "")
	want("no workflow", err, wire.CodeBadRequest)
	_, err = client.StateHistory(ctx, oddName, "")
	want("a history without a name", err, wire.CodeBadRequest)
	_, err = client.SetState(ctx, memory.StateRequest{Workflow: oddName, Name: "a", Value: workspace.Input{Text: "x"}})
	want("a value of another type", err, wire.CodeInvalidInput)
	for what, path := range map[string]string{"an unknown parameter": "?workflow=w&limit=1", "a parameter twice": "/cursors?workflow=w&workflow=v"} {
		_, err = fetch[struct{}](ctx, client, "/local/state"+path)
		want(what, err, wire.CodeBadRequest)
	}
}
