package testrun

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// What is written is read back as the same JSON, by the rules of free-form
// objects.
func TestWrittenValuesAreReadBack(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.IntRange(-1<<40, 1<<40), toAny[int]),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), toAny[float64]), rapid.Map(text(), toAny[string]),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		inner := rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) })
		return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(inner, 0, 3), toAny[[]any]), rapid.Map(rapid.MapOfN(text(), inner, 0, 3), toAny[map[string]any]))
	}
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]any{"value": value(3).Draw(t, "value")}
		var out strings.Builder
		writeYAML(&out, want, 0)
		root, problems := spec.ParseNode("x.yaml", []byte(out.String()), spec.DefaultLimits())
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, out.String())
		}
		raw, err := schema.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if lines := differences(exact(root.JSON()), exact(raw)); len(lines) > 0 {
			t.Fatalf("%v\n%s", lines, out.String())
		}
	})
}

func toAny[T any](v T) any { return v }

func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringN(0, 12, 40),
		rapid.SampledFrom([]string{"yes", "null", "~", "", "010", "1e3", "2026-01-02", "a: b", "a #b", "- a", "[x]", "x[y]", "<<", "!!str", "%a", "line\nline", "${{ x }}", "é\u2028", "true", "a ", "&a", "*a", "?", "no comment"}),
	)
}

func TestSecretsAreLeftOutOfRecordings(t *testing.T) {
	t1 := schema.MustFromJSON(`{"type":"object","properties":{"token":{"type":"string","writeOnly":true},"list":{"type":"array","items":{"type":"object","writeOnly":true}},"open":{"type":"string"}}}`)
	value, ok := hide(exact(json.RawMessage(`{"token":{"$secret":"sealed:1"},"list":[{"a":{"$secret":"sealed:2"},"b":1}],"open":"x"}`)), t1)
	if diff := cmp.Diff(map[string]any{"token": "secret", "list": []any{"secret"}, "open": "x"}, value); diff != "" || !ok {
		t.Errorf("ok %v (-want +got)\n%s", ok, diff)
	}
	if _, ok := hide(exact(json.RawMessage(`{"open":{"$secret":"sealed:1"}}`)), t1); ok {
		t.Error("a secret in an open field was taken")
	}
}

func TestRunsThatAnswersCannotTellAgainAreNotRecorded(t *testing.T) {
	for _, status := range []runs.Status{runs.RunCanceled, runs.RunTimedOut, runs.RunRunning} {
		_, err := Record(Recording{Run: runs.Run{ID: "r", Status: status}, Workflow: &plan.Workflow{}})
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Hint == "" {
			t.Errorf("%s: %v", status, err)
		}
	}
	_, err := Record(Recording{Run: runs.Run{ID: "r", Status: runs.RunFailed}, Workflow: &plan.Workflow{}})
	if err == nil || !strings.Contains(err.Error(), "no beginning") {
		t.Errorf("without a journal: %v", err)
	}
}

// hand is a Host for a plan that is made by hand.
type hand struct{ Host }

func (hand) File(string) ([]byte, error) { return nil, errors.New("there is no file") }

func (hand) Validate(context.Context, string, json.RawMessage) ([]Refusal, error) { return nil, nil }

