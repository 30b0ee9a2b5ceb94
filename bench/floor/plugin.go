package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
)

// echo is what the plugin takes and gives: its answer is its input.
type echo struct {
	N int `json:"n"`
}

// answer decodes the input, as a plugin must, and gives it back.
func answer(request *message) (*message, error) {
	var in echo
	if err := json.Unmarshal(request.Body, &in); err != nil {
		return nil, fmt.Errorf("read the input of %s: %w", request.Action, err)
	}
	out, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return &message{ID: request.ID, Body: out}, nil
}

// pluginServer is the plugin's side of both forms.
type pluginServer interface {
	call(ctx context.Context, request *message) (*message, error)
	stream(stream grpc.ServerStream) error
}

type plugin struct{}

func (plugin) call(_ context.Context, request *message) (*message, error) { return answer(request) }

// stream answers the calls of one long-lived stream, each in a goroutine of its own: one
// that waits must not hold up the others.
func (plugin) stream(stream grpc.ServerStream) error {
	var sending sync.Mutex
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		request := new(message)
		if err := stream.RecvMsg(request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		calls.Go(func() {
			reply, err := answer(request)
			if err != nil {
				reply = &message{ID: request.ID, Action: "error", Body: []byte(err.Error())}
			}
			sending.Lock()
			defer sending.Unlock()
			_ = stream.SendMsg(reply) // the caller sees the end of the stream
		})
	}
}

// service is what generated code would hold.
func service() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "floor.Plugin",
		HandlerType: (*pluginServer)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(server any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := new(message)
			if err := decode(request); err != nil {
				return nil, err
			}
			return server.(pluginServer).call(ctx, request)
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, ClientStreams: true, Handler: func(server any, stream grpc.ServerStream) error {
			return server.(pluginServer).stream(stream)
		}}},
	}
}

// servePlugin is the plugin's process: it serves on a socket at the path, says so with one
// line, and ends when its standard input does.
func servePlugin(path string, stdin io.Reader, stdout io.Writer) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(codec{}))
	server.RegisterService(service(), plugin{})
	fmt.Fprintln(stdout, "ready")
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		_ = os.Remove(path)
		os.Exit(0)
	}()
	return server.Serve(listener)
}
