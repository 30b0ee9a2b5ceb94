package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func TestTheClientAsksWhatItIsTold(t *testing.T) {
	rows := new(fakeRuns)
	client, ctx := newTestClient(t, rows), t.Context()

	owner, err := client.Owner(ctx)
	if err != nil || owner.PID != 7 || owner.Config != "/p/flowrun.yaml" {
		t.Errorf("owner %+v, %v", owner, err)
	}
	run, _, err := client.Start(ctx, engine.StartRequest{File: "a.yaml", Source: []byte("flowrun: v1"), RequestID: "r1"})
	if err != nil || run.ID != knownRun {
		t.Errorf("start: %+v, %v", run, err)
	}
	if want := []engine.StartRequest{{File: "a.yaml", Source: []byte("flowrun: v1"), RequestID: "r1"}}; !cmp.Equal(rows.started, want) {
		t.Error(cmp.Diff(want, rows.started))
	}
	result, err := client.Result(ctx, knownRun)
	if err != nil || string(result.Outputs["big"]) != "9007199254740993" {
		t.Errorf("result: %+v, %v", result, err)
	}
	since := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	filter := runs.Filter{Workflow: "w", Status: runs.RunFailed, Labels: map[string]string{"a": "1", "b": "x=y"}, Since: since, Query: `labels.a == "1&b" || "ü" == id`, Limit: 3, Cursor: "01k8zq4c0vdx3y6t7k9m2n5p8r"}
	page, err := client.Runs(ctx, filter)
	if err != nil || len(page.Items) != 1 || page.NextCursor == nil || *page.NextCursor != "next" {
		t.Errorf("runs: %+v, %v", page, err)
	}
	if want := []runs.Filter{filter}; !cmp.Equal(rows.filters, want) {
		t.Error(cmp.Diff(want, rows.filters))
	}
	steps, err := client.Steps(ctx, knownRun)
	if err != nil || len(steps) != 2 || steps[0].Path != "b" {
		t.Errorf("steps: %+v, %v", steps, err)
	}
	logs, err := client.Logs(ctx, knownRun, "domains[a b&c].whois")
	if err != nil || logs[0].Message != "of domains[a b&c].whois" {
		t.Errorf("logs: %+v, %v", logs, err)
	}
	if _, err := client.Cancel(ctx, knownRun, "me"); err != nil || !cmp.Equal(rows.canceled, []string{knownRun + " by me"}) {
		t.Errorf("cancel: %v, %v", rows.canceled, err)
	}
	if run, err := client.Resume(ctx, knownRun, engine.ResumeRequest{}); err != nil || run.ID != knownRun {
		t.Errorf("resume: %+v, %v", run, err)
	}
	if run, _, err := client.Rerun(ctx, knownRun, engine.RerunRequest{}); err != nil || run.ID != knownRun {
		t.Errorf("rerun: %+v, %v", run, err)
	}
}

func TestEventsComeInPages(t *testing.T) {
	client := newTestClient(t, new(fakeRuns))
	page, err := client.Events(t.Context(), knownRun, 2, 3)
	if err != nil || len(page.Items) != 3 || page.NextCursor == nil || *page.NextCursor != "5" {
		t.Fatalf("first page %+v, %v", page, err)
	}
	const sent = `{"seq":2,"event":{"kind":"completed","later":1}}`
	if first := page.Items[0]; first.Seq != 2 || first.Event.Kind != journal.Completed {
		t.Errorf("a record is %+v", first)
	}
	if encoded, err := json.Marshal(page.Items[0]); err != nil || string(encoded) != sent {
		t.Errorf("a record is passed on as %s (%v), want %s", encoded, err, sent)
	}
	page, err = client.Events(t.Context(), knownRun, 5, 3)
	if err != nil || len(page.Items) != 1 || page.NextCursor != nil {
		t.Errorf("last page %+v, %v", page, err)
	}
}

func TestARefusalIsAProblem(t *testing.T) {
	client := newTestClient(t, &fakeRuns{err: &fault.ConflictError{Message: "it runs", Hint: diag.Say("watch it")}})
	_, err := client.Resume(t.Context(), knownRun, engine.ResumeRequest{})
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeConflict || problem.Hint.Text != "watch it" || err.Error() != "it runs" {
		t.Errorf("error %#v", err)
	}
}

