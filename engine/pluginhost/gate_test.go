package pluginhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
)

// leaky is the connection whose secret the raw plugin tells everywhere.
func leaky() Connection {
	return Connection{Name: "main", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}
}

func (w *world) leak(what string, sink runs.Sink) runs.Answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return w.host.Call(ctx, runs.Request{
		Action: "evil.leak", RunID: "run-1", Step: "a", Operation: "a", Attempt: 1, Input: json.RawMessage(`{"text":"` + what + `"}`),
	}, leaky(), sink)
}

// texts are all that an answer or a line says, with the bytes and the JSON in it as text.
func textsOf(t *testing.T, v any) string {
	t.Helper()
	plain, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(plain, &tree); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v %s %v", v, plain, tree)
}

// TestIssue13_01_ARawPluginTellsNoSecret: a plugin without the SDK puts the secret of
// its connection into each text of each answer.
func TestIssue13_01_ARawPluginTellsNoSecret(t *testing.T) {
	const key = "kilo-123456"
	w := newWorld(t, "good", nil)
	for _, what := range []string{"failed", "pending", "completed", "told", "status"} {
		sink := &sinkOf{}
		answer := w.leak(what, sink)
		if answer.Completed != nil {
			answer.Completed.Watermark, answer.Completed.PageNote, answer.Completed.NextCursor = nil, nil, "" // sealed where they go
		}
		if answer.Pending != nil {
			answer.Pending.Checkpoint = nil
		}
		for _, said := range []any{answer.Failed, answer.Pending, answer.Completed, sink.logs, sink.progress} {
			text := textsOf(t, said)
			if strings.Contains(text, key) || strings.Contains(text, key[:6]) || strings.Contains(text, escapedText(key)[:12]) {
				t.Errorf("%s: the secret is told: %s", what, text)
			}
		}
		if what == "failed" && (answer.Failed.Kind != plan.KindNotFound || answer.Failed.Limiter != "" || !strings.HasPrefix(answer.Failed.Pointer, "/") || len(answer.Failed.Details) == 0) {
			t.Errorf("failed = %+v", answer.Failed)
		}
		if what == "pending" {
			prompt := answer.Pending.Prompt
			if prompt.URL != "https://a.example/device?k=[redacted]" || prompt.UserCode != "WDJB-[redacted]" || answer.Pending.Message != "wait [redacted]" {
				t.Errorf("prompt = %+v", prompt)
			}
		}
		if what == "told" && (len(sink.logs) != 1 || sink.logs[0].Message != "log [redacted]" || !strings.Contains(string(sink.logs[0].Fields), "[redacted]") || sink.progress[0].Message != "half [redacted]") {
			t.Errorf("told = %+v", sink)
		}
		if what == "status" && !strings.Contains(answer.Failed.Message, "odd [redacted]") {
			t.Errorf("status = %v", answer.Failed)
		}
	}
	if limiter := w.leak("limited", nil).Failed.Limiter; limiter != "all" {
		t.Errorf("the action's own limiter became %q", limiter)
	}
	if f := w.leak("duplicate", nil).Failed; f == nil || f.Kind != plan.KindUnexpectedResponse || !strings.Contains(f.Message, "`a` stands twice") {
		t.Errorf("duplicate = %v", f)
	}
}

// askedTokens remembers what the token service was asked.
type askedTokens struct {
	oneToken
	mu       sync.Mutex
	failures []*runs.Error
	peeks    int
}

func (a *askedTokens) Commit(_ context.Context, _, _ string, _ *secret.Token, failure *runs.Error) (*secret.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failures = append(a.failures, failure)
	return nil, nil
}

func (a *askedTokens) Stored(context.Context, TokenRequest) (secret.Status, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peeks++
	return secret.Status{State: "valid"}, nil
}

