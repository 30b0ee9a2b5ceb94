package main

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// streams reports whether the plugin has ExecuteStream: with the faults of Execute it does
// not, as they would be faults of the stream too.
func (p *plugin) streams() bool {
	return p.fault == "none" || p.fault == "told" || strings.HasPrefix(p.fault, "stream.")
}

// window is how much of a call may be under way, and part how large a piece of it may be.
const (
	window = 256 << 10
	part   = 64 << 10
)

// callStream is one stream of calls.
type callStream struct {
	rpc pluginv1grpc.Plugin_ExecuteStreamServer
	mu  sync.Mutex // one message at a time
}

func (s *callStream) send(events ...*pluginv1.CallEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rpc.Send(&pluginv1.ExecuteStreamResponse{Events: events})
}

// ExecuteStream does each call as Execute does, with a stream of its own in front of it.
func (p *plugin) ExecuteStream(rpc pluginv1grpc.Plugin_ExecuteStreamServer) error {
	s := &callStream{rpc: rpc}
	calls := map[uint64]*streamedCall{}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		request, err := rpc.Recv()
		if err != nil {
			for _, c := range calls {
				c.cancel()
			}
			return err
		}
		for _, word := range request.GetCalls() {
			c := calls[word.GetCall()]
			switch {
			case len(word.GetExecute()) > 0:
				r := &pluginv1.ExecuteRequest{}
				if err := proto.Unmarshal(word.GetExecute(), r); err != nil {
					_ = s.send(&pluginv1.CallEvent{Call: word.GetCall(), Status: &pluginv1.CallStatus{Code: uint32(codes.InvalidArgument), Message: err.Error()}})
					continue
				}
				c = newStreamedCall(rpc.Context(), s, word.GetCall())
				calls[word.GetCall()] = c
				running.Go(func() { p.runStreamed(c, r) })
			case c == nil && p.has("stream.words"):
				return status.Error(codes.InvalidArgument, "there is no such call")
			case c == nil:
			case word.GetCancel():
				if !p.has("stream.cancel") {
					c.cancel()
				}
			default:
				c.take(word.GetTaken())
			}
		}
	}
}

// streamedCall is a call of a stream, which Execute takes for a stream of its own.
type streamedCall struct {
	grpc.ServerStreamingServer[pluginv1.ExecuteEvent]
	stream *callStream
	number uint64
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	under uint64
	room  *sync.Cond
}

func newStreamedCall(ctx context.Context, s *callStream, number uint64) *streamedCall {
	c := &streamedCall{stream: s, number: number}
	c.room = sync.NewCond(&c.mu)
	c.ctx, c.cancel = context.WithCancel(metadata.NewIncomingContext(ctx, metadata.Pairs("flowrun-call-id", strconv.FormatUint(number, 10))))
	context.AfterFunc(c.ctx, c.room.Broadcast)
	return c
}

func (c *streamedCall) Context() context.Context { return c.ctx }

func (c *streamedCall) take(bytes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under -= min(bytes, c.under) // a fault may have sent more than was counted
	c.room.Broadcast()
}

func (p *plugin) runStreamed(c *streamedCall, r *pluginv1.ExecuteRequest) {
	switch {
	case p.has("stream.concurrent"):
		p.one.Lock()
		defer p.one.Unlock()
	case p.has("stream.completes") && r.GetAction() == "items":
		_ = failed(c, &pluginv1.Error{Code: 18, Message: "not on a stream", Applied: 1})
		return
	case p.has("stream.parts"):
		line, err := proto.Marshal(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Log{Log: &pluginv1.Log{Message: strings.Repeat("la", part)}}})
		if err == nil {
			_ = c.stream.send(&pluginv1.CallEvent{Call: c.number, Event: line})
		}
	}
	err := p.Execute(r, c)
	if err != nil {
		_ = c.stream.send(&pluginv1.CallEvent{Call: c.number, Status: &pluginv1.CallStatus{Code: uint32(status.Code(err)), Message: status.Convert(err).Message()}})
	}
	if p.has("stream.ends") {
		_ = c.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Fraction: 1}}})
	}
}

// Send keeps to the window, and cuts what is large.
func (c *streamedCall) Send(event *pluginv1.ExecuteEvent) error {
	encoded, err := proto.Marshal(event)
	if err != nil {
		return err
	}
	for more := true; more; {
		piece := encoded[:min(len(encoded), part)]
		encoded = encoded[len(piece):]
		more = len(encoded) > 0
		c.mu.Lock()
		for c.under >= window && c.ctx.Err() == nil {
			c.room.Wait()
		}
		c.under += uint64(len(piece))
		c.mu.Unlock()
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := c.stream.send(&pluginv1.CallEvent{Call: c.number, Event: piece, More: more}); err != nil {
			return err
		}
	}
	return nil
}
