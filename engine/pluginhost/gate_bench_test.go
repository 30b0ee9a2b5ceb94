package pluginhost

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/pluginhost/gate"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// answerOfAStep is what a call of a service answers: 2 KiB of JSON with its meta.
func answerOfAStep() *pluginv1.ExecuteEvent {
	event := completed(`{"text":"` + strings.Repeat("a line of text; ", 120) + `","count":3}`)
	event.GetCompleted().Meta = []byte(`{"status":200,"request_id":"7f3a","rate":{"remaining":59}}`)
	return event
}

// BenchmarkGate is the walk over one answer, beside BenchmarkWarmCall, of which it is a
// part: at most 3 % of it.
func BenchmarkGate(b *testing.B) {
	g := gate.New(gate.Options{Redact: (&masks{values: []string{"kilo-123456"}}).Redact})
	event := answerOfAStep()
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Message(event); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGateStrictJSON is the part of it that was there before the gate: the output
// is held to strict JSON, and the meta to JSON.
func BenchmarkGateStrictJSON(b *testing.B) {
	answer := answerOfAStep().GetCompleted()
	for b.Loop() {
		if gate.DocumentFault(answer.GetOutput().GetJson()) != "" || gate.DocumentFault(answer.GetMeta()) != "" {
			b.Fatal("it is no JSON")
		}
	}
}

// BenchmarkWarmCall is a call of a process that runs.
func BenchmarkWarmCall(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	h := New(Options{
		StateDir: b.TempDir(), Sources: []Source{{Name: "evil", Bundled: true, Command: []string{self, "plugin", "good"}}}, Environ: os.Environ(),
		Now: time.Now, Entropy: zeros{}, Redactor: &masks{values: []string{"kilo-123456"}}, Limits: Limits{Memory: -1},
	})
	defer h.Close(context.Background())
	input := json.RawMessage(`{"text":"` + strings.Repeat("a line of text; ", 120) + `"}`)
	for b.Loop() {
		answer := h.Call(context.Background(), runs.Request{Action: "evil.echo", Input: input}, Connection{Name: "main"}, nil)
		if answer.Failed != nil {
			b.Fatal(answer.Failed)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