// TestARecordingTellsTheRunAgain drives a case, records its journal and binds the
// recording: its answers lead to the same journal.
func TestARecordingTellsTheRunAgain(t *testing.T) {
	read := &plan.Action{Plugin: "svc", Name: "read", Effect: plan.EffectRead, Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	retry := &plan.Retry{Attempts: 3, Delay: time.Second, Factor: 2, MaxDelay: time.Minute, Jitter: 0.2, On: plan.DefaultRetryKinds()}
	workflow := &plan.Workflow{
		Format: plan.FormatVersion, Name: "w", File: "flows/w.yaml", Timeout: time.Hour, Actions: map[string]*plan.Action{"svc.read": read},
		Steps: []plan.Step{{ID: "a", Kind: plan.StepAction, Uses: "svc.read", RunIf: plan.RunIfOK, Timeout: time.Minute, Retry: retry, With: plan.Value{Kind: plan.ValueLiteral, Literal: json.RawMessage(`{}`)}}},
	}
	steps, err := indexSteps(workflow)
	if err != nil {
		t.Fatal(err)
	}
	program, err := interp.Compile(workflow)
	if err != nil {
		t.Fatal(err)
	}
	drive := func(file string) ([]*journal.Record, *driver) {
		suite, problems := readSuite("flows/w.test.yaml", []byte(file))
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, file)
		}
		cases, problems := bind(suite, workflow, steps, newBlobs(hand{}, "t.test.yaml"))
		if len(problems) > 0 {
			t.Fatalf("%v\n%s", problems, file)
		}
		d := newDriver(t.Context(), hand{}, program, steps, &cases[0])
		d.run()
		d.judge()
		if len(d.failures) > 0 {
			t.Fatalf("%+v\n%s", d.failures, file)
		}
		return d.Records, d
	}
	first, d := drive(`flowrun_test: v1
workflow: w.yaml
cases:
  - name: first
    answers: {a: [{error: {kind: unavailable, message: "no: way", http_status: 503, retry_after: 1500ms, details: {a: [1, "2"]}}}, {pending: {after: 3s, message: soon}}, {error: forbidden}, {outputs: {n: 3}}]}
    events: [{resume: true}]
`)
	status, _ := d.Machine.Status()
	recording := Recording{Run: runs.Run{ID: "01r", Status: status}, Workflow: workflow, File: "flows/w.test.yaml"}
	for _, record := range first {
		recording.Records = append(recording.Records, *record)
	}
	written, err := Record(recording)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := drive(string(written))
	if diff := cmp.Diff(plain(t, first), plain(t, second)); diff != "" {
		t.Errorf("(-first +again)\n%s\n%s", diff, written)
	}
	again, err := Record(recording)
	if err != nil || string(again) != string(written) {
		t.Errorf("the same run gives another file: %v", err)
	}
}

// plain is a journal as it is stored.
func plain(t *testing.T, records []*journal.Record) []string {
	t.Helper()
	var lines []string
	for _, record := range records {
		raw, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(raw))
	}
	return lines
}

func TestPathsAreSeenFromTheTest(t *testing.T) {
	for _, c := range [][3]string{
		{".", "w.yaml", "w.yaml"}, {"flows", "flows/w.yaml", "w.yaml"}, {"tests", "flows/w.yaml", "../flows/w.yaml"},
		{"a/b", "a/w.yaml", "../w.yaml"}, {"/x/tests", "/x/flows/w.yaml", "../flows/w.yaml"},
	} {
		if got := relativeTo(c[0], c[1]); got != c[2] {
			t.Errorf("%s from %s is %s, want %s", c[1], c[0], got, c[2])
		}
	}
}

// FuzzTestFile reads any bytes as a test file: it ends, with problems that have a
// place.
func FuzzTestFile(f *testing.F) {
	f.Add("flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: a\n    answers: {a: [{pages: [[{}], {n: 1}]}, {error: {kind: x}}]}\n    events: [{cancel: true, after: 1s}]\n    expect: {that: [a == 1], steps: {a: failed}, error: timeout, outputs: {n: [1]}}\n")
	f.Add("flowrun_test: v1\nrecorded: {run: x}\nworkflow: [a]\ncases: {}\nat: 1\nstate: {a: 1}\ninputs: []\n")
	workflow := &plan.Workflow{Steps: []plan.Step{{ID: "a", Kind: plan.StepAction, Uses: "svc.read"}}, Outputs: []plan.Output{{Name: "n"}}}
	steps, err := indexSteps(workflow)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		suite, problems := readSuite("x.test.yaml", []byte(src))
		if suite != nil {
			_, found := bind(suite, workflow, steps, newBlobs(hand{}, "t.test.yaml"))
			problems = append(problems, found...)
		}
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
