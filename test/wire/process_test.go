package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

type sayIn struct {
	Text string `json:"text" doc:"What to say"`
}

type sayOut struct {
	Text string `json:"text"`
}

// processPlugin is what the test binary serves when it is a plugin.
func processPlugin() *sdk.Plugin {
	return sdk.New("echo", "1.0.0", "says what it is told",
		sdk.Read("say", "Say it", func(_ *sdk.Call[struct{}], in sayIn) (sayOut, error) {
			// more than a pipe holds: a plugin that prints must not hang
			fmt.Println(strings.Repeat("noise ", 40_000))
			return sayOut(in), nil
		}),
		sdk.Once("count", "Count in the host", func(c *sdk.Call[struct{}], _ struct{}) (sayOut, error) {
			entry, err := c.State().OfRun().Get("n")
			if err != nil {
				return sayOut{}, err
			}
			_, err = c.State().OfRun().Put("n", append(entry.Value, 'x'), entry.Version, time.Hour)
			return sayOut{Text: string(entry.Value)}, err
		}),
	)
}

// stateHost keeps one value and notes the metadata of the calls.
type stateHost struct {
	pluginv1grpc.UnimplementedHostServer
	value []byte
	seen  chan metadata.MD
}

func (h *stateHost) GetState(ctx context.Context, _ *pluginv1.GetStateRequest) (*pluginv1.GetStateResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	h.seen <- md
	return &pluginv1.GetStateResponse{Value: h.value, Version: uint64(len(h.value)), Found: h.value != nil}, nil
}

func (h *stateHost) PutState(_ context.Context, r *pluginv1.PutStateRequest) (*pluginv1.PutStateResponse, error) {
	h.value = r.GetValue()
	return &pluginv1.PutStateResponse{Ok: true, Version: uint64(len(h.value))}, nil
}

const launchToken = "launch-token-of-this-test"

// startProcess starts the test binary as a plugin, as a host does.
func startProcess(t *testing.T) (pluginv1grpc.PluginClient, *goplugin.Client, *stateHost) {
	t.Helper()
	host := &stateHost{seen: make(chan metadata.MD, 8)}
	dir := socketFolder(t)
	listener := listenUnix(t, filepath.Join(dir, "host"))
	server := grpc.NewServer()
	pluginv1grpc.RegisterHostServer(server, host)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)

	command := exec.Command(os.Args[0])
	command.Env = []string{handshake.EnvLaunchToken + "=" + launchToken, handshake.EnvHostSocket + "=" + listener.Addr().String(), "TMPDIR=" + dir}
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// go-plugin's own runner hands its stdin on, which has ended in a test
	old := os.Stdin
	os.Stdin = stdin
	defer func() { os.Stdin = old }()
	client := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins:          goplugin.PluginSet{handshake.PluginSet: dispenser{}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Cmd:              command, SkipHostEnv: true, Logger: hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				return next(metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, launchToken), method, req, reply, cc, opts...)
			}),
			grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				return next(metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, launchToken), desc, cc, method, opts...)
			}),
		},
	})
	t.Cleanup(func() {
		client.Kill()
		_, _ = lifeline.Close(), stdin.Close()
	})
	protocol, err := client.Client()
	if err != nil {
		t.Fatalf("start the plugin: %v", err)
	}
	raw, err := protocol.Dispense(handshake.PluginSet)
	if err != nil {
		t.Fatal(err)
	}
	return raw.(pluginv1grpc.PluginClient), client, host
}

type dispenser struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (dispenser) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("not a server")
}

func (dispenser) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return pluginv1grpc.NewPluginClient(conn), nil
}

