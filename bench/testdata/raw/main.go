// Command raw is the plugin of the benchmarks on go-plugin alone: the same messages, and
// nothing of what the SDK and the host add.
package main

import (
	"context"
	"errors"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

type echo struct {
	pluginv1grpc.UnimplementedPluginServer
}

// Execute returns the input.
func (echo) Execute(request *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	completed := &pluginv1.Completed{Output: &pluginv1.Value{Json: request.GetInput().GetJson()}}
	return stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: completed}})
}

type served struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (served) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1grpc.RegisterPluginServer(s, echo{})
	return nil
}

func (served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin has no client side")
}

func main() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins:    goplugin.PluginSet{handshake.PluginSet: served{}},
		GRPCServer: goplugin.DefaultGRPCServer,
		Logger:     hclog.NewNullLogger(),
	})
}
