package local_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// parentOf is a workflow with one step that runs another.
func parentOf(child *plan.Workflow) *plan.Workflow {
	w := workflow()
	w.Name = "parent"
	w.Workflows = map[string]*plan.Workflow{"child.yaml": child}
	w.Steps = []plan.Step{{
		ID: "sub", Kind: plan.StepAction, RunIf: plan.RunIfOK, Uses: "./child.yaml", Workflow: "child.yaml",
		With: plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{}`)},
	}}
	return w
}

// asking is a workflow of one approval.
func asking() *plan.Workflow {
	w := workflow()
	w.Steps = []plan.Step{{
		ID: "ask", Kind: plan.StepAction, RunIf: plan.RunIfOK, Uses: "core.approve",
		With: plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{"message":"go?"}`)},
	}}
	return w
}

func approve(held bool) local.Decide {
	return func(*interp.Machine, bool) (*journal.Event, error) {
		return &journal.Event{Kind: journal.Signaled, Path: "ask", By: "ann", Signal: &journal.Signal{Held: held}}, nil
	}
}

// childOf returns the run of the parent's step.
func (b *bench) childOf(parent string) string {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		result, err := b.driver.Snapshot(b.t.Context(), parent)
		if err != nil {
			b.t.Fatal(err)
		}
		if id := result.Steps["sub"].Run; id != "" {
			if _, err := b.store.Run(id); err == nil {
				return id
			}
		}
	}
	b.t.Fatal("the child did not begin")
	return ""
}

func (b *bench) await(what string, holds func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not so after 10 s: %s", what)
		}
	}
}

func TestRule19AResumedParentGoesOnWithTheSameChild(t *testing.T) {
	b := newBench(t)
	var down atomic.Bool
	down.Store(true)
	b.service.script["second"] = func(context.Context, runs.Request) runs.Answer {
		if down.Load() {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "gone"}}
		}
		return done()
	}
	parent := b.start(parentOf(workflow("first once", "second read")))
	failed := b.wait(parent)
	child := failed.Steps["sub"].Run
	if failed.Run.Status != runs.RunFailed || failed.Error.Kind != plan.KindNotFound || failed.Error.Step != "sub" ||
		!strings.Contains(string(failed.Error.Details), child) || !strings.Contains(failed.Error.Message, "in its step second") {
		t.Fatalf("the parent is %+v", failed)
	}
	if row, err := b.store.Run(child); err != nil || row.Parent == nil || row.Parent.Run != parent || row.Status != runs.RunFailed {
		t.Fatalf("the child's row %+v (%v)", row, err)
	}
	down.Store(false)
	if err := b.driver.Load(parent, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	if got := b.wait(parent); got.Run.Status != runs.RunSucceeded || got.Steps["sub"].Run != child {
		t.Errorf("the resumed parent is %+v", got.Run)
	}
	if n := b.service.count("first"); n != 1 {
		t.Errorf("what had succeeded in the child was done %d times", n)
	}
}

func TestRule19AChildNeedsNoSlotOfItsOwn(t *testing.T) {
	b := newBench(t)
	driver := local.New(local.Options{
		Journal: b.store, Caller: b.service, Limiter: noLimit{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Memory: b.store, Identifier: byInput{}, MaxActiveRuns: 1,
	})
	first := b.driver
	b.driver = driver
	defer func() {
		if err := driver.Close(context.Background()); err != nil {
			t.Error(err)
		}
		b.driver = first
	}()
	parent := b.start(parentOf(parentOf(workflow("a read"))))
	if got := b.wait(parent); got.Run.Status != runs.RunSucceeded {
		t.Errorf("the parent is %+v", got.Run)
	}
}

func TestRule25ACanceledParentCancelsItsChild(t *testing.T) {
	b := newBench(t)
	b.service.script["a"] = hang
	parent := b.start(parentOf(workflow("a read")))
	child := b.childOf(parent)
	b.await("the child's call is made", func() bool { return b.service.count("a") == 1 })
	if err := b.driver.Load(parent, &journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}); err != nil {
		t.Fatal(err)
	}
	if got := b.wait(parent); got.Run.Status != runs.RunCanceled {
		t.Errorf("the parent is %s", got.Run.Status)
	}
	if row, err := b.store.Run(child); err != nil || row.Status != runs.RunCanceled {
		t.Errorf("the child is %+v (%v)", row, err)
	}
}

