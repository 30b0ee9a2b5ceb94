// Package python holds the SDK for Python against the one for Go: the same plugin in
// both languages (testdata/twin.py and testdata/twin), asked the same over the wire.
// Without Debian's python3-grpcio the suite is skipped, and says so.
package python

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const launchToken = "launch-token-of-the-test"

// sdkFile is the SDK, from this folder.
const sdkFile = "../../sdk/python/flowrun.py"

// programs is the folder of what all tests run.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "python"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// python3 is an interpreter with grpcio and protobuf: the one in the PATH, else the
// system's. Without one the test is skipped.
var python3 = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import grpc, google.protobuf").Run() == nil {
			return name
		}
	}
	return ""
})

func needPython(t *testing.T) string {
	t.Helper()
	if python3() == "" {
		t.Skip("SKIPPED: there is no python3 with grpcio and protobuf (scripts/install-python)")
	}
	return python3()
}

// pack makes one file of a plugin and the SDK, which any python3 of the PATH runs.
func pack(t *testing.T, plugin, into string) {
	t.Helper()
	if output, err := exec.Command(needPython(t), sdkFile, "pack", plugin, into).CombinedOutput(); err != nil {
		t.Fatalf("pack %s: %v\n%s", plugin, err, output)
	}
	body, err := os.ReadFile(into)
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command("env", "python3", "-c", "import grpc, google.protobuf").Run() != nil {
		// the python3 of the PATH is one without the libraries
		body = append([]byte("#!"+needPython(t)), body[len("#!/usr/bin/env python3"):]...)
		if err := os.WriteFile(into, body, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

var twinsBuilt = sync.OnceValue(func() error { return testbuild.Program(filepath.Join(programs, "twin-go"), "./testdata/twin") })

// twin is one plugin that was started as a host starts it.
type twin struct {
	t      *testing.T
	client pluginv1grpc.PluginClient
	conn   *grpc.ClientConn
	stdin  io.Closer
	cmd    *exec.Cmd
	ended  chan error
	host   *fakeHost
	stderr *lines
}

// twins starts both halves; languages are their names.
func twins(t *testing.T) map[string]*twin {
	t.Helper()
	needPython(t)
	if err := twinsBuilt(); err != nil {
		t.Fatal(err)
	}
	return map[string]*twin{"go": start(t, filepath.Join(programs, "twin-go")), "python": startScript(t, "testdata/twin.py")}
}

// startScript starts a plugin of one file beside the SDK.
func startScript(t *testing.T, script string) *twin {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin")
	pack(t, script, file)
	return start(t, file)
}

// lines are what a process wrote so far.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func start(t *testing.T, program string, more ...string) *twin {
	t.Helper()
	dir, err := os.MkdirTemp("", "twin")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &twin{t: t, host: &fakeHost{state: map[string]*pluginv1.GetStateResponse{}}, ended: make(chan error, 1), stderr: &lines{}}
	w.host.serve(t, filepath.Join(dir, "host"))
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := write.WriteString(launchToken); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	w.cmd = exec.Command(program)
	w.cmd.ExtraFiles = []*os.File{read}
	w.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "PLUGIN_UNIX_SOCKET_DIR=" + dir, "PLUGIN_PROTOCOL_VERSIONS=1",
		handshake.MagicCookieKey + "=" + handshake.MagicCookieValue, handshake.EnvLaunchTokenFD + "=3", handshake.EnvHostSocket + "=" + filepath.Join(dir, "host"),
	}, more...)
	w.cmd.Stderr = w.stderr
	stdin, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.stdin = stdin
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	t.Cleanup(w.end)
	w.dial(bufio.NewReader(stdout))
	return w
}

// dial reads the handshake and opens the connection that it names.
func (w *twin) dial(stdout *bufio.Reader) {
	w.t.Helper()
	line, err := stdout.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, stdout)
		w.ended <- w.cmd.Wait()
	}()
	fields := strings.Split(strings.TrimSpace(line), "|")
	if err != nil || len(fields) < 5 || fields[2] != "unix" || fields[4] != "grpc" {
		_ = w.stdin.Close()
		<-w.ended
		w.t.Fatalf("the handshake is %q, %v\n%s", line, err, w.stderr)
	}
	w.conn, err = grpc.NewClient("unix:"+fields[3], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.client = pluginv1grpc.NewPluginClient(w.conn)
}

func (w *twin) end() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
	_ = w.stdin.Close()
	select {
	case <-w.ended:
	case <-time.After(5 * time.Second):
		_ = w.cmd.Process.Kill()
		w.t.Errorf("the plugin lived on after its lifeline had ended")
	}
}

// context presents the token, and names the call and how long it may take.
func (w *twin) context(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	return metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, launchToken, handshake.CallKey, "call-1"), cancel
}

