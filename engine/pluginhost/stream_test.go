package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// neighbour is a call on the same stream that must not notice what happens beside it.
func neighbour(t *testing.T, w *world) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	begun, answer := &beginnings{begun: make(chan struct{})}, make(chan runs.Answer, 1)
	go func() {
		answer <- w.host.Call(ctx, runs.Request{Action: "evil.slow"}, Connection{Name: "main"}, begun)
	}()
	<-begun.begun
	return func() {
		t.Helper()
		select {
		case got := <-answer:
			t.Errorf("the call beside it ended: %+v", got.Failed)
		default:
			cancel()
			if f := (<-answer).Failed; f == nil || f.Kind != plan.KindCanceled {
				t.Errorf("the call beside it ended with %+v", f)
			}
		}
	}
}

// beginnings tells of the first line of a log.
type beginnings struct {
	sinkOf
	once  sync.Once
	begun chan struct{}
}

func (b *beginnings) Log(runs.Log) { b.once.Do(func() { close(b.begun) }) }

// What is wrong with one call of a stream is that call's: others go on, on the same
// stream.
func TestStreamAFaultIsOfItsCall(t *testing.T) {
	cases := map[string]struct {
		kind    plan.ErrorKind // "" = the call succeeds
		message string
	}{
		"late reply":    {"", ""},
		"no event":      {plan.KindCrashed, "unmarshal"},
		"lump":          {plan.KindCrashed, "more of a call than may be under way"},
		"half an event": {plan.KindCrashed, "odd"},
	}
	for input, c := range cases {
		t.Run(input, func(t *testing.T) {
			w := newWorld(t, streamMode+"good", nil)
			end := neighbour(t, w)
			before := streamOf(w)
			answer := w.call("echo", fmt.Sprintf(`{"text":%q}`, input))
			switch failure := answer.Failed; {
			case c.kind == "" && failure != nil:
				t.Errorf("the call failed: %v", failure)
			case c.kind != "" && (failure == nil || failure.Kind != c.kind || failure.Applied != runs.AppliedUnknown || !strings.Contains(failure.Message, c.message)):
				t.Errorf("the call ended with %+v", failure)
			}
			w.ok("echo", `{"text":"after"}`)
			if before == nil || streamOf(w) != before {
				t.Error("the calls went by another stream")
			}
			end()
		})
	}
}

func streamOf(w *world) *callStream {
	for _, u := range w.host.plugins["evil"].all() {
		u.mu.Lock()
		p := u.process
		u.mu.Unlock()
		if p != nil {
			p.streaming.Lock()
			defer p.streaming.Unlock()
			return p.stream
		}
	}
	return nil
}

// A plugin that sends on when nobody takes what it has sent fills no memory: its call is
// ended, and it is given up as one that hangs is.
func TestStreamWhoKeepsToNoWindowIsGivenUp(t *testing.T) {
	w := newWorld(t, streamMode+"good", nil)
	pid := w.ok("pid", `{}`)["pid"]
	deaf := &deafSink{listen: make(chan struct{})}
	go func() {
		defer close(deaf.listen)
		eventually(t, "more than the window is under way", func() bool { return underWay(streamOf(w)) > mostUnder })
	}()
	answer := w.host.Call(context.Background(), runs.Request{Action: "evil.echo", Input: []byte(`{"text":"no window"}`)}, Connection{Name: "main"}, deaf)
	if f := answer.Failed; f == nil || f.Kind != plan.KindCrashed || !strings.Contains(f.Message, "more of a call than may be under way") {
		t.Fatalf("the call ended with %+v", f)
	}
	eventually(t, "another process for new calls", func() bool { return w.ok("pid", `{}`)["pid"] != pid })
}

// A plugin that ends the stream ends the calls that are on it, without an answer; the next
// call opens another in the same process.
func TestStreamThatEndsIsOpenedAgain(t *testing.T) {
	w := newWorld(t, streamMode+"good", nil)
	pid := w.ok("pid", `{}`)["pid"]
	got := w.fails("echo", `{"text":"end the stream"}`, plan.KindCrashed)
	if got.Applied != runs.AppliedUnknown || !strings.Contains(got.Message, "without an answer") {
		t.Errorf("the call ended with %+v", got)
	}
	if again := w.ok("pid", `{}`)["pid"]; again != pid {
		t.Errorf("process %v became %v", pid, again)
	}
}

// What is large comes in parts, or by a call of its own, and is the same.
func TestStreamCarriesLargeDocuments(t *testing.T) {
	w := newWorld(t, streamMode+"good", nil)
	for _, size := range []int{1, 60 << 10, 64 << 10, 65 << 10, 300 << 10, 7 << 20} {
		text := strings.Repeat("x", size)
		if got := w.ok("echo", `{"text":"`+text+`"}`)["text"]; got != text {
			t.Errorf("%d bytes came back as %d", size, len(fmt.Sprint(got)))
		}
		if got := w.ok("echo", fmt.Sprintf(`{"text":"large %d"}`, size))["text"]; got != text {
			t.Errorf("of %d bytes came %d", size, len(fmt.Sprint(got)))
		}
	}
}

