package sdk

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

type smallIn struct {
	N int `json:"n"`
}

// A call of a stream costs the SDK a bounded number of allocations beside those of HTTP:
// its context, its request, its input and output, its event.
func TestAStreamedCallAllocatesLittle(t *testing.T) {
	plugin := New("small", "1.0.0", "Answers at once", Read("echo", "Return n", func(_ *Call[struct{}], in smallIn) (smallIn, error) { return in, nil }))
	server, err := NewServer(plugin, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan struct{}, 1)
	calls := &streamedCalls{service: server.service, ctx: t.Context(), hand: make(chan *streamedCall), calls: map[uint64]*streamedCall{}}
	calls.out = &eventWriter{send: func(*pluginv1.ExecuteStreamResponse) error { answered <- struct{}{}; return nil }}
	encoded, err := proto.Marshal(&pluginv1.ExecuteRequest{Action: "echo", Input: &pluginv1.Value{Json: []byte(`{"n":1}`)}, Run: &pluginv1.RunContext{RunId: "run", StepId: "a", Attempt: 1}})
	if err != nil {
		t.Fatal(err)
	}
	number := uint64(0)
	got := testing.AllocsPerRun(300, func() {
		number++
		if err := calls.hear(&pluginv1.CallWord{Call: number, Execute: encoded}); err != nil {
			t.Fatal(err)
		}
		<-answered
	})
	calls.end()
	const most = 45
	if t.Logf("a call allocates %.0f times", got); got > most {
		t.Errorf("a call allocates %.0f times, at most %d are allowed", got, most)
	}
}
