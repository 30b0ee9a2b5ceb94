package wire

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

type streamIn struct {
	Size int `json:"size,omitempty"`
}

// streamPlugin does what a stream of calls makes hard. ended gets the error of the context
// of each call that waits.
func streamPlugin(ended chan<- error) *sdk.Plugin {
	return sdk.New("wire", "1.0.0", "Is called by a stream",
		sdk.Read("say", "Say a text of a size", func(_ *sdk.Call[struct{}], in streamIn) (wireOut, error) {
			return wireOut{Text: strings.Repeat("x", in.Size)}, nil
		}),
		sdk.Read("log", "Log lines of 1 KiB", func(c *sdk.Call[struct{}], in streamIn) (wireOut, error) {
			for range in.Size {
				c.Log().Info(strings.Repeat("l", 1000))
			}
			return wireOut{Text: "said"}, nil
		}),
		sdk.Read("wait", "Wait for the end of the call", func(c *sdk.Call[struct{}], _ sdk.NoInput) (wireOut, error) {
			c.Log().Info("it has begun")
			<-c.Done()
			ended <- c.Err()
			return wireOut{}, c.Err()
		}),
		sdk.Read("panic", "Panic", func(*sdk.Call[struct{}], sdk.NoInput) (wireOut, error) { panic("oh") }),
		sdk.Read("leave", "End the goroutine", func(*sdk.Call[struct{}], sdk.NoInput) (wireOut, error) {
			runtime.Goexit()
			return wireOut{}, nil
		}),
		sdk.Read("token", "Use a token", func(c *sdk.Call[struct{}], _ sdk.NoInput) (wireOut, error) {
			token, err := c.Token(sdk.TokenRequest{})
			if err != nil {
				return wireOut{}, err
			}
			return wireOut{Text: token.AccessToken}, nil
		}),
	)
}

// caller is a host that speaks by a stream, word by word.
type caller struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[pluginv1.ExecuteStreamRequest, pluginv1.ExecuteStreamResponse]
	cancel context.CancelFunc
	left   []*pluginv1.CallEvent
}

func startCaller(t *testing.T, p *sdk.Plugin, host *grpc.Server) *caller {
	t.Helper()
	client := pluginv1grpc.NewPluginClient(servePlugin(t, p, host))
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	stream, err := client.ExecuteStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &caller{t: t, stream: stream, cancel: cancel}
}

func (c *caller) say(words ...*pluginv1.CallWord) {
	c.t.Helper()
	if err := c.stream.Send(&pluginv1.ExecuteStreamRequest{Calls: words}); err != nil {
		c.t.Fatal(err)
	}
}

func word(t *testing.T, number uint64, action, input string) *pluginv1.CallWord {
	t.Helper()
	encoded, err := proto.Marshal(&pluginv1.ExecuteRequest{Action: action, Input: &pluginv1.Value{Json: []byte(input)}})
	if err != nil {
		t.Fatal(err)
	}
	return &pluginv1.CallWord{Call: number, Execute: encoded}
}

func (c *caller) call(number uint64, action, input string) {
	c.t.Helper()
	c.say(word(c.t, number, action, input))
}

// event is the next event of any call.
func (c *caller) event() *pluginv1.CallEvent {
	c.t.Helper()
	for len(c.left) == 0 {
		response, err := c.stream.Recv()
		if err != nil {
			c.t.Fatal(err)
		}
		c.left = response.GetEvents()
	}
	event := c.left[0]
	c.left = c.left[1:]
	return event
}

// whole is the next whole event of a call, or its status; it takes what comes.
func (c *caller) whole(number uint64) (*pluginv1.ExecuteEvent, *pluginv1.CallStatus) {
	c.t.Helper()
	var encoded []byte
	for {
		part := c.event()
		if part.GetCall() != number {
			c.t.Fatalf("an event of call %d, want one of %d", part.GetCall(), number)
		}
		if part.GetStatus() != nil {
			return nil, part.GetStatus()
		}
		if len(part.GetEvent()) > handshake.MaxStreamedPart {
			c.t.Errorf("a part has %d bytes", len(part.GetEvent()))
		}
		c.say(&pluginv1.CallWord{Call: number, Taken: uint64(len(part.GetEvent()))})
		encoded = append(encoded, part.GetEvent()...)
		if part.GetMore() {
			continue
		}
		event := &pluginv1.ExecuteEvent{}
		if err := proto.Unmarshal(encoded, event); err != nil {
			c.t.Fatal(err)
		}
		return event, nil
	}
}

func (c *caller) completes(number uint64) string {
	c.t.Helper()
	event, end := c.whole(number)
	if event.GetCompleted() == nil {
		c.t.Fatalf("call %d ended with %v, %v", number, event, end)
	}
	return string(event.GetCompleted().GetOutput().GetJson())
}

func TestStreamAnswersInParts(t *testing.T) {
	c := startCaller(t, streamPlugin(nil), grpc.NewServer())
	for i, size := range []string{"0", "1", "65000", "66000", "300000", "5000000"} {
		c.call(uint64(i+1), "say", `{"size":`+size+`}`)
		if got := c.completes(uint64(i + 1)); len(got)-len(`{"text":""}`) != atoi(size) {
			t.Errorf("of %s bytes came %d", size, len(got))
		}
	}
	c.call(100, "say", `{"size":9000000}`)
	if event, _ := c.whole(100); event.GetFailed() == nil || !strings.Contains(event.GetFailed().GetMessage(), "more than the limit") {
		t.Errorf("above the limit it says %v", event)
	}
}

