package sdk

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpchealth"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
)

// maxStreams is how many calls may be open on one network connection: the engine bounds
// them by what it has in flight, a plugin does not.
const maxStreams = 1 << 20

// shutdownTime is how long an answer may take to leave after Shutdown.
const shutdownTime = 100 * time.Millisecond

// Handler serves the plugin's calls as gRPC, for a server that speaks HTTP/2.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(pluginv1connect.NewPluginHandler(s.service, handlerOptions(s.service.limit)...))
	return mux
}

// handlerOptions bound messages: what is taken by the protocol's hard limit, since the
// host keeps the lower ones. Nothing is compressed, as it does not leave the machine.
func handlerOptions(limit int) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithReadMaxBytes(handshake.MaxMessageLimit),
		connect.WithSendMaxBytes(sendLimit(limit)),
		connect.WithCompression("gzip", nil, nil),
	}
}

// sendLimit is how large an event may be of which the payload has a limit, in bytes.
func sendLimit(limit int) int {
	return max(limit, handshake.DefaultMessageLimit) + 64<<10 // its own fields around it
}

// serveUntilShutdown serves the plugin and what go-plugin's client asks for besides,
// until the host says Shutdown.
func serveUntilShutdown(listener net.Listener, token string, plugin *Server) error {
	server := newHTTPServer()
	mux := http.NewServeMux()
	mux.Handle("/", plugin.Handler())
	mux.Handle(grpchealth.NewHandler(grpchealth.NewStaticChecker(handshake.PluginSet), handlerOptions(0)...))
	down := make(chan struct{})
	mux.Handle("/plugin.GRPCController/Shutdown", connect.NewUnaryHandlerSimple("/plugin.GRPCController/Shutdown",
		func(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
			go func() {
				defer close(down)
				ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
				defer cancel()
				if server.Shutdown(ctx) != nil {
					_ = server.Close() // calls are under way: they end with the process
				}
			}()
			return &emptypb.Empty{}, nil
		}, handlerOptions(0)...))
	server.Handler = guard(token, mux)
	err := server.Serve(readAhead{listener})
	if errors.Is(err, http.ErrServerClosed) {
		<-down
		return nil
	}
	return err
}

// newHTTPServer speaks HTTP/2 without TLS: its socket is in a folder of the plugin alone,
// and a call may be silent for hours.
func newHTTPServer() *http.Server {
	server := &http.Server{
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
	}
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}
