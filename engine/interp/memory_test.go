package interp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

const counted = `{"type":"object","additionalProperties":false,"required":["total","last","word"],"properties":{
	"total":{"type":"integer","default":3},"last":{"type":["string","null"],"format":"date-time"},"word":{"type":"string","default":"a","enum":["a","b"]}}}`

// remembering is a workflow with state that reads `total` and sets what is given.
func remembering(namesAndValues ...any) *plan.Workflow {
	set := enginetest.Let("set", namesAndValues...)
	set.Kind = plan.StepSetState
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", map[string]any{"value": "${{ state.total }}"}), set)
	w.State = json.RawMessage(counted)
	return w
}

func begin(state map[string]string, versions map[string]uint64) journal.Event {
	start := &journal.Start{RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), StateVersions: versions}
	for name, value := range state {
		if start.State == nil {
			start.State = map[string]json.RawMessage{}
		}
		start.State[name] = json.RawMessage(value)
	}
	return journal.Event{Kind: journal.Started, Start: start}
}

func finishOf(commands []journal.Command) *journal.Finish {
	for _, command := range commands {
		if command.Finish != nil {
			return command.Finish
		}
	}
	return nil
}

func TestRule14StateIsTheDefaultOrWhatIsStored(t *testing.T) {
	for stored, want := range map[string]string{"": `{"value":3}`, "9007199254740993": `{"value":9007199254740993}`} {
		state := map[string]string{}
		if stored != "" {
			state["total"] = stored
		}
		call := finishedCall(t, apply(t, newMachine(t, remembering("total", 1)), begin(state, nil)))
		if string(call.Input) != want {
			t.Errorf("stored %q: input %s, want %s", stored, call.Input, want)
		}
	}
}

func finishedCall(t *testing.T, commands []journal.Command) *journal.Call {
	t.Helper()
	for _, command := range commands {
		if command.Call != nil {
			return command.Call
		}
	}
	t.Fatal("no call")
	return nil
}

func TestRule14TheSuccessNamesTheVersionsThatWereRead(t *testing.T) {
	m := newMachine(t, remembering("total", "${{ state.total + 1 }}", "last", "${{ now() }}"))
	apply(t, m, begin(map[string]string{"total": "7"}, map[string]uint64{"total": 12}))
	state, cursors := m.Reads()
	if len(state) != 2 || state["total"] != 12 || len(cursors) != 0 {
		t.Errorf("reads %v, %v", state, cursors)
	}
	finish := finishOf(apply(t, m, completed("a", `{}`)))
	if string(finish.State["total"]) != "8" || string(finish.State["last"]) != `"2026-03-02T09:30:00Z"` ||
		finish.StateVersions["total"] != 12 || finish.StateVersions["last"] != 0 || !finish.Writes() {
		t.Errorf("finish %+v", finish)
	}
}

func TestRule14ASetValueIsOfItsType(t *testing.T) {
	m := newMachine(t, remembering("word", "${{ 'c' }}"))
	apply(t, m, begin(nil, nil))
	finish := finishOf(apply(t, m, completed("a", `{}`)))
	if finish.Status != runs.RunFailed || finish.Error.Kind != plan.KindInvalid || !strings.Contains(finish.Error.Message, "the state `word`") {
		t.Errorf("finish %+v: %v", finish, finish.Error)
	}
}

func TestRule14AStoredValueThatDoesNotFitFailsTheRun(t *testing.T) {
	w := remembering("total", 1)
	w.Finally = enginetest.Workflow(enginetest.Do("end", "svc.read", nil)).Steps
	m := newMachine(t, w)
	commands := apply(t, m, begin(map[string]string{"total": `"many"`}, nil))
	finish := finishOf(commands)
	if finish == nil || finish.Status != runs.RunFailed || finish.Error.Reason != "state" || !strings.Contains(finish.Error.Hint.Text, "state reset") {
		t.Fatalf("finish %+v", finish)
	}
	if call := finishedCall(t, commands); call.Step != "finally:end" {
		t.Errorf("the call is of %s", call.Step)
	}
}

func TestRule14WhatMovedFailsTheRunAndADiscardingResumeWritesNothing(t *testing.T) {
	m := newMachine(t, remembering("total", 1))
	apply(t, m, begin(nil, nil))
	apply(t, m, journal.Event{Kind: journal.Moved, Failed: &runs.Error{Kind: plan.KindConflict, Message: "moved"}})
	finish := finishOf(apply(t, m, completed("a", `{}`)))
	if finish.Status != runs.RunFailed || finish.Error.Kind != plan.KindConflict || len(finish.State) != 0 {
		t.Fatalf("finish %+v", finish)
	}
	finish = finishOf(apply(t, m, journal.Event{Kind: journal.Resumed, Discard: true}))
	if finish.Status != runs.RunSucceeded || finish.Writes() || len(finish.StateVersions) != 0 {
		t.Errorf("finish %+v", finish)
	}
	if state, cursors := m.Reads(); state != nil || cursors != nil {
		t.Errorf("it still counts on %v, %v", state, cursors)
	}
}