// connect opens the connection "main" and returns what is wrong with its config.
func (w *twin) connect(config string) []*pluginv1.Diagnostic {
	w.t.Helper()
	ctx, cancel := w.context(20 * time.Second)
	defer cancel()
	answer, err := w.client.Connect(ctx, &pluginv1.ConnectRequest{Connection: "main", Config: &pluginv1.Value{Json: []byte(config)}})
	if err != nil {
		w.t.Fatalf("connect: %v\n%s", err, w.stderr)
	}
	return answer.GetDiagnostics()
}

// call is one Execute with all that it said.
type call struct {
	events []*pluginv1.ExecuteEvent
	end    *pluginv1.ExecuteEvent
}

func (w *twin) execute(request *pluginv1.ExecuteRequest) call {
	w.t.Helper()
	ctx, cancel := w.context(30 * time.Second)
	defer cancel()
	request.Connection = "main"
	if request.Run == nil {
		request.Run = &pluginv1.RunContext{Workflow: "w", RunId: "run-1", StepId: "s", Attempt: 2, IdempotencyKey: "key-1", Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	}
	stream, err := w.client.Execute(ctx, request)
	if err != nil {
		w.t.Fatal(err)
	}
	var made call
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.t.Fatalf("%s: %v\n%s", request.GetAction(), err, w.stderr)
		}
		made.events = append(made.events, event)
	}
	if len(made.events) == 0 {
		w.t.Fatalf("%s ended without an answer", request.GetAction())
	}
	made.end = made.events[len(made.events)-1]
	return made
}

func (w *twin) do(action, input string) call {
	w.t.Helper()
	return w.execute(&pluginv1.ExecuteRequest{Action: action, Input: &pluginv1.Value{Json: []byte(input)}})
}

// fakeHost keeps state, and hands out one token by a lease.
type fakeHost struct {
	pluginv1grpc.UnimplementedHostServer
	mu      sync.Mutex
	state   map[string]*pluginv1.GetStateResponse
	token   *pluginv1.Token
	commits []*pluginv1.CommitTokenRequest
	still   bool // a failed renewal is answered with the token before
	keys    []string

	tokenKeys []string // of the tokens that were asked for
}

func (h *fakeHost) serve(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if held := metadata.ValueFromIncomingContext(ctx, handshake.LaunchTokenKey); len(held) != 1 || held[0] != launchToken {
			return nil, status.Error(codes.Unauthenticated, "no launch token")
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		named := append(metadata.ValueFromIncomingContext(ctx, handshake.RunKey), metadata.ValueFromIncomingContext(ctx, handshake.CallKey)...)
		h.keys = append(h.keys, strings.Join(named, " "))
		return next(ctx, request)
	}))
	pluginv1grpc.RegisterHostServer(server, h)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func (h *fakeHost) GetState(_ context.Context, r *pluginv1.GetStateRequest) (*pluginv1.GetStateResponse, error) {
	if held, ok := h.state[r.GetScope()+" "+r.GetKey()]; ok {
		return held, nil
	}
	return &pluginv1.GetStateResponse{}, nil
}

func (h *fakeHost) PutState(_ context.Context, r *pluginv1.PutStateRequest) (*pluginv1.PutStateResponse, error) {
	key := r.GetScope() + " " + r.GetKey()
	version := h.state[key].GetVersion()
	if version != r.GetIfVersion() {
		return &pluginv1.PutStateResponse{Version: version}, nil
	}
	h.state[key] = &pluginv1.GetStateResponse{Found: true, Value: r.GetValue(), Version: version + 1}
	return &pluginv1.PutStateResponse{Ok: true, Version: version + 1}, nil
}

func (h *fakeHost) AcquireToken(_ context.Context, r *pluginv1.AcquireTokenRequest) (*pluginv1.AcquireTokenResponse, error) {
	h.tokenKeys = append(h.tokenKeys, r.GetKey())
	if r.GetKey() == "refused" {
		return nil, status.Error(codes.PermissionDenied, "not yours")
	}
	if h.token != nil && r.GetReject() != h.token.GetId() {
		return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Token{Token: h.token}}, nil
	}
	lease := &pluginv1.RefreshLease{Id: "lease-1", Stale: h.token, Until: timestamppb.New(time.Now().Add(time.Minute))}
	return &pluginv1.AcquireTokenResponse{Result: &pluginv1.AcquireTokenResponse_Lease{Lease: lease}}, nil
}

func (h *fakeHost) CommitToken(_ context.Context, r *pluginv1.CommitTokenRequest) (*pluginv1.CommitTokenResponse, error) {
	h.commits = append(h.commits, r)
	if r.GetError() != nil {
		if h.still {
			return &pluginv1.CommitTokenResponse{Token: h.token}, nil
		}
		return &pluginv1.CommitTokenResponse{}, nil
	}
	h.token = r.GetToken()
	return &pluginv1.CommitTokenResponse{}, nil
}

func port(t *testing.T, listener net.Listener) string {
	t.Helper()
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strconv.Atoi(text); err != nil {
		t.Fatal(err)
	}
	return text
}
