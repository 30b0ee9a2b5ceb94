package conformance

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// callStream is the host's side of ExecuteStream in a process of the plugin. It notes what
// the plugin does that it must not do.
type callStream struct {
	rpc grpc.BidiStreamingClient[pluginv1.ExecuteStreamRequest, pluginv1.ExecuteStreamResponse]

	sending sync.Mutex

	mu    sync.Mutex
	last  uint64 // number that a call was given
	calls map[uint64]*streamedCall
	stray string // the first event that belongs to no call
	lump  string // the first event that was too large, or too early
	over  error  // why the stream has ended
}

// streamedCall is one call of a stream.
type streamedCall struct {
	name   string
	events chan *pluginv1.ExecuteEvent // closed at the end
	part   []byte
	under  int   // bytes that the plugin was not told of
	err    error // status of its end
	final  bool  // the answer has come
}

// streams reports whether the plugin has ExecuteStream.
func (k *kit) streams() bool {
	return slices.Contains(k.described.GetPlugin().GetFeatures(), handshake.FeatureExecuteStream)
}

// streamOf is the stream of the process, which is opened once, and again where it has
// ended. What was noted of it stays.
func (p *process) streamOf() (*callStream, error) {
	p.streaming.Lock()
	defer p.streaming.Unlock()
	before := &callStream{}
	if p.stream != nil {
		if before = p.stream; !before.ended() {
			return before, nil
		}
	}
	rpc, err := p.rpc.ExecuteStream(p.authorized(context.Background()))
	if err != nil {
		return nil, err
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	p.stream = &callStream{rpc: rpc, calls: map[uint64]*streamedCall{}, stray: before.stray, lump: before.lump}
	go p.stream.read()
	return p.stream, nil
}

func (s *callStream) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over != nil
}

// begin sends a request and returns the number of its call.
func (s *callStream) begin(r *pluginv1.ExecuteRequest) (uint64, *streamedCall, error) {
	encoded, err := proto.Marshal(r)
	if err != nil {
		return 0, nil, err
	}
	number, call := s.reserve(r.GetAction())
	return number, call, s.say(&pluginv1.CallWord{Call: number, Execute: encoded})
}

// reserve gives a call a number, under which its events are looked for.
func (s *callStream) reserve(name string) (uint64, *streamedCall) {
	call := &streamedCall{name: name, events: make(chan *pluginv1.ExecuteEvent, 1000)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	s.calls[s.last] = call
	if call.err = s.over; s.over != nil {
		close(call.events)
	}
	return s.last, call
}

func (s *callStream) say(words ...*pluginv1.CallWord) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.rpc.Send(&pluginv1.ExecuteStreamRequest{Calls: words})
}

func (s *callStream) read() {
	for {
		response, err := s.rpc.Recv()
		if err != nil {
			s.end(err)
			return
		}
		for _, event := range response.GetEvents() {
			if taken := s.take(event); taken > 0 {
				_ = s.say(&pluginv1.CallWord{Call: event.GetCall(), Taken: uint64(taken)}) // the reader finds out
			}
		}
	}
}

func (s *callStream) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = err
	for _, call := range s.calls {
		if !call.final && call.err == nil {
			call.err = fmt.Errorf("the stream ended: %w", err)
			close(call.events)
		}
	}
}

// take takes an event, and returns how much the plugin is to be told was taken.
func (s *callStream) take(event *pluginv1.CallEvent) (taken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.calls[event.GetCall()]
	size := len(event.GetEvent())
	switch {
	case call == nil:
		s.strays("an event of call %d, which was never begun", event.GetCall())
		return 0
	case call.final:
		s.strays("an event of %s behind its answer", call.name)
		return 0
	case call.err != nil:
		return 0
	case size > handshake.MaxStreamedPart:
		s.lumps("%d bytes of an event of %s in one piece, at most %d are allowed", size, call.name, handshake.MaxStreamedPart)
	}
	if call.under += size; call.under > handshake.StreamedWindow+handshake.MaxStreamedPart {
		s.lumps("%d bytes of %s under way, with %d the plugin must wait", call.under, call.name, handshake.StreamedWindow)
	}
	if end := event.GetStatus(); end != nil {
		call.err = io.EOF
		if end.GetCode() != uint32(codes.OK) {
			call.err = status.Error(codes.Code(end.GetCode()), end.GetMessage())
		}
		close(call.events)
		return 0
	}
	call.put(event)
	if taken = call.under; taken < handshake.StreamedWindow/2 {
		return 0
	}
	call.under = 0
	return taken
}

// put puts a part to those before it.
func (c *streamedCall) put(event *pluginv1.CallEvent) {
	c.part = append(c.part, event.GetEvent()...)
	if event.GetMore() {
		return
	}
	whole := &pluginv1.ExecuteEvent{}
	if err := proto.Unmarshal(c.part, whole); err != nil {
		c.err = fmt.Errorf("an event that can't be read: %w", err)
		close(c.events)
		return
	}
	c.part = nil
	select {
	case c.events <- whole:
	default: // nobody reads it: it was canceled
	}
	switch whole.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Completed, *pluginv1.ExecuteEvent_Pending, *pluginv1.ExecuteEvent_Failed:
		c.final = true
		close(c.events)
	}
}

func (s *callStream) strays(format string, args ...any) {
	s.stray = cmp.Or(s.stray, fmt.Sprintf(format, args...))
}

func (s *callStream) lumps(format string, args ...any) {
	s.lump = cmp.Or(s.lump, fmt.Sprintf(format, args...))
}

// attemptStreamed makes one attempt by the stream of the process.
func (k *kit) attemptStreamed(ctx context.Context, p *process, r *pluginv1.ExecuteRequest) *answer {
	s, err := p.streamOf()
	if err != nil {
		return &answer{err: err}
	}
	r.Recipe = k.told.recipes[r.GetAction()]
	number, call, err := s.begin(r)
	if err != nil {
		return &answer{err: err}
	}
	got := &answer{}
	for {
		select {
		case event, more := <-call.events:
			if more {
				k.take(r.GetAction(), event, got)
				continue
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if got.err = call.err; got.err == io.EOF { //nolint:errorlint // it is never wrapped
				got.err = nil
			}
			if got.err != nil {
				k.ear.hear("the gRPC error of "+r.GetAction(), []byte(got.err.Error()))
			}
			return got
		case <-ctx.Done():
			_ = s.say(&pluginv1.CallWord{Call: number, Cancel: true})
			got.err = ctx.Err()
			return got
		}
	}
}
