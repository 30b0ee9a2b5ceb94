package pluginhost

import (
	"context"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// callWith makes a call that ends with ctx, or after the timeout.
func (w *world) callWith(ctx context.Context, action string, timeout time.Duration) *runs.Error {
	w.t.Helper()
	answer := w.host.Call(ctx, runs.Request{Action: "evil." + action, Step: "a", Attempt: 1, Timeout: timeout}, Connection{Name: "main"}, nil)
	if answer.Failed == nil {
		w.t.Fatalf("%s: the call succeeded: %+v", action, answer)
	}
	return answer.Failed
}

// TestACallThatWasNotSentTookNoEffect: what ended while its plugin had not
// started, or before it could be sent, has certainly not happened. It may be made
// again, and nobody is asked. The control is the same end of a call that was sent.
func TestACallThatWasNotSentTookNoEffect(t *testing.T) {
	starting := newWorld(t, "silent", nil) // never ready
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan *runs.Error, 1)
	go func() { ended <- starting.callWith(ctx, "echo", 0) }()
	eventually(t, "its plugin starts", func() bool { return starting.host.Status("evil").State == Starting })
	cancel()
	if f := <-ended; f.Kind != plan.KindCanceled || f.Applied != runs.NotApplied {
		t.Errorf("canceled while its plugin started: %v, applied %s", f, f.Applied)
	}
	if f := starting.callWith(t.Context(), "echo", 50*time.Millisecond); f.Kind != plan.KindTimeout || f.Applied != runs.NotApplied {
		t.Errorf("timed out while its plugin started: %v, applied %s", f, f.Applied)
	}
	warm := newWorld(t, "good", nil)
	warm.ok("echo", `{}`)
	for range 50 {
		if f := warm.callWith(ctx, "echo", 0); f.Kind != plan.KindCanceled || f.Applied != runs.NotApplied {
			t.Fatalf("canceled before it was sent: %v, applied %s", f, f.Applied)
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	answer := warm.host.Call(ctx, runs.Request{Action: "evil.slow"}, Connection{Name: "main"}, cancelsOnLog{cancel})
	if f := answer.Failed; f == nil || f.Kind != plan.KindCanceled || f.Applied != runs.AppliedUnknown {
		t.Errorf("the control, sent and not answered: %+v", answer)
	}
}

// cancelsOnLog ends a call when the plugin has said something in it.
type cancelsOnLog struct{ cancel func() }

func (c cancelsOnLog) Log(runs.Log)         { c.cancel() }
func (cancelsOnLog) Progress(runs.Progress) {}
