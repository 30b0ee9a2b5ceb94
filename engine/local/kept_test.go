package local_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// shown is all that is shown of a run, as JSON.
func shown(t *testing.T, d *local.Driver, id string) string {
	t.Helper()
	ctx := t.Context()
	result, err := d.Snapshot(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	view, err := d.View(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := d.Steps(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	updates, err := d.Watch(ctx, id, local.NoRecords)
	if err != nil {
		t.Fatal(err)
	}
	var told []local.Update
	for update := range updates {
		told = append(told, update)
	}
	text, err := json.Marshal([]any{result, view, steps, told})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Who waits for a run, prints it and looks at its page reads no journal: all of it is
// shown as a replay shows it.
func TestARunThatHasEndedIsShownWithoutItsJournal(t *testing.T) {
	b := newBench(t)
	for name, script := range map[string]func(context.Context, runs.Request) runs.Answer{
		"succeeded": nil,
		"failed":    func(context.Context, runs.Request) runs.Answer { return failedAnswer() },
	} {
		t.Run(name, func(t *testing.T) {
			b.service.mu.Lock()
			b.service.script["one"] = script
			b.service.mu.Unlock()
			before := b.store.Stats().Records
			id := b.start(workflow("one read", "two keyed"))
			if err := b.driver.AwaitEnd(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			kept := shown(t, b.driver, id)
			if n := b.store.Stats().Records - before; n != 0 {
				t.Errorf("%d records were read while a run was started, waited for and shown", n)
			}
			b.reopen()
			before = b.store.Stats().Records
			if replayed := shown(t, b.driver, id); replayed != kept {
				t.Errorf("kept is\n%s\nreplayed\n%s", kept, replayed)
			}
			if n := b.store.Stats().Records - before; n == 0 {
				t.Error("the counter of records counts nothing: the next driver has kept nothing")
			}
			seen := b.store.Stats().Records
			if again := shown(t, b.driver, id); again != kept || b.store.Stats().Records != seen {
				t.Error("a run that was looked at is read again")
			}
		})
	}
}

func failedAnswer() runs.Answer {
	return runs.Answer{Failed: &runs.Error{Kind: "invalid", Message: "no"}}
}

// A run that a person goes on with, or that is removed, is not shown as it was.
func TestWhatIsKeptOfARunEndsWithIt(t *testing.T) {
	b := newBench(t)
	b.service.script["one"] = func(context.Context, runs.Request) runs.Answer { return failedAnswer() }
	id := b.start(workflow("one read"))
	_ = b.driver.AwaitEnd(t.Context(), id)
	before := shown(t, b.driver, id)
	b.service.mu.Lock()
	b.service.script["one"] = nil
	b.service.mu.Unlock()
	if err := b.driver.Load(id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	_ = b.driver.AwaitEnd(t.Context(), id)
	result, err := b.driver.Snapshot(t.Context(), id)
	if err != nil || result.Run.Status != runs.RunSucceeded || result.Run.Attempt != 2 || shown(t, b.driver, id) == before {
		t.Errorf("%v, %+v", err, result)
	}
	if err := b.store.DeleteRun(id); err != nil {
		t.Fatal(err)
	}
	if result, err := b.driver.Snapshot(t.Context(), id); err == nil {
		t.Errorf("a run that is removed is shown: %+v", result)
	}
}

// What is kept is bounded: by number, and by bytes.
func TestWhatIsKeptOfRunsIsBounded(t *testing.T) {
	b := newBench(t)
	first := b.start(workflow("one read"))
	_ = b.driver.AwaitEnd(t.Context(), first)
	for range 64 {
		id := b.start(workflow("one read"))
		_ = b.driver.AwaitEnd(t.Context(), id)
	}
	seen := b.store.Stats().Records
	if shown(t, b.driver, first); b.store.Stats().Records == seen {
		t.Error("65 runs are kept")
	}
	b.service.script["one"] = func(context.Context, runs.Request) runs.Answer {
		large, _ := json.Marshal(map[string]string{"text": string(make([]byte, 1<<20))})
		return runs.Answer{Completed: &runs.Completed{Output: large}}
	}
	id := b.start(workflow("one read"))
	_ = b.driver.AwaitEnd(t.Context(), id)
	local.ForgetLarge(b.driver)
	seen = b.store.Stats().Records
	if shown(t, b.driver, id); b.store.Stats().Records == seen {
		t.Error("a run of 6 MiB is kept")
	}
}

// TestIssue17_ALargeRunIsKeptForThoseWhoWaited: its journal is larger than all that is kept
// of ended runs. It is shown without being read for as long as somebody asks, and then no more.
func TestIssue17_ALargeRunIsKeptForThoseWhoWaited(t *testing.T) {
	b := newBench(t)
	local.KeepLargeFor(b.driver, time.Hour)
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 5<<20) + `"}`)
	b.service.script["one"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Completed: &runs.Completed{Output: large}}
	}
	before := b.store.Stats().Records
	id := b.start(workflow("one read"))
	if err := b.driver.AwaitEnd(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	kept := shown(t, b.driver, id)
	if n := b.store.Stats().Records - before; n != 0 || len(kept) < len(large) {
		t.Errorf("%d records were read while a large run was waited for and shown as %d bytes", n, len(kept))
	}
	if n := local.ForgetLarge(b.driver); n != 1 {
		t.Errorf("%d large runs were kept", n)
	}
	if shown(t, b.driver, id) != kept || b.store.Stats().Records == before {
		t.Error("it is not shown as it is stored, or it was kept on")
	}
}
