// Command faulty is a plugin made of the protocol alone, without the SDK. It keeps every
// promise but the one that its argument names: `faulty pages.resume` breaks what the case
// pages.resume asks, `faulty none` nothing.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const tokenKey = "flowrun-launch-token"

// plugin is the process.
type plugin struct {
	pluginv1grpc.UnimplementedPluginServer
	fault    string
	token    string
	host     pluginv1grpc.HostClient
	inFlight atomic.Int64

	mu          sync.Mutex
	connections map[string]*connection
	keys        map[string]bool
	lastKey     string
	readings    bool
	polls       map[string]bool
	one         sync.Mutex
	actions     []*pluginv1.Action // of the index, whole
}

func main() {
	debug.SetGCPercent(1000) // it is started a thousand times, and lives for a moment
	runtime.GOMAXPROCS(1)
	fault := "none"
	if len(os.Args) > 1 {
		fault = os.Args[1]
	}
	if len(os.Args) > 2 {
		if fault == "describe.simulator" {
			fmt.Println("hello")
			os.Exit(1)
		}
		simulate()
		return
	}
	if os.Getenv("FLOWRUN_PLUGIN") != "flowrun.plugin.v1" {
		if fault == "start.cookie" {
			os.Exit(0)
		}
		fmt.Fprintln(os.Stderr, "faulty is a plugin of flowrun: its tests start it")
		os.Exit(2)
	}
	p := &plugin{fault: fault, connections: map[string]*connection{}, keys: map[string]bool{}, polls: map[string]bool{}}
	if err := p.serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// has reports whether the process has the fault.
func (p *plugin) has(fault string) bool { return p.fault == fault }

func (p *plugin) serve() error {
	go p.watchLifeline()
	if err := p.readToken(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(os.Args[0]), "faulty.data")); err != nil && p.has("start.host") {
		return err
	}
	folder := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
	if p.has("start.socket") {
		made, err := os.MkdirTemp("", "")
		if err != nil {
			return err
		}
		folder = filepath.Join(filepath.Dir(made), "..", "elsewhere")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "p"))
	if err != nil {
		return err
	}
	limit := 64 << 20
	if p.has("validate.large") {
		limit = 4 << 20
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(limit), grpc.UnaryInterceptor(p.guard), grpc.StreamInterceptor(p.guardStream))
	pluginv1grpc.RegisterPluginServer(server, p)
	healthy := health.NewServer()
	state := grpc_health_v1.HealthCheckResponse_SERVING
	if p.has("start.health") {
		state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	healthy.SetServingStatus("plugin", state)
	grpc_health_v1.RegisterHealthServer(server, healthy)
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
		MethodName: "Shutdown", Handler: p.shutdown,
	}}}, p)
	major := 1
	if p.has("start.handshake") {
		major = 2
	}
	fmt.Printf("a line before it\n1|%d|unix|%s|grpc|\n", major, listener.Addr())
	return server.Serve(listener)
}

// shutdown is plugin.GRPCController/Shutdown.
func (p *plugin) shutdown(_ any, ctx context.Context, decode func(any) error, guard grpc.UnaryServerInterceptor) (any, error) {
	in := &emptypb.Empty{}
	if err := decode(in); err != nil {
		return nil, err
	}
	return guard(ctx, in, &grpc.UnaryServerInfo{Server: p, FullMethod: "/plugin.GRPCController/Shutdown"}, func(context.Context, any) (any, error) {
		if !p.has("stop.shutdown") {
			time.AfterFunc(20*time.Millisecond, func() { os.Exit(0) })
		}
		return &emptypb.Empty{}, nil
	})
}

// watchLifeline ends the process at the end of stdin.
func (p *plugin) watchLifeline() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	switch calls := p.inFlight.Load(); {
	case p.has("stop.lifeline") && calls == 0, p.has("stop.lifeline-call") && calls > 0:
		return
	}
	os.Exit(0)
}

func (p *plugin) readToken() error {
	number, err := strconv.Atoi(os.Getenv("FLOWRUN_LAUNCH_TOKEN_FD"))
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(number), "token")
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	p.token = string(text)
	conn, err := grpc.NewClient("unix:"+os.Getenv("FLOWRUN_HOST_SOCKET"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	p.host = pluginv1grpc.NewHostClient(conn)
	return nil
}

// toHost is a context of a call of the host's service.
func (p *plugin) toHost(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, tokenKey, p.token)
}

// allowed judges the launch token of a call.
func (p *plugin) allowed(ctx context.Context, method string) error {
	given := metadata.ValueFromIncomingContext(ctx, tokenKey)
	switch {
	case len(given) == 1 && given[0] == p.token,
		p.has("token.asked") && len(given) == 0 && strings.HasSuffix(method, "/Describe"),
		p.has("token.wrong") && len(given) == 1,
		p.has("token.services") && strings.HasPrefix(method, "/grpc.health"):
		return nil
	}
	return status.Error(codes.Unauthenticated, "launch token")
}

func (p *plugin) guard(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := p.allowed(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	return handle(ctx, req)
}

func (p *plugin) guardStream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := p.allowed(stream.Context(), info.FullMethod); err != nil && !p.has("token.stream") {
		return err
	}
	p.inFlight.Add(1)
	defer p.inFlight.Add(-1)
	return handle(server, stream)
}
