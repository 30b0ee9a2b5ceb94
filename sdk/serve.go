package sdk

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
)

// exitUsage is the exit code of a plugin that a person started by hand, or
// whose parts are wrong.
const exitUsage = 2

// Serve is the main function of a plugin's binary. It returns only when the
// host has stopped the plugin; the process ends by itself when the host is
// gone (stdin closed). Started by hand it explains itself and exits with 2; with the
// argument --debug it waits for a flowrun that is told to attach to it.
func (p *Plugin) Serve() {
	if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		if !slices.Contains(os.Args[1:], debugFlag) {
			p.explain(os.Stderr)
			os.Exit(exitUsage)
		}
		if err := p.debug(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitUsage)
		}
		return
	}
	if err := p.serve(os.Stdin, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
}

// explain tells a person what this program is.
func (p *Plugin) explain(w io.Writer) {
	fmt.Fprintf(w, "%s %s is a plugin of flowrun: %s\n\n", p.name, p.version, p.doc)
	fmt.Fprintf(w, "flowrun starts it by itself. Name its path in flowrun.yaml:\n\n  plugins:\n    %s: {source: ./%s}\n\n", p.name, "flowrun-plugin-"+p.name)
	fmt.Fprintf(w, "and use its actions in a workflow:\n\n")
	for _, a := range p.actions {
		fmt.Fprintf(w, "  uses: %-28s # %s\n", p.name+"."+a.name, a.doc)
	}
	fmt.Fprintf(w, "\nWith %s it waits for a flowrun that is told to attach to it, under a debugger or not.\n", debugFlag)
	if err := p.Err(); err != nil {
		fmt.Fprintf(w, "\nIt cannot run, its author has to mend it:\n%v\n", err)
	}
}

// serve wires the plugin to go-plugin. stdin is the lifeline; stderr is the
// real one, which go-plugin replaces.
func (p *Plugin) serve(stdin io.Reader, stderr *os.File) error {
	go exitWithHost(stdin, os.Exit)
	token, err := launchToken(os.Getenv(handshake.EnvLaunchTokenFD), os.Getenv(handshake.EnvLaunchToken))
	if err != nil {
		return err
	}
	closeMemory()
	host, closeHost, err := dialHost(os.Getenv(handshake.EnvHostSocket), token)
	if err != nil {
		return err
	}
	defer closeHost()
	options := ServerOptions{Host: host, MessageLimit: messageLimit(os.Getenv(handshake.EnvMessageLimit))}
	server, err := newServer(p, options)
	if err != nil {
		return err
	}
	defer server.Close()
	guard := &guard{token: token, first: func() {
		// go-plugin has put pipes in place of both; nobody may read them, and a
		// plugin that prints would hang on a full one
		os.Stdout, os.Stderr = stderr, stderr
	}}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion:  handshake.ProtocolVersion,
			MagicCookieKey:   handshake.MagicCookieKey,
			MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins:    goplugin.PluginSet{handshake.PluginSet: &grpcPlugin{server: server}},
		GRPCServer: func(more []grpc.ServerOption) *grpc.Server { return newGRPCServer(guard, options.MessageLimit, more) },
		Logger:     hclog.NewNullLogger(),
	})
	return nil
}

// maxToken bounds a launch token, in bytes.
const maxToken = 4096

// launchToken reads the token from the descriptor that the host names, to its end;
// older hosts put it into the environment.
func launchToken(descriptor, fromEnvironment string) (string, error) {
	if descriptor == "" {
		return fromEnvironment, nil
	}
	number, err := strconv.ParseUint(descriptor, 10, 16)
	if err != nil {
		return "", fmt.Errorf("%s is %q, not the number of a descriptor", handshake.EnvLaunchTokenFD, descriptor)
	}
	file := os.NewFile(uintptr(number), "launch token")
	if file == nil {
		return "", fmt.Errorf("read launch token: descriptor %d is not open", number)
	}
	defer file.Close()
	token, err := io.ReadAll(io.LimitReader(file, maxToken))
	if err != nil {
		return "", fmt.Errorf("read launch token: %w", err)
	}
	return string(token), nil
}

// newGRPCServer makes the server with its limits and its guard. What it takes
// is bounded by the protocol's hard limit: the host keeps the lower ones.
func newGRPCServer(g *guard, sendLimit int, more []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(more,
		grpc.MaxRecvMsgSize(handshake.MaxMessageLimit),
		grpc.MaxSendMsgSize(max(sendLimit, handshake.DefaultMessageLimit)),
		grpc.UnaryInterceptor(g.unary),
		grpc.StreamInterceptor(g.stream),
	)...)
}

// messageLimit reads how large a message the host takes.
func messageLimit(text string) int {
	limit, err := strconv.Atoi(text)
	if err != nil || limit <= 0 {
		return handshake.DefaultMessageLimit
	}
	return min(limit, handshake.MaxMessageLimit)
}

// exitWithHost reads the lifeline. Its end means that the host is gone: then
// the process ends at once, in the middle of whatever it does.
func exitWithHost(stdin io.Reader, exit func(int)) {
	buffer := make([]byte, 512)
	for {
		if _, err := stdin.Read(buffer); err != nil {
			exit(0)
			return
		}
	}
}

// grpcPlugin adapts the server to go-plugin.
type grpcPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	server *Server
}

func (g *grpcPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	g.server.Register(s)
	return nil
}

func (g *grpcPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin has no client side")
}
