package pluginhost

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestCallForwardsDocumentsUntouched(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		const document = `{ "big": 9007199254740993, "exact": 1.10, "text": "ü" }`
		answer := w.call("echo", document)
		if answer.Failed != nil {
			t.Fatal(answer.Failed)
		}
		if got := string(answer.Completed.Output); got != document {
			t.Errorf("output = %s, want %s", got, document)
		}
	})
}

func TestCallsShareOneWarmProcessAndConnection(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		first, second := w.ok("pid", `{}`), w.ok("pid", `{}`)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("second call saw another process or connection (-first +second):\n%s", diff)
		}
		if second["connects"] != 1.0 {
			t.Errorf("connects = %v, want 1", second["connects"])
		}
		conn := Connection{Name: "main", Config: json.RawMessage(`{"base_url":"http://b"}`)}
		answer := w.host.Call(context.Background(), runs.Request{Action: "evil.pid"}, conn, nil)
		if answer.Failed != nil || !strings.Contains(string(answer.Completed.Output), `"config":"http://b","connects":2`) {
			t.Errorf("another config was not connected: %+v", answer)
		}
	})
}

func TestWhatAPageLeavesGoesBothWays(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		answer := w.host.Call(context.Background(), runs.Request{
			Action: "evil.note", Input: json.RawMessage(`{}`), PageCursor: "next", PageNote: []byte("words"),
		}, Connection{Name: "main"}, nil)
		if answer.Completed == nil || string(answer.Completed.PageNote) != "words!" || answer.Completed.NextCursor != "next" {
			t.Errorf("the answer is %+v", answer)
		}
	})
}

// P18: faults of a plugin stay in the step.
func TestP18FaultsBecomeFailuresOfTheCall(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		type fault struct {
			action, input string
			kind          plan.ErrorKind
			applied       runs.Applied
			message       string
		}
		cases := map[string]fault{
			"an answer of 100 MB":            {"huge", `{}`, plan.KindUnexpectedResponse, runs.AppliedUnknown, "8388608"},
			"an answer that breaks a schema": {"lie", `{}`, plan.KindUnexpectedResponse, runs.AppliedUnknown, "count"},
			"a stream without an end":        {"nothing", `{}`, plan.KindCrashed, runs.AppliedUnknown, "without an answer"},
			"a gRPC status":                  {"strange", `{}`, plan.KindCrashed, runs.AppliedUnknown, "odd"},
			"a page that leaves too much":    {"note", `{"text":"long"}`, plan.KindInvalid, runs.AppliedFully, "page_note of 4097 bytes, the limit is 4096"},
			"a forged secret reference":      {"forge", `{}`, plan.KindUnexpectedResponse, runs.AppliedUnknown, "secret"},
			"an action that does not exist":  {"ecko", `{}`, plan.KindInvalid, runs.NotApplied, `no action "ecko"`},
			"an input above the limit":       {"echo", `{"text":"` + strings.Repeat("x", 8<<20) + `"}`, plan.KindInvalid, runs.NotApplied, "the limit is"},
		}
		if form == "" { // on the stream a call ends with its answer: what follows is of no call
			cases["a stream with two ends"] = fault{"twice", `{}`, plan.KindUnexpectedResponse, runs.AppliedUnknown, "twice"}
		}
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				got := w.fails(c.action, c.input, c.kind)
				if got.Applied != c.applied || !strings.Contains(got.Message, c.message) {
					t.Errorf("got %s, applied %s; want %q, applied %s", got.Message, got.Applied, c.message, c.applied)
				}
				if got.Step != "a" || got.Attempt != 2 || got.Action != "evil."+c.action {
					t.Errorf("failure does not say where: %+v", got)
				}
			})
		}
		if s := w.host.Status("evil"); s.State != Ready || s.Crashes != 0 || s.InFlight != 0 {
			t.Errorf("the process did not survive: %+v", s)
		}
	})
}

