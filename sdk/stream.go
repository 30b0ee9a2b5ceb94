package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// ExecuteStream runs the calls of one stream, each as Execute would: README of the
// protocol, "ExecuteStream". It ends when the host has said its last word and the calls
// have ended; when the host is gone they are canceled.
func (s *service) ExecuteStream(ctx context.Context, stream *connect.BidiStream[pluginv1.ExecuteStreamRequest, pluginv1.ExecuteStreamResponse]) error {
	calls := &streamedCalls{
		service: s, ctx: ctx, out: &eventWriter{send: stream.Send}, hand: make(chan *streamedCall), calls: map[uint64]*streamedCall{},
	}
	defer calls.end()
	for {
		request, err := stream.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			calls.cancelAll()
			return err
		}
		for _, word := range request.GetCalls() {
			if err := calls.hear(word); err != nil {
				calls.cancelAll()
				return err
			}
		}
	}
}

// streamedCalls are the calls of one stream.
type streamedCalls struct {
	service *service
	ctx     context.Context // of the stream
	out     *eventWriter
	hand    chan *streamedCall // to a goroutine that has ended a call and waits for another
	workers sync.WaitGroup

	mu    sync.Mutex
	calls map[uint64]*streamedCall // that have not ended
}

// hear takes one word of the host. An error ends the stream.
func (c *streamedCalls) hear(word *pluginv1.CallWord) error {
	if len(word.GetExecute()) > 0 {
		return c.begin(word)
	}
	c.mu.Lock()
	call := c.calls[word.GetCall()]
	c.mu.Unlock()
	if call == nil {
		return nil // it has ended meanwhile
	}
	if word.GetTaken() > 0 {
		call.makeRoom(word.GetTaken())
	}
	if word.GetCancel() {
		call.cancel()
	}
	return nil
}

func (c *streamedCalls) begin(word *pluginv1.CallWord) error {
	call := &streamedCall{calls: c, number: word.GetCall(), encoded: word.GetExecute(), room: make(chan struct{}, 1)}
	if word.GetTimeout() != nil {
		call.ctx, call.cancel = context.WithTimeout(c.ctx, word.GetTimeout().AsDuration())
	} else {
		call.ctx, call.cancel = context.WithCancel(c.ctx)
	}
	c.mu.Lock()
	twice := c.calls[call.number] != nil
	if !twice {
		c.calls[call.number] = call
	}
	c.mu.Unlock()
	if twice {
		call.cancel()
		return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("call %d is there already", call.number))
	}
	select {
	case c.hand <- call:
	default:
		c.workers.Go(func() { c.work(call) })
	}
	return nil
}

// work runs a call, and then others: a goroutine that has run one has the stack for it.
func (c *streamedCalls) work(call *streamedCall) {
	for call != nil {
		call.run()
		call = <-c.hand
	}
}

func (c *streamedCalls) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		call.cancel()
	}
}

// end waits for the calls: nothing may be sent when the stream has ended.
func (c *streamedCalls) end() {
	close(c.hand)
	c.workers.Wait()
	c.out.writers.Wait()
}

// streamedCall is one call of a stream.
type streamedCall struct {
	calls   *streamedCalls
	number  uint64
	encoded []byte // its ExecuteRequest
	ctx     context.Context
	cancel  context.CancelFunc

	mu    sync.Mutex
	under uint64        // bytes of events that the host has not taken
	room  chan struct{} // has one element when under has fallen
}

var errLeft = errors.New("the call has ended its goroutine")

// run runs the call to its end, whatever the author's code does.
func (c *streamedCall) run() {
	err := errLeft
	defer func() {
		if recovered := recover(); recovered != nil {
			err = fmt.Errorf("the plugin panicked: %s", plain(cut(fmt.Sprint(recovered), 1024)))
		}
		c.cancel()
		c.calls.mu.Lock()
		delete(c.calls.calls, c.number)
		c.calls.mu.Unlock()
		if err != nil {
			_ = c.calls.out.put(&pluginv1.CallEvent{Call: c.number, Status: statusOf(err)})
		}
	}()
	request := &pluginv1.ExecuteRequest{}
	if unread := proto.Unmarshal(c.encoded, request); unread != nil {
		err = connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("the request can't be read: %w", unread))
		return
	}
	c.encoded = nil
	err = c.calls.service.run(c.ctx, request, strconv.FormatUint(c.number, 10), c.send)
}

func statusOf(err error) *pluginv1.CallStatus {
	message := err.Error()
	if refused, ok := errors.AsType[*connect.Error](err); ok {
		message = refused.Message()
	}
	code := connect.CodeOf(err)
	if errors.Is(err, context.Canceled) {
		code = connect.CodeCanceled
	} else if errors.Is(err, context.DeadlineExceeded) {
		code = connect.CodeDeadlineExceeded
	}
	return &pluginv1.CallStatus{Code: uint32(code), Message: plain(cut(message, 4096))}
}

// send sends an event, in parts where it is large, when the host has taken enough of what
// was sent before. eventStream calls it once at a time.
func (c *streamedCall) send(event *pluginv1.ExecuteEvent) error {
	encoded, err := proto.Marshal(event)
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	if limit := sendLimit(c.calls.service.limit); len(encoded) > limit {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("message size %d exceeded sendMaxBytes %d", len(encoded), limit))
	}
	for {
		part := encoded[:min(len(encoded), handshake.MaxStreamedPart)]
		encoded = encoded[len(part):]
		if err := c.takeRoom(uint64(len(part))); err != nil {
			return err
		}
		if err := c.calls.out.put(&pluginv1.CallEvent{Call: c.number, Event: part, More: len(encoded) > 0}); err != nil {
			return err
		}
		if len(encoded) == 0 {
			return nil
		}
	}
}

// takeRoom waits until less than a window is under way.
func (c *streamedCall) takeRoom(size uint64) error {
	for {
		c.mu.Lock()
		if c.under < handshake.StreamedWindow {
			c.under += size
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		select {
		case <-c.room:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

func (c *streamedCall) makeRoom(taken uint64) {
	c.mu.Lock()
	c.under -= min(taken, c.under)
	c.mu.Unlock()
	select {
	case c.room <- struct{}{}:
	default:
	}
}