// deafSink takes no line before it is told to.
type deafSink struct {
	sinkOf
	listen chan struct{}
}

func (d *deafSink) Log(runs.Log) { <-d.listen }

// A call whose events nobody takes, while its plugin has 2 MB more of them, holds up no
// other: what is under way of it is bounded, and the stream is free.
func TestStreamAFullCallHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, streamMode+"good", nil)
	w.ok("pid", `{}`)
	deaf, answer := &deafSink{listen: make(chan struct{})}, make(chan runs.Answer, 1)
	go func() {
		answer <- w.host.Call(context.Background(), runs.Request{Action: "evil.flood"}, Connection{Name: "main"}, deaf)
	}()
	eventually(t, "the window of the call is full", func() bool { return underWay(streamOf(w)) > mostUnder/2 })
	var calls sync.WaitGroup
	for range 64 {
		calls.Go(func() { w.ok("echo", `{"text":"beside it"}`) })
	}
	calls.Wait()
	if most := underWay(streamOf(w)); most > mostUnder {
		t.Errorf("%d bytes are under way, at most %d may be", most, mostUnder)
	}
	close(deaf.listen)
	if got := <-answer; got.Completed == nil {
		t.Errorf("the full call ended with %v", got.Failed)
	}
}

// underWay is how much has come of the calls of a stream and was not read.
func underWay(s *callStream) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := 0
	for _, call := range s.calls {
		call.mu.Lock()
		bytes += call.bytes
		call.mu.Unlock()
	}
	return bytes
}

// Many calls at a time get their own answers, whatever is canceled beside them.
func TestStreamCallsDoNotMix(t *testing.T) {
	w := newWorld(t, streamMode+"good", nil)
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			for k := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+k)%5 == 0 {
					go cancel()
				}
				want := fmt.Sprintf(`{"text":"call %d of %d"}`, k, i)
				answer := w.host.Call(ctx, runs.Request{Action: "evil.echo", RunID: "run", Input: json.RawMessage(want)}, Connection{Name: "main"}, nil)
				if answer.Completed != nil && string(answer.Completed.Output) != want || answer.Completed == nil && answer.Failed.Kind != plan.KindCanceled {
					t.Errorf("call %d of %d: %+v", k, i, answer)
				}
				cancel()
			}
		})
	}
	calls.Wait()
	if s := streamOf(w); s != nil && len(s.calls) != 0 { // a process that was slow to cancel has been ended
		t.Errorf("%d calls are left", len(s.calls))
	}
}

// A plugin that reads nothing holds up no caller: what may not be read is sent by a
// goroutine of the stream.
func TestStreamWriterHoldsUpNobody(t *testing.T) {
	free, sent := make(chan struct{}), make(chan int, 1000)
	w := &wordWriter{send: func(r *pluginv1.ExecuteStreamRequest) error {
		<-free
		sent <- len(r.GetCalls())
		return nil
	}}
	w.said = unreadAtOnce // of which nothing was answered
	said := make(chan struct{})
	go func() {
		defer close(said)
		for i := range 100 {
			w.put(&pluginv1.CallWord{Call: uint64(i), Execute: make([]byte, 1000)})
		}
	}()
	release := sync.OnceFunc(func() { close(free) })
	defer release()
	select {
	case <-said:
	case <-time.After(10 * time.Second):
		t.Fatal("who speaks is held up")
	}
	release()
	w.sentAll(t)
	total, messages := 0, len(sent)
	for range messages {
		total += <-sent
	}
	if total != 100 || messages > 10 {
		t.Errorf("%d words were sent in %d messages, want 100 in a few", total, messages)
	}
	w.wasRead(w.said)
	w.put(&pluginv1.CallWord{Call: 1})
	if len(sent) != 1 {
		t.Error("with nothing unread a word was not sent at once")
	}
}

// sentAll waits until all is sent.
func (w *wordWriter) sentAll(t *testing.T) {
	eventually(t, "all is sent", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.writing
	})
}

// A call that is about to open the stream of a host that closes was not sent, and says so.
func TestStreamOfAHostThatCloses(t *testing.T) {
	w := newWorld(t, streamMode+"good", nil)
	w.ok("pid", `{}`)
	p := w.host.plugins["evil"].all()[0].process
	if err := w.host.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the stream", p.stream.ended)
	_, err := p.streamFor()
	if f := w.host.failureOf(t.Context(), err); f.Kind != plan.KindCanceled || f.Applied != runs.NotApplied {
		t.Errorf("the call ended with %+v, of %v", f, err)
	}
}
