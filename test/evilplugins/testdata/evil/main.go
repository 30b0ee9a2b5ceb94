// Command evil is a plugin of the raw protocol that misbehaves in the way its own
// file is named: it can do what the sdk does not let an author do.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

func main() {
	name := filepath.Base(os.Args[0])
	if strings.HasPrefix(name, "healthy") || name == "panics_in_one_call" {
		wellMade(name)
		return
	}
	protocol := uint(handshake.ProtocolVersion)
	start(name, &protocol)
	if name != "ignores_every_signal" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // the lifeline
			os.Exit(0)
		}()
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: protocol, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins: goplugin.PluginSet{handshake.PluginSet: &plugin{server: &server{name: name}}},
		Logger:  hclog.New(&hclog.LoggerOptions{Output: os.Stderr, JSONFormat: true, Level: hclog.Warn}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(512<<20), grpc.StreamInterceptor(requireToken))...)
		},
	})
	if name == "ignores_every_signal" {
		select {} // nor does it end when it is asked to shut down
	}
}

// start is what goes wrong before the handshake.
func start(name string, protocol *uint) {
	switch name {
	case "crashes_at_start":
		fmt.Fprintln(os.Stderr, "cannot read my licence")
		os.Exit(3)
	case "exits_with_zero":
		os.Exit(0)
	case "hangs_at_start":
		fmt.Fprintln(os.Stderr, "thinking")
		select {}
	case "shakes_wrong_hands":
		*protocol = 7
	case "prints_before_the_handshake":
		for i := range 200 {
			fmt.Printf("loading module %d | of 200|x\n", i)
		}
		fmt.Print(strings.Repeat("x", 100_000), "\nalmost there... ")
	case "prints_one_endless_line":
		for {
			fmt.Print(strings.Repeat("la", 4000))
		}
	case "listens_on_tcp":
		fmt.Println("1|1|tcp|127.0.0.1:9|grpc|")
		select {}
	case "names_a_foreign_socket":
		fmt.Println("1|1|unix|/tmp/of-another|grpc|")
		select {}
	case "ignores_every_signal":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	}
}

// launchToken reads the token from its descriptor, once.
var launchToken = sync.OnceValue(func() string {
	number, err := strconv.Atoi(os.Getenv(handshake.EnvLaunchTokenFD))
	if err != nil {
		return os.Getenv(handshake.EnvLaunchToken)
	}
	file := os.NewFile(uintptr(number), "token")
	defer file.Close()
	token, _ := io.ReadAll(file)
	return string(token)
})

func requireToken(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	values := metadata.ValueFromIncomingContext(stream.Context(), handshake.LaunchTokenKey)
	if len(values) != 1 || values[0] != launchToken() {
		return status.Error(codes.Unauthenticated, "wrong launch token")
	}
	return handle(srv, stream)
}

type plugin struct {
	goplugin.NetRPCUnsupportedPlugin
	server *server
}

func (p *plugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1grpc.RegisterPluginServer(s, p.server)
	return nil
}

func (p *plugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type in struct {
	N int `json:"n,omitempty"`
}

type out struct {
	Text string `json:"text,omitempty"`
}

// wellMade is a plugin of the sdk: the healthy neighbour, and the one with a bug.
func wellMade(name string) {
	act := func(_ *sdk.Call[struct{}], in in) (out, error) {
		if name == "panics_in_one_call" && in.N == 7 {
			panic("seven")
		}
		nap()
		return out{Text: fmt.Sprint(in.N)}, nil
	}
	sdk.New(name, "1.0.0", "One of the suite's plugins", sdk.Read("act", "Nap a little", act)).Serve()
}