func TestAStreamIsReadToItsEnd(t *testing.T) {
	feed := []engine.Update{
		{Kind: engine.UpdateRecord, RunID: knownRun, Seq: 1, Record: json.RawMessage(`{"seq":1}`)},
		{Kind: engine.UpdateStep, RunID: knownRun, Seq: 1, Step: &runs.Step{Path: "a", Message: "two\nlines <b>"}},
		{Kind: engine.UpdateRecord, RunID: knownRun, Seq: 2, Record: json.RawMessage(`{"seq":2}`)},
		{Kind: engine.UpdateEnd, RunID: knownRun, Seq: 2},
	}
	for name, test := range map[string]struct {
		from uint64
		want []engine.Update
	}{
		"from the beginning":     {0, feed},
		"after the first record": {1, feed[2:]},
	} {
		t.Run(name, func(t *testing.T) {
			client := newTestClient(t, &fakeRuns{feed: feed})
			stream, err := client.Watch(t.Context(), knownRun, test.from)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			var got []engine.Update
			for {
				update, err := stream.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, update)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnIdleStreamIsKeptAlive(t *testing.T) {
	gate := NewGate()
	defer gate.Close()
	hold := make(chan struct{})
	handler := NewSocketHandler(Options{
		Runs:    &fakeRuns{hold: hold, feed: []engine.Update{{Kind: engine.UpdateLog, Log: &runs.Log{Message: "x"}}}},
		Catalog: fakeCatalog{}, Gate: gate, Heartbeat: time.Millisecond,
	})
	stream, err := NewClient(InProcess(handler)).Watch(t.Context(), knownRun, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if update, err := stream.Next(); err != nil || update.Log.Message != "x" {
		t.Fatalf("update %+v, %v", update, err)
	}
	line, err := stream.reader.ReadString('\n')
	for line == "\n" && err == nil {
		line, err = stream.reader.ReadString('\n')
	}
	if err != nil || line != ": alive\n" {
		t.Errorf("line %q, %v", line, err)
	}
	close(hold)
}

func TestStreamsAreBounded(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	client := newTestClient(t, &fakeRuns{hold: hold})
	for range streamCap {
		stream, err := client.Watch(t.Context(), knownRun, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	_, err := client.Watch(t.Context(), knownRun, 0)
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeTooMany {
		t.Errorf("stream %d: %v", streamCap+1, err)
	}
}

// said collects what a call says.
type said struct{ lines []string }

func (s *said) Log(log runs.Log)          { s.lines = append(s.lines, "log "+log.Message) }
func (s *said) Progress(p runs.Progress)  { s.lines = append(s.lines, "progress") }
func (s *said) Prompt(prompt runs.Prompt) { s.lines = append(s.lines, "prompt "+prompt.Title) }

func TestACallSaysWhatItDoes(t *testing.T) {
	sink := new(said)
	result, err := newTestClient(t, new(fakeRuns)).Call(t.Context(), calls.Request{Action: "a.b"}, sink)
	if err != nil || string(result.Outputs) != `{"n":9007199254740993}` {
		t.Errorf("result %s, %v", result.Outputs, err)
	}
	if want := []string{"log hello <you>", "progress", "prompt log in"}; !cmp.Equal(sink.lines, want) {
		t.Error(cmp.Diff(want, sink.lines))
	}
}

func TestACallThatCannotRunIsAProblem(t *testing.T) {
	client := newTestClient(t, &fakeRuns{err: &fault.StoreError{Fault: fault.StoreFull, Err: errors.New("full")}})
	_, err := client.Call(t.Context(), calls.Request{Action: "a.b"}, new(said))
	var problem *Problem
	if !errors.As(err, &problem) || problem.Code != wire.CodeStoreFull {
		t.Errorf("error %v", err)
	}
}

func TestACanceledRequestEndsItsHandler(t *testing.T) {
	ended := make(chan struct{})
	runs := &fakeRuns{calls: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	client := newTestClient(t, runs)
	go func() {
		defer close(ended)
		_, err := client.Call(ctx, calls.Request{Action: "a.b"}, new(said))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}()
	cancel()
	<-ended
}
