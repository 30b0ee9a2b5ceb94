package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// largeRun stores a run with many answers of a size; equal ones are stored once.
func largeRun(t *testing.T, e *Engine, answers, size int) string {
	t.Helper()
	const id = "01k8zq4c0vdx3y6t7k9m2n5p8r"
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	row := &runs.Run{ID: id, Workflow: "w", Status: runs.RunRunning, Attempt: 1, Trigger: "manual", ScheduledAt: at, StartedAt: at}
	first := &journal.Record{Seq: 1, Event: journal.Event{Kind: journal.Started, At: at, Start: &journal.Start{RunID: id, Inputs: json.RawMessage(`{}`)}}}
	if _, err := e.store.CreateRun(t.Context(), row, []byte(`{}`), "", first); err != nil {
		t.Fatal(err)
	}
	output := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	for seq := uint64(2); seq < uint64(2*answers+2); seq += 2 {
		path := fmt.Sprintf("s#page%d", seq)
		records := []*journal.Record{
			{Seq: seq, Event: journal.Event{Kind: journal.Driven, At: at}, Commands: []journal.Command{call(path, "s", 1)}},
			{Seq: seq + 1, Event: journal.Event{Kind: journal.Completed, At: at, Path: path, Completed: &runs.Completed{Output: output}}},
		}
		stored := make(chan error, 1)
		lines := []runs.Log{{At: at, Level: "info", Step: "s", Message: strings.Repeat("l", min(size, 60_000))}}
		e.store.Append(id, records, nil, lines, func(err error) { stored <- err })
		if err := <-stored; err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// TestIssue13_02WhoLooksAtARunHoldsAPartOfIt: its history, its records and its log
// are read by bytes as well as by count.
func TestIssue13_02WhoLooksAtARunHoldsAPartOfIt(t *testing.T) {
	const answers, size = 240, 256 << 10
	e, err := openAt(t, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	id := largeRun(t, e, answers, size)

	most := map[string]int64{"the history": 16 << 20, "the history of its step": 48 << 20, "its records": 24 << 20, "its log": 24 << 20}
	for what, look := range map[string]func() error{
		"the history": func() error {
			history, err := e.History(t.Context(), id, "")
			if err == nil && (len(history.Spans) != answers || history.Truncated) {
				t.Errorf("the history has %d spans, truncated: %v", len(history.Spans), history.Truncated)
			}
			return err
		},
		"the history of its step": func() error {
			history, err := e.History(t.Context(), id, "s")
			if err == nil && (!history.Truncated || len(history.Spans) > maxHistoryBytes/size+2) {
				t.Errorf("the history of a step has %d spans, truncated: %v", len(history.Spans), history.Truncated)
			}
			return err
		},
		"its records": func() error { return e.readEvents(t, id, 2*answers+1) },
		"its log":     func() error { return e.readLog(t, id, answers) },
	} {
		var failed error
		peak := most[what] + 1
		for range 3 { // what is made while the heap is collected counts as held: a busy machine sees too much, never too little
			if peak > most[what] && failed == nil {
				peak = enginetest.Peak(func() { failed = look() })
			}
		}
		if failed != nil || peak > most[what] {
			t.Errorf("%s of a run of %d MiB takes %d MiB (%v)", what, answers*size>>20, peak>>20, failed)
		}
	}
}

// readEvents reads all records in parts.
func (e *Engine) readEvents(t *testing.T, id string, want int) error {
	t.Helper()
	seen := 0
	for from := uint64(1); ; {
		events, next, err := e.Events(t.Context(), id, from, 1000)
		if err != nil {
			return err
		}
		size := 0
		for _, event := range events {
			encoded, err := event.MarshalJSON()
			if err != nil {
				return err
			}
			size += len(encoded)
		}
		if size > eventsBytes+1<<20 {
			t.Errorf("one part has %d records of %d bytes", len(events), size)
		}
		if seen += len(events); next == 0 {
			break
		}
		from = next
	}
	if seen != want {
		t.Errorf("%d records were shown, want %d", seen, want)
	}
	return nil
}

// readLog reads all lines in parts, forwards and back.
func (e *Engine) readLog(t *testing.T, id string, want int) error {
	t.Helper()
	for _, back := range []bool{false, true} {
		seen := 0
		for from := uint64(0); ; {
			page, err := e.LogPage(t.Context(), id, LogQuery{From: from, Back: back, Limit: 1000})
			if err != nil {
				return err
			}
			size := 0
			for _, line := range page.Lines {
				size += len(line.Message)
			}
			if size > 5<<20 {
				t.Errorf("one part has %d lines of %d bytes", len(page.Lines), size)
			}
			seen += len(page.Lines)
			if from = page.Next; from == 0 {
				break
			}
		}
		if seen != want {
			t.Errorf("%d lines were shown, want %d (back: %v)", seen, want, back)
		}
	}
	return nil
}