func TestRule19APausedChildPausesItsParentAndAResumeGoesOnWithBoth(t *testing.T) {
	b := newBench(t)
	var logged atomic.Bool
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		if !logged.Load() {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindAuthRequired, Message: "log in"}}
		}
		return done()
	}
	parent := b.start(parentOf(workflow("a read")))
	got := b.wait(parent)
	if got.Run.Status != runs.RunPaused || got.Run.Paused != runs.PausedAuthRequired || got.Error.Kind != plan.KindAuthRequired {
		t.Fatalf("the parent is %+v", got.Run)
	}
	logged.Store(true)
	b.reopen()
	if err := b.driver.Load(parent, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	if got := b.wait(parent); got.Run.Status != runs.RunSucceeded {
		t.Errorf("the parent is %+v", got.Run)
	}
}

func TestRule19AParentThatWasDownFindsItsChildEnded(t *testing.T) {
	b := newBench(t)
	parent := b.start(parentOf(asking()))
	child := b.childOf(parent)
	b.reopen() // nobody drives the two
	if held, err := b.driver.Decide(t.Context(), child, false, approve(false)); err != nil || held {
		t.Fatalf("held %v, error %v", held, err)
	}
	b.wait(child)
	if err := b.driver.Load(parent, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.wait(parent); got.Run.Status != runs.RunSucceeded || got.Steps["sub"].Run != child {
		t.Errorf("the parent is %+v", got.Run)
	}
}

func TestADecisionIsHeldWhileNobodyDrivesTheRun(t *testing.T) {
	b := newBench(t)
	w := asking()
	after := workflow("after once")
	w.Actions, w.Steps = after.Actions, append(w.Steps, after.Steps...)
	w.Steps[1].Needs = []string{"ask"}
	id := b.start(w)
	b.await("it waits", func() bool { row, err := b.store.Run(id); return err == nil && row.Status == runs.RunWaiting })
	b.await("only people can go on with it", func() bool { return b.driver.Busy() == 0 && b.driver.Active() == 1 })
	b.reopen()
	held, err := b.driver.Decide(t.Context(), id, true, approve(true))
	if err != nil || !held {
		t.Fatalf("held %v, error %v", held, err)
	}
	for range 2 { // however often it is looked at, and whoever goes on with it
		got, err := b.driver.Snapshot(t.Context(), id)
		if d := got.Steps["ask"].Decision; err != nil || d == nil || !d.Held || got.Run.Status != runs.RunWaiting {
			t.Fatalf("%+v (%v)", got.Steps["ask"], err)
		}
		b.reopen()
	}
	if n := b.service.count("after"); n != 0 {
		t.Fatalf("the run went on: %d calls", n)
	}
	if err := b.driver.Load(id, nil); err != nil {
		t.Fatal(err)
	}
	got := b.wait(id)
	if d := got.Steps["ask"].Decision; got.Run.Status != runs.RunSucceeded || d == nil || d.Held || d.By != "ann" || b.service.count("after") != 1 {
		t.Errorf("the run is %+v, the decision %+v", got.Run, d)
	}
}

func TestADecisionOfADrivenRunIsDurableWhenItIsAnswered(t *testing.T) {
	b := newBench(t)
	id := b.start(asking())
	b.await("it waits", func() bool { row, err := b.store.Run(id); return err == nil && row.Status == runs.RunWaiting })
	if held, err := b.driver.Decide(t.Context(), id, true, approve(false)); err != nil || held {
		t.Fatalf("held %v, error %v", held, err)
	}
	records, err := b.store.Records(id, 1, 0)
	if err != nil || records[len(records)-1].Event.Kind != journal.Signaled || records[len(records)-1].Event.By != "ann" {
		t.Errorf("the journal ends with %+v (%v)", records[len(records)-1].Event, err)
	}
	if got := b.wait(id); got.Run.Status != runs.RunSucceeded {
		t.Errorf("the run is %s", got.Run.Status)
	}
}