func TestProcessServesBehindTheLaunchToken(t *testing.T) {
	plugin, client, host := startProcess(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	described, err := plugin.Describe(ctx, &pluginv1.DescribeRequest{})
	if err != nil || described.GetName() != "echo" {
		t.Fatalf("describe: %v, %v", described, err)
	}
	if got := execute(t, ctx, plugin, "say", `{"text":"hello"}`); got != `{"text":"hello"}` {
		t.Errorf("say: %s", got)
	}
	if got := execute(t, ctx, plugin, "count", `{}`); got != `{"text":""}` {
		t.Errorf("count: %s", got)
	}
	if got := execute(t, ctx, plugin, "count", `{}`); got != `{"text":"x"}` {
		t.Errorf("count again: %s", got)
	}
	md := <-host.seen
	if got := md.Get(handshake.LaunchTokenKey); len(got) != 1 || got[0] != launchToken {
		t.Errorf("the plugin presented %q to the host", got)
	}
	if got := md.Get(handshake.RunKey); len(got) != 1 || got[0] != "run-1" {
		t.Errorf("the plugin named the run %q to the host", got)
	}
	for name, token := range map[string][]string{"none": nil, "another": {"x"}, "two": {launchToken, launchToken}, "longer": {launchToken + "x"}} {
		t.Run("refuses the token: "+name, func(t *testing.T) {
			conn, err := grpc.NewClient("unix:"+client.ReattachConfig().Addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			callCtx := ctx
			for _, value := range token {
				callCtx = metadata.AppendToOutgoingContext(callCtx, handshake.LaunchTokenKey, value)
			}
			_, err = pluginv1grpc.NewPluginClient(conn).Describe(callCtx, &pluginv1.DescribeRequest{})
			if status.Code(err) != codes.Unauthenticated {
				t.Errorf("describe: %v", err)
			}
			stream, err := pluginv1grpc.NewPluginClient(conn).Execute(callCtx, &pluginv1.ExecuteRequest{Action: "say"})
			if err == nil {
				_, err = stream.Recv()
			}
			if status.Code(err) != codes.Unauthenticated {
				t.Errorf("execute: %v", err)
			}
		})
	}
}

func execute(t *testing.T, ctx context.Context, plugin pluginv1grpc.PluginClient, action, input string) string {
	t.Helper()
	stream, err := plugin.Execute(ctx, &pluginv1.ExecuteRequest{
		Action: action, Input: &pluginv1.Value{Json: []byte(input)}, Run: &pluginv1.RunContext{RunId: "run-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			t.Fatalf("execute %s: %v", action, err)
		}
		if completed := event.GetCompleted(); completed != nil {
			return string(completed.GetOutput().GetJson())
		}
		if failed := event.GetFailed(); failed != nil {
			t.Fatalf("execute %s: %v", action, failed)
		}
	}
}

func TestProcessEndsWithItsLifeline(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = []string{handshake.MagicCookieKey + "=" + handshake.MagicCookieValue, "TMPDIR=" + os.TempDir()}
	lifeline, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 256)
	n, err := stdout.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "1|1|unix|") || strings.Count(string(line[:n]), "\n") != 1 {
		t.Fatalf("stdout has %q, %v; want the handshake alone", line[:n], err)
	}
	_ = os.RemoveAll(filepath.Dir(strings.Split(string(line[:n]), "|")[3])) // killed plugins leave their socket; the host removes the directory
	if err := lifeline.Close(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(stdout)
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	select {
	case err := <-done:
		if err != nil || len(rest) > 0 {
			t.Errorf("the process ended with %v after printing %q", err, rest)
		}
	case <-time.After(10 * time.Second):
		_ = command.Process.Kill()
		t.Error("the process outlived its host")
	}
}

func TestProcessExplainsItselfToAPerson(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = []string{runByHand + "=1"}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit code 2", err)
	}
	for _, want := range []string{"echo 1.0.0 is a plugin of flowrun", "source: ./flowrun-plugin-echo", "echo.say", "Count in the host"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, &stderr)
		}
	}
	if stdout.Len() > 0 {
		t.Errorf("stdout has %q", &stdout)
	}
}