func TestCallTakesAnErrorOver(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		answer := w.host.Call(context.Background(), runs.Request{Action: "evil.fail", Step: "a", Attempt: 1},
			Connection{Name: "main", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}, nil)
		want := &runs.Error{
			Kind: plan.KindRateLimited, Action: "evil.fail", Step: "a", Attempt: 1, Message: "slow down, [redacted]", Reason: "slow_down",
			HTTPStatus: 429, Applied: runs.NotApplied, Effect: plan.EffectRead, Pointer: "/text", RetryAfterS: 1.5, Hint: diag.Say("ask less"), Limiter: "all",
			Details: json.RawMessage(`{"action":"fail","service":"evil"}`),
		}
		if diff := cmp.Diff(want, answer.Failed); diff != "" {
			t.Errorf("failure (-want +got):\n%s", diff)
		}
	})
}

func TestCallTakesPendingOver(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		want := &runs.Pending{RetryAfter: 3 * time.Second, Checkpoint: []byte("here"), Prompt: &runs.Prompt{Title: "log in", UserCode: "ABCD"}}
		if diff := cmp.Diff(want, w.call("pending", `{}`).Pending); diff != "" {
			t.Errorf("pending (-want +got):\n%s", diff)
		}
	})
}

func TestSinkGetsBoundedAndMaskedEvents(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		conn := Connection{Name: "main", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}
		sink := &sinkOf{}
		answer := w.host.Call(context.Background(), runs.Request{Action: "evil.progress", Step: "a"}, conn, sink)
		if answer.Completed == nil || len(sink.logs) != 1 || len(sink.progress) != 1 {
			t.Fatalf("answer %+v, sink %+v", answer, sink)
		}
		if sink.logs[0].Message != "the key is [redacted]" || sink.logs[0].Step != "a" || sink.logs[0].Level != "info" {
			t.Errorf("log = %+v", sink.logs[0])
		}
		if sink.progress[0].Fraction != 1 {
			t.Errorf("progress = %+v", sink.progress[0])
		}

		flood := &sinkOf{}
		if answer := w.host.Call(context.Background(), runs.Request{Action: "evil.flood"}, conn, flood); answer.Completed == nil {
			t.Fatal(answer.Failed)
		}
		last := flood.logs[len(flood.logs)-1].Message
		if len(flood.logs) > 15_000 || !strings.Contains(last, "dropped") {
			t.Errorf("%d lines passed, the last: %s", len(flood.logs), last)
		}
	})
}