func atoi(text string) int {
	n := 0
	for _, c := range text {
		n = 10*n + int(c-'0')
	}
	return n
}

// A call whose events nobody takes waits, alone, with a window of them under way.
func TestStreamACallWaitsForItsOwnWindow(t *testing.T) {
	c := startCaller(t, streamPlugin(nil), grpc.NewServer())
	c.call(1, "log", `{"size":2000}`)
	under := 0
	for under < handshake.StreamedWindow {
		under += len(c.event().GetEvent())
	}
	c.call(2, "say", `{"size":3}`)
	if got := c.completes(2); got != `{"text":"xxx"}` {
		t.Errorf("beside it: %s", got)
	}
	if under > handshake.StreamedWindow+handshake.MaxStreamedPart {
		t.Errorf("%d bytes were under way", under)
	}
	c.say(&pluginv1.CallWord{Call: 1, Taken: uint64(under)})
	for {
		event, end := c.whole(1)
		if end != nil {
			t.Fatal(end)
		}
		if event.GetCompleted() != nil {
			break
		}
	}
}

func TestStreamCancelIsOfOneCall(t *testing.T) {
	ended := make(chan error, 2)
	c := startCaller(t, streamPlugin(ended), grpc.NewServer())
	c.call(1, "wait", `{}`)
	c.whole(1)
	c.call(2, "wait", `{}`)
	c.whole(2)
	c.say(&pluginv1.CallWord{Call: 7, Cancel: true}, &pluginv1.CallWord{Call: 8, Taken: 1 << 40}, &pluginv1.CallWord{Call: 1, Cancel: true})
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of the call ended with %v", err)
	}
	c.whole(1)
	timed := word(t, 3, "wait", `{}`)
	timed.Timeout = durationpb.New(time.Millisecond)
	c.say(timed)
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context of a call with a timeout ended with %v", err)
	}
	for event := (&pluginv1.ExecuteEvent{}); event.GetFailed() == nil; {
		event, _ = c.whole(3)
	}
	c.cancel() // the host is gone
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of a call on a broken stream ended with %v", err)
	}
}

// What goes wrong in one call is told by that call.
func TestStreamAFaultIsOfItsCall(t *testing.T) {
	c := startCaller(t, streamPlugin(nil), grpc.NewServer())
	c.call(1, "panic", `{}`)
	for failed := false; !failed; {
		event, end := c.whole(1)
		if failed = event.GetFailed() != nil; failed && !strings.Contains(event.GetFailed().GetMessage(), "panicked") || end != nil {
			t.Errorf("a panic: %v, %v", event, end)
		}
	}
	c.call(2, "leave", `{}`)
	if event, end := c.whole(2); event != nil || end.GetCode() == uint32(codes.OK) {
		t.Errorf("a goroutine that ends: %v, %v", event, end)
	}
	c.say(&pluginv1.CallWord{Call: 3, Execute: []byte("\xff\xff\xff")})
	if event, end := c.whole(3); event != nil || end.GetCode() != uint32(codes.InvalidArgument) {
		t.Errorf("a request that can't be read: %v, %v", event, end)
	}
	c.call(4, "no_such_action", `{}`)
	if event, _ := c.whole(4); event.GetFailed().GetCode() != pluginv1.Code_CODE_UNSUPPORTED {
		t.Errorf("an action that is not there: %v", event)
	}
	c.call(5, "say", `{"size":1}`)
	c.completes(5)
}

// The number of a call is its name in what it asks of the host (ADR 10).
func TestStreamACallNamesItself(t *testing.T) {
	host := grpc.NewServer()
	named := make(chan string, 1)
	pluginv1grpc.RegisterHostServer(host, &tokenHost{named: named})
	c := startCaller(t, streamPlugin(nil), host)
	c.call(12345, "token", `{}`)
	if got := c.completes(12345); got != `{"text":"t0ken"}` {
		t.Errorf("the token: %s", got)
	}
	if got := <-named; got != "12345" {
		t.Errorf("the call is named %q", got)
	}
}

type tokenHost struct {
	pluginv1grpc.UnimplementedHostServer
	named chan<- string
}

func (h *tokenHost) AcquireToken(ctx context.Context, _ *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	h.named <- strings.Join(metadata.ValueFromIncomingContext(ctx, handshake.CallKey), ",")
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Token{Token: &pluginv1.Token{AccessToken: "t0ken", Id: "1"}}}, nil
}

// A host that has said its last word hears the ends of its calls, and then that of the
// stream; a number that is given twice ends it.
func TestStreamEnds(t *testing.T) {
	c := startCaller(t, streamPlugin(nil), grpc.NewServer())
	c.call(1, "say", `{"size":1}`)
	if err := c.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for open := true; open; {
		response, err := c.stream.Recv()
		open = err == nil
		if open && response.GetEvents()[0].GetCall() != 1 {
			t.Errorf("got %v", response)
		}
		if !open && !errors.Is(err, io.EOF) {
			t.Errorf("the stream ended with %v", err)
		}
	}
	ended := make(chan error, 2)
	c = startCaller(t, streamPlugin(ended), grpc.NewServer())
	c.call(1, "wait", `{}`)
	c.whole(1)
	c.call(1, "wait", `{}`)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}
