package pluginhost

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// events are what a plugin says of one call. Recv returns io.EOF behind the last one, and
// the gRPC status of a call that was broken off. Close ends the call; it can be closed twice.
type events interface {
	Recv() (*pluginv1.ExecuteEvent, error)
	Close()
}

// open sends a request: on the process's stream of calls, where the plugin has that and the
// request is not so large that others would wait for it, else by a call of its own.
func (p *process) open(ctx context.Context, e *execution, tokens *callTokens, request *pluginv1.ExecuteRequest, size int) (events, error) {
	if size <= handshake.MaxStreamedPart && e.contract.Supports(handshake.FeatureExecuteStream) {
		return p.openStreamed(ctx, tokens, request)
	}
	ctx, cancel := context.WithCancel(tokens.name(ctx))
	stream, err := p.rpc.Execute(ctx, request)
	if err != nil {
		cancel()
		return nil, err
	}
	return &executed{rpc: stream, cancel: cancel}, nil
}

func (p *process) openStreamed(ctx context.Context, tokens *callTokens, request *pluginv1.ExecuteRequest) (events, error) {
	encoded, err := proto.Marshal(request)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	for {
		stream, err := p.streamFor()
		if err != nil {
			return nil, err
		}
		if call := stream.begin(ctx, tokens.number, encoded); call != nil {
			return call, nil
		}
	}
}

// lastEvent is how long the stream of a call may stay open after the answer.
const lastEvent = time.Second

// executed is a call by Execute.
type executed struct {
	rpc    grpc.ServerStreamingClient[pluginv1.ExecuteEvent]
	cancel context.CancelFunc
	late   *time.Timer
}

// Recv gives the plugin a moment after its answer for the end of the stream.
func (e *executed) Recv() (*pluginv1.ExecuteEvent, error) {
	event, err := e.rpc.Recv()
	if err == nil && e.late == nil && isLast(event) {
		e.late = time.AfterFunc(lastEvent, e.cancel)
	}
	return event, err
}

func (e *executed) Close() {
	if e.late != nil {
		e.late.Stop()
	}
	e.cancel()
}

// isLast reports whether an event ends its call.
func isLast(event *pluginv1.ExecuteEvent) bool {
	switch event.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Completed, *pluginv1.ExecuteEvent_Pending, *pluginv1.ExecuteEvent_Failed:
		return true
	}
	return false
}

// decodeEvent reads an event as gRPC would have read it.
func decodeEvent(encoded []byte) (*pluginv1.ExecuteEvent, error) {
	event := &pluginv1.ExecuteEvent{}
	if err := proto.Unmarshal(encoded, event); err != nil {
		return nil, status.Error(codes.Internal, fmt.Sprintf("failed to unmarshal the received message: %v", err))
	}
	return event, nil
}