// TestRule14ARefusalBeforeARunGoesOnCounts is what the driver says when the event
// that lets a run begin or go on leads to a success at once, and the store refuses
// that: the same event again must not lead to the same success.
func TestRule14ARefusalBeforeARunGoesOnCounts(t *testing.T) {
	moved := journal.Event{Kind: journal.Moved, Failed: &runs.Error{Kind: plan.KindConflict, Message: "moved"}}
	refused := func(what string, m *interp.Machine, event journal.Event) {
		t.Helper()
		apply(t, m, moved)
		finish := finishOf(apply(t, m, event))
		if finish == nil || finish.Status != runs.RunFailed || finish.Error.Kind != plan.KindConflict || finish.Writes() {
			t.Fatalf("%s: finish %+v", what, finish)
		}
		finish = finishOf(apply(t, m, journal.Event{Kind: journal.Resumed}))
		if finish == nil || finish.Status != runs.RunSucceeded || !finish.Writes() {
			t.Errorf("%s: the refusal outlives its event: finish %+v", what, finish)
		}
	}

	alone := remembering("total", 1)
	alone.Steps = alone.Steps[len(alone.Steps)-1:] // the set_state
	alone.Steps[0].Needs = nil
	m, begun := newMachine(t, alone), begin(nil, nil)
	begun.Start.Interpreter = interp.Version
	apply(t, m, journal.Event{Kind: journal.Queued, Start: begun.Start})
	refused("a start", m, begun)

	failing := remembering("total", 1)
	m, begun = newMachine(t, failing), begin(nil, nil)
	begun.Start.Interpreter = interp.Version
	apply(t, m, begun)
	apply(t, m, journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}})
	apply(t, m, completed("a", `{}`))
	refused("a resume", m, journal.Event{Kind: journal.Resumed})
}

func TestRule13PagesOfTwoCursorsDoNotFitTogether(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.list", nil, enginetest.Paginate(5, 100)))
	w.Steps[0].Incremental = "ledger"
	m := newMachine(t, w)
	start(t, m)
	page := func(path, next string, version uint64) []journal.Command {
		answer := completed(path, `{"rows":[1]}`)
		answer.Completed.NextCursor, answer.Completed.Watermark = next, []byte("mark")
		answer.Completed.Cursor = &runs.CursorRead{Key: "k", Version: version}
		return apply(t, m, answer)
	}
	page("a", "x", 4)
	finish := finishOf(page("a#page2", "", 5))
	if finish == nil || finish.Error == nil || finish.Error.Kind != plan.KindConflict {
		t.Fatalf("finish %+v", finish)
	}
	if _, cursors := m.Reads(); cursors["k"] != 4 {
		t.Errorf("reads %v", cursors)
	}
}

func TestRule13TheWatermarkNamesItsCursor(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.list", nil, enginetest.Paginate(5, 100)))
	w.Steps[0].Incremental = "ledger"
	m := newMachine(t, w)
	start(t, m)
	answer := completed("a", `{"rows":[1]}`)
	answer.Completed.Watermark, answer.Completed.Cursor = []byte("mark"), &runs.CursorRead{Key: "k", Version: 4}
	finish := finishOf(apply(t, m, answer))
	if string(finish.Cursors["k"]) != "mark" || finish.CursorVersions["k"] != 4 {
		t.Errorf("finish %+v", finish)
	}
}

func TestRule16TheKeyIsReadFromTheInputs(t *testing.T) {
	key := func(value any, inputs string) (string, *runs.Error) {
		w := enginetest.Workflow()
		w.Inputs = json.RawMessage(`{"type":"object","properties":{"site":{"type":"string"},"n":{"type":"integer"}}}`)
		w.Concurrency = &plan.Concurrency{Key: enginetest.Value(value), Limit: 1}
		program, err := interp.Compile(w)
		if err != nil {
			t.Fatal(err)
		}
		return program.SlotKey(json.RawMessage(inputs), time.Now())
	}
	for want, value := range map[string]any{"fixed": "fixed", "site-A": "site-${{ inputs.site }}", "7": "${{ inputs.n }}"} {
		if got, failure := key(value, `{"site":"A","n":7}`); got != want || failure != nil {
			t.Errorf("%v gives %q, %v, want %q", value, got, failure, want)
		}
	}
	for _, site := range []string{"", strings.Repeat("x", 1001)} {
		encoded, _ := json.Marshal(map[string]any{"site": site})
		if got, failure := key("${{ inputs.site }}", string(encoded)); failure == nil {
			t.Errorf("a site of %d bytes gives %q", len(site), got)
		}
	}
}

func TestRule16ARunThatHasNotBegunCanEnd(t *testing.T) {
	for _, c := range []struct {
		event  journal.Event
		status runs.Status
	}{
		{journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}, By: "ann"}, runs.RunCanceled},
		{journal.Event{Kind: journal.Refused, Failed: &runs.Error{Kind: plan.KindConflict, Message: "full"}}, runs.RunFailed},
		{journal.Event{Kind: journal.Refused, Failed: &runs.Error{Kind: plan.KindCanceled, Message: "skipped"}}, runs.RunCanceled},
	} {
		w := remembering("total", 1)
		w.Finally = enginetest.Workflow(enginetest.Do("end", "svc.read", nil)).Steps
		m := newMachine(t, w)
		apply(t, m, journal.Event{Kind: journal.Queued, Start: &journal.Start{RunID: enginetest.RunID, Trigger: "manual"}})
		if status, _ := m.Status(); status != runs.RunQueued || !m.Unstarted() || m.Begun().RunID != enginetest.RunID {
			t.Errorf("accepted, the run is %s", status)
		}
		commands := apply(t, m, c.event)
		if status, _ := m.Status(); status != c.status || !m.Done() || m.HasBegun() || len(commands) != 1 || len(m.Steps()) != 0 {
			t.Errorf("%s: the run is %s with %v", c.event.Kind, status, paths(commands))
		}
		if later := apply(t, m, journal.Event{Kind: journal.Resumed}); len(later) != 0 || !m.Unstarted() || m.Attempt() != 2 || m.Error() != nil {
			t.Errorf("a resume leads to %v, attempt %d", paths(later), m.Attempt())
		}
		if call := finishedCall(t, apply(t, m, begin(nil, nil))); call.Step != "a" {
			t.Errorf("then the run begins with %s", call.Step)
		}
	}
}