// TestIssue13_08_TokensOfConnectionsThatAreNotOpenHere: a process gets no token of a
// connection that was not opened in it, and can't look at one.
// TestIssue13_01: what it asks by and what it says of a failure holds no secret.
func TestIssue13_08_TokensOfConnectionsThatAreNotOpenHere(t *testing.T) {
	tokens := &askedTokens{}
	w := newWorld(t, "good", func(o *Options) { o.Tokens, o.Opaque = tokens, &memoryOpaque{} })
	answer := w.host.Call(context.Background(), runs.Request{Action: "evil.ask", RunID: "run-1", Input: json.RawMessage(`{}`)}, leaky(), nil)
	if answer.Failed != nil {
		t.Fatal(answer.Failed)
	}
	var said map[string]string
	if err := json.Unmarshal(answer.Completed.Output, &said); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"another connection": "PermissionDenied", "a look at another connection": "PermissionDenied", "a key with a secret": "OK",
		"state": "OK", "state again": "OK true", "extra that is no JSON": "InvalidArgument", "an error": "OK",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the host said (-want +got):\n%s", diff)
	}
	if len(tokens.requests) != 1 || tokens.requests[0].Connection != "main" || strings.Contains(tokens.requests[0].Key, "kilo") || tokens.peeks != 0 {
		t.Errorf("the token service was asked %+v, and %d times to look", tokens.requests, tokens.peeks)
	}
	if len(tokens.failures) != 1 || strings.Contains(textsOf(t, tokens.failures), "kilo") || tokens.failures[0].Limiter != "" {
		t.Errorf("it heard of %s", textsOf(t, tokens.failures))
	}
	for key := range w.state.values {
		if strings.Contains(fmt.Sprint(key), "kilo") {
			t.Errorf("a secret stands in the name of a stored row: %v", key)
		}
	}
}

// TestIssue13_01_LinesThatAreCut: a line that is too long, the tail's beginning and the
// line that tells most are cut, and no part of a secret is left at the cut.
func TestIssue13_01_LinesThatAreCut(t *testing.T) {
	const key = "hunter-2222"
	for shift := range len(key) + 1 {
		o, log := testOutput(time.Now)
		w := o.stream("stderr")
		_, _ = w.Write([]byte(strings.Repeat("x", 100-shift) + key + strings.Repeat("y", 50<<10) + "\n"))
		_, _ = w.Write([]byte("panic: " + strings.Repeat("p", maxTelling-7-shift) + key + "\n"))
		_, _ = w.Write([]byte(key + strings.Repeat("z", tailSize-shift)))
		for name, text := range map[string]string{"log": log.String(), "tail": o.last()} {
			if strings.Contains(text, key[:4]) || strings.Contains(text, key[len(key)-4:]) {
				t.Errorf("shift %d: the %s has a part of the secret", shift, name)
			}
		}
	}
}

// TestIssue13_01_SecretsAreKnownBeforeTheProcessStarts: what a plugin kept from an
// earlier process can be told before a connection is opened.
func TestIssue13_01_SecretsAreKnownBeforeTheProcessStarts(t *testing.T) {
	var log bytes.Buffer
	var learned []string
	w := newWorld(t, "good", func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Learn = func(_ context.Context, plugin string) {
			learned = append(learned, plugin)
			o.Redactor.Add("question")
		}
	})
	diagnostics, _, err := w.host.Validate(context.Background(), "evil.echo", "", json.RawMessage(`{"text":"x"}`), nil)
	if err != nil || len(diagnostics) != 1 || !strings.HasPrefix(diagnostics[0].Summary, "[redacted] 1") {
		t.Errorf("diagnostics = %v, %v", diagnostics, err)
	}
	if len(learned) != 1 || learned[0] != "evil" {
		t.Errorf("learned = %v", learned)
	}
}

// memoryOpaque seals by turning bytes around, and binds them to their place.
type memoryOpaque struct{}

func (*memoryOpaque) Seal(place string, clear []byte) ([]byte, error) {
	sealed := []byte("\x00S" + place + "\x01")
	for _, b := range clear {
		sealed = append(sealed, ^b)
	}
	return sealed, nil
}

func (*memoryOpaque) Open(place string, stored []byte) ([]byte, error) {
	rest, sealed := bytes.CutPrefix(stored, []byte("\x00S"))
	if !sealed {
		return stored, nil
	}
	at, mine, _ := bytes.Cut(rest, []byte("\x01"))
	if string(at) != place {
		return nil, errors.New("it is another's")
	}
	var clear []byte
	for _, b := range mine {
		clear = append(clear, ^b)
	}
	return clear, nil
}

func (*memoryOpaque) Digest(text string) (string, error) { return fmt.Sprintf("%x", len(text)), nil }