func TestSecretsGoOnlyIntoSecretFields(t *testing.T) {
	w := newWorld(t, "good", nil)
	// The plugin's echo comes back with the clear value: proof that it was sent,
	// and that it is masked on the way in.
	if got := w.ok("echo", `{"text":"x","more":1}`); got["text"] != "x" {
		t.Errorf("plain input = %v", got)
	}
	answer := w.call("echo", `{"password":{"$secret":"KEY"}}`)
	if answer.Failed != nil || string(answer.Completed.Output) != `{"password":"[redacted]"}` {
		t.Errorf("echoed secret = %+v", answer)
	}
	for name, input := range map[string]string{
		"a plain field":     `{"text":{"$secret":"KEY"}}`,
		"a field of others": `{"more":[{"$secret":"KEY"}]}`,
		"an escaped key":    `{"text":{"\u0024secret":"KEY"},"password":{"$secret":"KEY"}}`,
		"a missing secret":  `{"password":{"$secret":"NONE"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if failure := w.fails("echo", input, plan.KindInvalid); failure.Pointer == "" || failure.Applied != runs.NotApplied {
				t.Errorf("failure = %+v", failure)
			}
		})
	}
}

func TestSecretOutputsBecomeReferences(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		answer := w.call("secret", `{}`)
		if answer.Failed != nil || string(answer.Completed.Output) != `{"text":"a token","token":{"$secret":"sealed:run-1/a/token"}}` {
			t.Fatalf("answer = %+v", answer)
		}
		answer = w.call("sensitive", `{}`)
		if answer.Failed != nil || string(answer.Completed.Output) != `{"notes":["plain",{"$secret":"sealed:run-1/a/notes/1"}],"text":"maria"}` {
			t.Fatalf("answer = %+v %s", answer, answer.Completed.Output)
		}
		// The reference is good as an input of another step; the value comes back masked.
		answer = w.call("echo", `{"password":{"$secret":"sealed:run-1/a/token"}}`)
		if answer.Failed != nil || string(answer.Completed.Output) != `{"password":"[redacted]"}` {
			t.Errorf("answer = %+v", answer)
		}
		w.fails("echo", `{"password":{"$secret":"sealed:run-2/x"}}`, plan.KindInvalid)
	})
}

func TestSecretsInsideASecretObjectAreRevealed(t *testing.T) {
	w := newWorld(t, "good", nil)
	answer := w.call("echo", `{"form":{"name":"maria@example.com","fields":[{"$secret":"KEY"},"plain-word"]}}`)
	if answer.Failed != nil || string(answer.Completed.Output) != `{"form":{"fields":["[redacted]","[redacted]"],"name":"[redacted]"}}` {
		t.Errorf("answer = %+v", answer)
	}
	f := w.fails("echo", `{"form":{"name":{"$secret":"NONE"}}}`, plan.KindInvalid)
	if !strings.Contains(f.Message, "/form/name") {
		t.Errorf("failure = %+v", f)
	}
}

func TestConnectionProblemsNameTheConnection(t *testing.T) {
	w := newWorld(t, "good", nil)
	for name, c := range map[string]struct{ config, want string }{
		"the plugin refuses it":       {`{"base_url":"wrong"}`, `connection "main": /base_url: not a URL`},
		"it does not fit the schema":  {`{"base_url":7}`, `base_url`},
		"its secret is missing":       {`{"api_key":{"$secret":"NONE"}}`, `FLOWRUN_SECRET_NONE`},
		"a secret in a field of none": {`{"base_url":{"$secret":"KEY"}}`, `can't stand at /base_url`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := w.host.Call(context.Background(), runs.Request{Action: "evil.echo"}, Connection{Name: "main", Config: json.RawMessage(c.config)}, nil)
			f := answer.Failed
			if f == nil || f.Kind != plan.KindInvalid || f.Pointer != "" || !strings.Contains(f.Message, c.want) || !strings.Contains(f.Message, `"main"`) {
				t.Errorf("failure = %+v", f)
			}
		})
	}
	answer := w.host.Call(context.Background(), runs.Request{Action: "evil.echo"}, Connection{Name: "main", Plugin: "tasks"}, nil)
	if answer.Failed == nil || !strings.Contains(answer.Failed.Message, "belongs to plugin tasks") {
		t.Errorf("failure = %+v", answer.Failed)
	}
}

func TestCheckAndReconcile(t *testing.T) {
	w := newWorld(t, "good", nil)
	conn := Connection{Name: "main", Plugin: "evil", Config: json.RawMessage(`{"api_key":{"$secret":"KEY"}}`)}
	if test, failure := w.host.Check(context.Background(), conn); failure != nil || test != (Test{Account: "maria, key [redacted]"}) {
		t.Errorf("check = %+v, %v", test, failure)
	}
	for url, note := range map[string]string{"untested": "the plugin has no test", "untried": "not with key [redacted]"} {
		untried := Connection{Name: url, Plugin: "evil", Config: json.RawMessage(`{"base_url":"` + url + `","api_key":{"$secret":"KEY"}}`)}
		if test, failure := w.host.Check(context.Background(), untried); failure != nil || test != (Test{NotTried: true, Note: note}) {
			t.Errorf("check of %s = %+v, %v", url, test, failure)
		}
	}
	if _, failure := w.host.Check(context.Background(), Connection{Plugin: "evil"}); failure == nil || failure.Kind != plan.KindUnauthorized {
		t.Errorf("check without a key = %v", failure)
	}
	got, failure := w.host.Reconcile(context.Background(), runs.Request{Action: "evil.echo", IdempotencyKey: "idem"}, conn)
	want := runs.Outcome{Applied: runs.AppliedFully, Output: json.RawMessage(`{"text":"done"}`), Note: "found by idem"}
	if diff := cmp.Diff(want, got); diff != "" || failure != nil {
		t.Errorf("reconcile: %v (-want +got):\n%s", failure, diff)
	}
}

func TestRefusedCredentialWithoutATokenIsAFailure(t *testing.T) {
	eachForm(t, func(t *testing.T, form string) {
		w := newWorld(t, form+"good", nil)
		w.fails("unauthorized", `{}`, plan.KindUnauthorized)
	})
}
