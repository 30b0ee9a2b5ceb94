package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// streamMode begins the mode of a plugin that speaks ExecuteStream.
const streamMode = "stream:"

// eachForm runs a test with a plugin that has Execute alone and with one that has
// ExecuteStream, whose modes begin with form.
func eachForm(t *testing.T, test func(t *testing.T, form string)) {
	t.Run("execute", func(t *testing.T) { test(t, "") })
	t.Run("stream", func(t *testing.T) { test(t, streamMode) })
}

// ExecuteStream is the plugin's side written out by hand, without the SDK: each call is
// what Execute does with a stream of its own in front of it.
func (s *evilServer) ExecuteStream(stream grpc.BidiStreamingServer[pluginv1.ExecuteStreamRequest, pluginv1.ExecuteStreamResponse]) error {
	if !s.streams {
		return status.Error(codes.Unimplemented, "no stream was promised")
	}
	out := &evilOut{stream: stream}
	calls := map[uint64]*evilCall{}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		request, err := stream.Recv()
		if err != nil {
			for _, call := range calls {
				call.cancel()
			}
			return err
		}
		for _, word := range request.GetCalls() {
			call := calls[word.GetCall()]
			switch {
			case len(word.GetExecute()) > 0:
				call = newEvilCall(out, word, stream.Context())
				calls[word.GetCall()] = call
				if strings.Contains(string(call.request.GetInput().GetJson()), "end the stream") {
					return nil
				}
				if !s.oddly(call) {
					running.Go(func() { call.run(s) })
				}
			case word.GetCancel():
				call.cancel()
			default:
				call.take(word.GetTaken())
			}
		}
	}
}

// evilOut sends one event at a time, a message each.
type evilOut struct {
	mu     sync.Mutex
	stream grpc.BidiStreamingServer[pluginv1.ExecuteStreamRequest, pluginv1.ExecuteStreamResponse]
}

func (o *evilOut) send(events ...*pluginv1.CallEvent) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stream.Send(&pluginv1.ExecuteStreamResponse{Events: events})
}

// evilCall is a call of the stream, which Execute takes for a stream of its own.
type evilCall struct {
	grpc.ServerStreamingServer[pluginv1.ExecuteEvent]
	out     *evilOut
	number  uint64
	ctx     context.Context
	cancel  context.CancelFunc
	request *pluginv1.ExecuteRequest

	mu    sync.Mutex
	under uint64
	room  *sync.Cond
}

func newEvilCall(out *evilOut, word *pluginv1.CallWord, ctx context.Context) *evilCall {
	c := &evilCall{out: out, number: word.GetCall(), request: &pluginv1.ExecuteRequest{}}
	c.room = sync.NewCond(&c.mu)
	if err := proto.Unmarshal(word.GetExecute(), c.request); err != nil {
		panic(err)
	}
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs(handshake.CallKey, fmt.Sprint(c.number)))
	c.ctx, c.cancel = context.WithCancel(ctx)
	context.AfterFunc(c.ctx, c.room.Broadcast)
	return c
}

func (c *evilCall) Context() context.Context { return c.ctx }

func (c *evilCall) run(s *evilServer) {
	if err := s.Execute(c.request, c); err != nil {
		_ = c.out.send(&pluginv1.CallEvent{Call: c.number, Status: &pluginv1.CallStatus{Code: uint32(status.Code(err)), Message: status.Convert(err).Message()}})
		return
	}
	if strings.HasPrefix(c.request.GetAction(), "nothing") {
		_ = c.out.send(&pluginv1.CallEvent{Call: c.number, Status: &pluginv1.CallStatus{}})
	}
}

func (c *evilCall) take(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under -= bytes
	c.room.Broadcast()
}

// Send keeps to the window, and cuts what is large.
func (c *evilCall) Send(event *pluginv1.ExecuteEvent) error {
	encoded, err := proto.Marshal(event)
	if err != nil { // proto refuses text that is no UTF-8; a plugin in another language may not
		encoded = badText()
	}
	for more := true; more; {
		part := encoded[:min(len(encoded), handshake.MaxStreamedPart)]
		encoded = encoded[len(part):]
		more = len(encoded) > 0
		c.mu.Lock()
		for c.under >= handshake.StreamedWindow && c.ctx.Err() == nil {
			c.room.Wait()
		}
		c.under += uint64(len(part))
		c.mu.Unlock()
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := c.out.send(&pluginv1.CallEvent{Call: c.number, Event: part, More: more}); err != nil {
			return err
		}
	}
	return nil
}

// badText is a line of the log that is no UTF-8, encoded.
func badText() []byte {
	line, err := proto.Marshal(logLine("caf?"))
	if err != nil {
		panic(err)
	}
	return []byte(strings.Replace(string(line), "caf?", "caf\xe9", 1))
}

// oddly does to a stream what a plugin must not do; false = the call is an ordinary one.
func (s *evilServer) oddly(c *evilCall) bool {
	input := string(c.request.GetInput().GetJson())
	done, err := proto.Marshal(completed(`{"text":"done"}`))
	if err != nil {
		panic(err)
	}
	line, err := proto.Marshal(logLine(strings.Repeat("blah ", 1000)))
	if err != nil {
		panic(err)
	}
	event := func(number uint64, encoded []byte) *pluginv1.CallEvent {
		return &pluginv1.CallEvent{Call: number, Event: encoded}
	}
	switch {
	case c.request.GetAction() != "echo":
		return false
	case strings.Contains(input, "late reply"): // of calls that are not there, and once more
		_ = c.out.send(event(0, done), event(c.number+1000, done), event(c.number, done), event(c.number, line), event(c.number, done))
	case strings.Contains(input, "no event"):
		_ = c.out.send(event(c.number, []byte("\xff\xff\xff")))
	case strings.Contains(input, "lump"): // above all limits, in one piece
		lump, err := proto.Marshal(completed(`{"text":"` + strings.Repeat("x", 9<<20) + `"}`))
		if err != nil {
			panic(err)
		}
		_ = c.out.send(event(c.number, lump))
	case strings.Contains(input, "large"):
		var size int
		if _, err := fmt.Sscanf(input, `{"text":"large %d"}`, &size); err != nil {
			panic(err)
		}
		go func() { _ = c.Send(completed(`{"text":"` + strings.Repeat("x", size) + `"}`)) }()
	case strings.Contains(input, "no window"):
		go func() {
			for range 1000 {
				_ = c.out.send(event(c.number, line))
			}
			_ = c.out.send(event(c.number, done))
		}()
	case strings.Contains(input, "half an event"):
		_ = c.out.send(&pluginv1.CallEvent{Call: c.number, Event: done[:2], More: true}, &pluginv1.CallEvent{Call: c.number, Status: &pluginv1.CallStatus{Code: uint32(codes.DataLoss), Message: "odd"}})
	default:
		return false
	}
	return true
}
