package pluginhost

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// executeMethod names Execute where the gate is told whose message it judges: an event is
// the same, however it came.
const executeMethod = pluginv1grpc.Plugin_Execute_FullMethodName

// callStream carries the calls of one process, many at a time (README of the protocol,
// "ExecuteStream"). Its reader hands what comes to the calls and never waits for one of them.
type callStream struct {
	process *process
	rpc     grpc.BidiStreamingClient[pluginv1.ExecuteStreamRequest, pluginv1.ExecuteStreamResponse]
	cancel  context.CancelFunc
	out     wordWriter

	mu    sync.Mutex
	calls map[uint64]*streamedCall
	over  error // why it has ended: io.EOF, or a gRPC status
}

// streamFor returns the stream of the process, opened if need be. It fails with a gRPC
// status, or with *PluginError where the host is closing.
func (p *process) streamFor() (*callStream, error) {
	p.streaming.Lock()
	defer p.streaming.Unlock()
	if p.stream != nil && !p.stream.ended() {
		return p.stream, nil
	}
	if p.unit.host.isClosed() {
		return nil, p.unit.closedError() // nothing was sent
	}
	ctx, cancel := context.WithCancel(context.Background())
	rpc, err := p.rpc.ExecuteStream(ctx, grpc.MaxCallRecvMsgSize(handshake.MaxMessageLimit))
	if err != nil {
		cancel()
		return nil, err
	}
	s := &callStream{process: p, rpc: rpc, cancel: cancel, calls: map[uint64]*streamedCall{}}
	s.out.send = rpc.Send
	if !p.unit.host.begin(s.read) {
		cancel()
		return nil, p.unit.closedError() // nothing was sent
	}
	p.stream = s
	return s, nil
}

// endStream ends a stream that no call is on, so that the plugin's server need not wait
// for it when it is asked to end.
func (p *process) endStream() {
	p.streaming.Lock()
	defer p.streaming.Unlock()
	if p.stream == nil {
		return
	}
	p.stream.mu.Lock()
	defer p.stream.mu.Unlock()
	if len(p.stream.calls) == 0 {
		p.stream.cancel()
	}
}

func (s *callStream) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over != nil
}

// begin sends a request, whose number the process has given to no other call. nil = the
// stream has ended, and nothing was sent.
func (s *callStream) begin(ctx context.Context, number uint64, encoded []byte) *streamedCall {
	call := &streamedCall{stream: s, ctx: ctx, number: number, ready: make(chan struct{}, 1)}
	call.came = call.first[:0]
	word := &call.word
	word.Call, word.Execute = number, encoded
	if deadline, ok := ctx.Deadline(); ok {
		left := max(time.Until(deadline), 1)
		call.timeout.Seconds, call.timeout.Nanos = int64(left/time.Second), int32(left%time.Second)
		word.Timeout = &call.timeout
	}
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return nil
	}
	s.calls[number] = call
	s.mu.Unlock()
	call.position.Store(s.out.put(word))
	return call
}

// read hands on what comes until the stream ends.
func (s *callStream) read() {
	for {
		response, err := s.rpc.Recv()
		if err != nil {
			s.end(err)
			return
		}
		for _, event := range response.GetEvents() {
			s.mu.Lock()
			call := s.calls[event.GetCall()]
			s.mu.Unlock()
			if call != nil { // else it has ended: nobody waits for what it says
				call.hear(event)
			}
		}
	}
}

// end ends the calls that are on the stream.
func (s *callStream) end(err error) {
	s.cancel()
	s.out.close()
	s.mu.Lock()
	s.over = err
	calls := s.calls
	s.calls = nil
	s.mu.Unlock()
	for _, call := range calls {
		call.broken(err)
	}
}

// streamedCall is one call of a stream: the events of it that have come and were not read.
type streamedCall struct {
	stream   *callStream
	ctx      context.Context
	number   uint64
	position atomic.Uint64 // of its request, in what was said

	mu    sync.Mutex
	came  []*pluginv1.CallEvent
	bytes int   // of came
	over  error // behind what came: why there is no more
	ready chan struct{}

	// Room for what every call has: its request and, of most, the only event.
	word    pluginv1.CallWord
	timeout durationpb.Duration
	first   [1]*pluginv1.CallEvent

	// Of who reads it.
	part  []byte // of an event that goes on
	taken int    // bytes that the plugin was not told of yet
	ended bool   // the plugin has said its last word
}