// TestIssue13_01_WhatAPluginLeavesForItself is sealed outside of its process, and comes
// back to it as it was.
func TestIssue13_01_WhatAPluginLeavesForItself(t *testing.T) {
	const key = "kilo-123456"
	w := newWorld(t, "good", func(o *Options) { o.Opaque = &memoryOpaque{} })
	first := w.leak("completed", nil).Completed
	if first == nil || strings.Contains(string(first.Watermark)+string(first.PageNote)+first.NextCursor, "kilo") || !strings.HasPrefix(first.NextCursor, runs.OpaquePrefix) {
		t.Fatalf("first = %+v", first)
	}
	again := w.leak("completed", nil).Completed
	if again.NextCursor != first.NextCursor || !bytes.Equal(again.Watermark, first.Watermark) {
		t.Error("equal bytes are sealed differently: a cursor that repeats would not be noticed")
	}
	pending := w.leak("pending", nil).Pending
	if strings.Contains(string(pending.Checkpoint), key) || len(pending.Checkpoint) == 0 {
		t.Errorf("checkpoint = %q", pending.Checkpoint)
	}
	req := runs.Request{
		Action: "evil.leak", Input: json.RawMessage(`{"text":"given"}`),
		PageCursor: first.NextCursor, Watermark: first.Watermark, PageNote: first.PageNote, Checkpoint: pending.Checkpoint,
	}
	answer := w.host.Call(context.Background(), req, leaky(), nil)
	if answer.Failed != nil || string(answer.Completed.Output) != `{"text":"as it was"}` {
		t.Errorf("back at the plugin: %+v %v", answer.Completed, answer.Failed)
	}
	other := leaky()
	other.Name = "other"
	if f := w.host.Call(context.Background(), req, other, nil).Failed; f == nil || f.Kind != plan.KindInvalid || !strings.Contains(f.Message, "can't be read") {
		t.Errorf("another connection was given it: %v", f)
	}
	req.PageCursor, req.Watermark, req.PageNote, req.Checkpoint = "c", []byte("old w"), []byte("old n"), []byte("old c")
	if answer := w.host.Call(context.Background(), req, leaky(), nil); answer.Failed != nil || string(answer.Completed.Output) != `{"text":"\"c\" \"old w\" \"old n\" \"old c\""}` {
		t.Errorf("what was never sealed became %+v %v", answer.Completed, answer.Failed)
	}
}

// TestIssue13_01_ACursorInAnInput: what a reading that was cut off gave as its next
// cursor begins another reading, sealed as it is.
func TestIssue13_01_ACursorInAnInput(t *testing.T) {
	w := newWorld(t, "good", func(o *Options) { o.Opaque = &memoryOpaque{} })
	w.masks.Add("kilo-123456")
	a := &actionContract{Action: &plan.Action{Plugin: "evil", Paging: &plan.Paging{CursorField: "cursor", NextField: "next"}}}
	output, failure := w.host.sealNext(a, "main", json.RawMessage(`{"next":"/?k=kilo-123456","n":1.50,"text":"kilo-123456"}`))
	if failure != nil || strings.Contains(string(output), `"next":"/?k=`) || !strings.Contains(string(output), `"n":1.50`) {
		t.Fatalf("output = %s, %v", output, failure)
	}
	var fields map[string]any
	if err := json.Unmarshal(output, &fields); err != nil {
		t.Fatal(err)
	}
	input, failure := w.host.openInput(a, "main", clearDocument{json: json.RawMessage(fmt.Sprintf(`{"cursor":%q,"other":%q}`, fields["next"], fields["next"]))})
	if failure != nil || !strings.Contains(string(input.json), `"cursor":"/?k=kilo-123456"`) || !strings.Contains(string(input.json), `"other":"opaque:`) {
		t.Errorf("input = %s, %v", input.json, failure)
	}
	for _, doc := range []string{`{"next":"plain","n":1}`, `{"next":null}`, `[1]`} {
		if output, failure := w.host.sealNext(a, "main", json.RawMessage(doc)); failure != nil || string(output) != doc {
			t.Errorf("%s became %s, %v", doc, output, failure)
		}
	}
	if _, failure := w.host.openInput(a, "main", clearDocument{json: json.RawMessage(`{"cursor":"opaque:forged"}`)}); failure != nil {
		t.Logf("a forged cursor: %v", failure) // taken as it is by memoryOpaque, refused by the real one
	}
}