// mostUnder is how much of one call can be under way where a plugin keeps to the protocol.
const mostUnder = handshake.StreamedWindow + handshake.MaxStreamedPart

// hear takes an event of the call.
func (c *streamedCall) hear(event *pluginv1.CallEvent) {
	c.stream.out.wasRead(c.position.Load())
	c.mu.Lock()
	c.bytes += len(event.GetEvent())
	flooded := c.bytes > mostUnder && c.over == nil
	if flooded {
		c.over = status.Errorf(codes.Internal, "it sends more of a call than may be under way, which is %d bytes", handshake.StreamedWindow)
	}
	if c.over == nil {
		c.came = append(c.came, event)
	}
	c.mu.Unlock()
	if flooded {
		c.stream.process.unit.abandon(c.stream.process) // who does not wait here waits nowhere
	}
	c.wake()
}

func (c *streamedCall) broken(err error) {
	c.mu.Lock()
	if c.over == nil {
		c.over = err
	}
	c.mu.Unlock()
	c.wake()
}

func (c *streamedCall) wake() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Recv returns the next event through the gate; io.EOF behind the last one, and where the
// stream ends without it. Other errors are those of a call by Execute.
func (c *streamedCall) Recv() (*pluginv1.ExecuteEvent, error) {
	if c.ended {
		return nil, io.EOF
	}
	for {
		frame, err := c.next()
		if err != nil {
			return nil, err
		}
		if event, err := c.put(frame); event != nil || err != nil {
			return event, err
		}
	}
}

// next waits for the next part of an event.
func (c *streamedCall) next() (*pluginv1.CallEvent, error) {
	for {
		c.mu.Lock()
		if len(c.came) > 0 {
			frame := c.came[0]
			c.came[0], c.came = nil, c.came[1:]
			c.bytes -= len(frame.GetEvent())
			c.mu.Unlock()
			return frame, nil
		}
		err := c.over
		c.mu.Unlock()
		if errors.Is(err, io.EOF) {
			return nil, err
		} else if err != nil {
			return nil, c.stream.process.unit.host.gate.Status(err)
		}
		select {
		case <-c.ready:
		case <-c.ctx.Done():
			return nil, status.FromContextError(c.ctx.Err()).Err()
		}
	}
}

// put puts a part to those before it, and returns the event that it ends.
func (c *streamedCall) put(frame *pluginv1.CallEvent) (*pluginv1.ExecuteEvent, error) {
	if end := frame.GetStatus(); end != nil {
		c.ended = true
		if end.GetCode() == uint32(codes.OK) {
			return nil, io.EOF
		}
		return nil, c.stream.process.unit.host.gate.Status(status.Error(codes.Code(end.GetCode()), end.GetMessage()))
	}
	c.tell(len(frame.GetEvent()))
	encoded := frame.GetEvent()
	if len(c.part) > 0 || frame.GetMore() {
		c.part = append(c.part, encoded...)
		encoded = c.part
	}
	if limit := c.stream.process.unit.host.options.Limits.Message; len(encoded) > limit {
		return nil, status.Errorf(codes.ResourceExhausted, "received message larger than max %d", limit)
	}
	if frame.GetMore() {
		return nil, nil
	}
	c.part = nil
	event, err := decodeEvent(encoded)
	if err != nil {
		return nil, err
	}
	c.ended = isLast(event)
	return event, c.stream.process.unit.host.letIn(executeMethod, event)
}

// tell tells the plugin now and then how much was taken, so that it sends more.
func (c *streamedCall) tell(bytes int) {
	if c.taken += bytes; c.taken >= handshake.StreamedWindow/2 {
		c.stream.out.put(&pluginv1.CallWord{Call: c.number, Taken: uint64(c.taken)})
		c.taken = 0
	}
}

// Close ends the call: the plugin is told where it has not said its last word.
func (c *streamedCall) Close() {
	s := c.stream
	s.mu.Lock()
	known := s.calls[c.number] != nil
	delete(s.calls, c.number)
	s.mu.Unlock()
	if known && !c.ended {
		s.out.put(&pluginv1.CallWord{Call: c.number, Cancel: true})
	}
}
