package pluginhost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// TestMain makes this binary a plugin ("plugin MODE"), a host that a test
// kills ("host DIR ..."), or the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		runPlugin(os.Args[2])
		return
	}
	if len(os.Args) > 4 && os.Args[1] == "host" {
		runDoomedHost(os.Args[2], os.Args[3], Sandbox(os.Args[4]))
		return
	}
	if len(os.Args) > 3 && os.Args[1] == "leaving" {
		runLeavingHost(os.Args[2], os.Args[3])
		return
	}
	goleak.VerifyTestMain(m)
}

// runPlugin is a plugin written by hand on the generated code, without the sdk:
// it can do what the sdk does not let an author do.
func runPlugin(mode string) {
	protocol := uint(handshake.ProtocolVersion)
	switch mode {
	case "sdk":
		sdkPlugin().Serve()
		return
	case "told", "told-index", "told-action":
		toldPlugin(mode).Serve()
		return
	case "owner":
		ownerPlugin().Serve()
		return
	case "user":
		userPlugin().Serve()
		return
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot read my licence")
		os.Exit(3)
	case "silent":
		fmt.Fprintln(os.Stderr, "thinking")
		select {}
	case "babble":
		for {
			fmt.Println(strings.Repeat("la", 4000))
		}
	case "noise":
		for i := range 200 {
			fmt.Printf("loading module %d | of 200|x\n", i)
		}
		fmt.Print(strings.Repeat("x", 100_000), "\nalmost there... ")
	case "version":
		protocol = 7
	case "tcp":
		fmt.Println("1|1|tcp|127.0.0.1:9|grpc|")
		select {}
	case "foreign":
		fmt.Println("1|1|unix|/tmp/of-another|grpc|")
		select {}
	}
	if mode != "deaf" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	var served goplugin.Plugin = &evilPlugin{server: newEvilServer(mode)}
	if descriptor, ok := strings.CutPrefix(mode, firstMode); ok {
		first, err := newFirstPlugin(descriptor)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		served = first
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: protocol, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins: goplugin.PluginSet{handshake.PluginSet: served},
		Logger:  hclog.New(&hclog.LoggerOptions{Output: os.Stderr, JSONFormat: true, Level: hclog.Warn}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(256<<20),
				grpc.StreamInterceptor(requireToken))...)
		},
	})
	if mode == "deaf" {
		select {} // ignores Shutdown too
	}
}

// launchToken reads the token from its descriptor, once.
var launchToken = sync.OnceValue(func() string {
	number, err := strconv.Atoi(os.Getenv(handshake.EnvLaunchTokenFD))
	if err != nil {
		return ""
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

type evilPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	server *evilServer
}

func (p *evilPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1grpc.RegisterPluginServer(s, p.server)
	return nil
}

func (p *evilPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type evilServer struct {
	pluginv1grpc.UnimplementedPluginServer
	mode      string
	streams   bool // it has ExecuteStream
	validated int
	connects  int
	config    map[string]string
	refused   bool
}

func newEvilServer(mode string) *evilServer {
	plain, streams := strings.CutPrefix(mode, streamMode)
	return &evilServer{mode: plain, streams: streams}
}

const evilInput = `{"type":"object","properties":{
	"text":{"type":"string"},"size":{"type":"integer"},"password":{"type":"string","writeOnly":true},"form":{"type":"object","writeOnly":true}},"additionalProperties":true}`

const evilOutput = `{"type":"object","properties":{
	"text":{"type":"string"},"count":{"type":"integer"},"token":{"type":"string","writeOnly":true}},"additionalProperties":true}`

func evilActions() []string {
	return []string{
		"echo", "crash", "hang", "slow", "huge", "lie", "flood", "progress", "nothing", "twice", "pending", "fail",
		"unauthorized", "secret", "sensitive", "forge", "environ", "spawn", "state", "token", "pid", "strange", "note", "grow", "bytes", "says", "text", "leak", "ask", "reserve", "use", "threads", "forks", "group", "later",
	}
}

func (s *evilServer) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	response := &pluginv1.DescribeResponse{
		Name: "evil", Version: "1.0.0", Doc: "does everything wrong",
		ConfigSchema: []byte(`{"type":"object","properties":{"base_url":{"type":"string"},"api_key":{"type":"string","writeOnly":true}}}`),
		Plugin:       &pluginv1.Capabilities{Features: []string{"reconcile"}},
		Limiters:     []*pluginv1.Limiter{{Name: "all", Requests: 60, Window: durationpb.New(time.Minute), FixedWindow: true}},
	}
	for _, name := range evilActions() {
		response.Actions = append(response.Actions, &pluginv1.Action{
			Name: name, Effect: pluginv1.Effect_EFFECT_READ, Limiters: []string{"all"},
			InputSchema: []byte(evilInput), OutputSchema: []byte(evilOutput), DefaultTimeout: durationpb.New(7 * time.Second),
		})
	}
	if s.streams {
		response.Plugin.Features = append(response.Plugin.Features, handshake.FeatureExecuteStream)
	}
	first := response.Actions[0]
	switch s.mode {
	case "other-name":
		response.Name = "good"
	case "twin":
		response.Actions = append(response.Actions, first)
	case "ignored":
		first.OutputSchema = []byte(`{"type":"object","properties":{"text":{"type":"string"},"n":{"not":{"const":1},"multipleOf":2}}}`)
	case "decided":
		first.SchemasDecide = true
	case "decided-unread":
		first.SchemasDecide = true
		first.InputSchema = []byte(`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer","multipleOf":2}}}`)
	case "no-effect":
		first.Effect = pluginv1.Effect_EFFECT_UNSPECIFIED
	case "bad-schema":
		first.OutputSchema = []byte(`{"type":`)
	case "lost-limiter":
		first.Limiters = []string{"none"}
	case "lost-login":
		response.Login = &pluginv1.Login{Start: "echo", Wait: "wait"}
	case "long-name":
		first.Name = strings.Repeat("a", 64)
	case "long-limiter":
		response.Limiters[0].Name = strings.Repeat("l", 70)
	case "capitals":
		first.Name = "Echo"
	case "many":
		response.Actions = append(response.Actions, manyActions(1000)...)
	case "later":
		response.ProtocolMinor, response.Plugin.Features = 99, []string{"time_travel", "reconcile"}
		later(response)
		for _, a := range response.Actions {
			later(a)
		}
	case "unsteady-version":
		response.Version = fmt.Sprintf("1.0.%d", os.Getpid())
	case "unsteady-input":
		first.InputSchema = fmt.Appendf(nil, `{"type":"object","properties":{"text":{"enum":["%d"]}}}`, os.Getpid())
	case "unsteady-doc":
		first.Doc = fmt.Sprint(time.Now().UnixNano())
	case "unsteady-action":
		response.Actions = append(response.Actions, &pluginv1.Action{
			Name: fmt.Sprintf("a%d", os.Getpid()), Effect: pluginv1.Effect_EFFECT_READ, InputSchema: []byte(evilInput), OutputSchema: []byte(evilOutput),
		})
	case "unsteady-order":
		rand.Shuffle(len(response.Actions), func(i, k int) { response.Actions[i], response.Actions[k] = response.Actions[k], response.Actions[i] })
	case "unsteady-limiter":
		response.Limiters[0].Requests = uint32(1 + os.Getpid())
	case "lost-field":
		first.Paging = &pluginv1.Paging{CursorField: "text", NextField: "next"}
	}
	return response, nil
}

func (s *evilServer) Validate(_ context.Context, r *pluginv1.ValidateRequest) (*pluginv1.ValidateResponse, error) {
	s.validated++
	if strings.Contains(string(r.GetInput().GetJson()), `"fine`) {
		return &pluginv1.ValidateResponse{OutputSchema: []byte(fmt.Sprintf(`{"type":"object","description":"question %d"}`, s.validated))}, nil
	}
	return &pluginv1.ValidateResponse{
		Diagnostics: []*pluginv1.Diagnostic{{
			Severity: pluginv1.Diagnostic_SEVERITY_WARNING, Pointer: "/text", Detail: string(r.GetInput().GetJson()),
			Summary: fmt.Sprintf("question %d, unknown %v", s.validated, r.GetUnknown()),
		}},
		OutputSchema: []byte(`{"type":"object","properties":{"text":{"const":"x"}}}`),
	}, nil
}

func (s *evilServer) Connect(_ context.Context, r *pluginv1.ConnectRequest) (*pluginv1.ConnectResponse, error) {
	s.connects++
	s.config = nil
	if err := json.Unmarshal(r.GetConfig().GetJson(), &s.config); err != nil {
		return nil, err
	}
	if s.config["base_url"] == "wrong" {
		return &pluginv1.ConnectResponse{Diagnostics: []*pluginv1.Diagnostic{{
			Severity: pluginv1.Diagnostic_SEVERITY_ERROR, Summary: "not a URL", Pointer: "/base_url",
		}}}, nil
	}
	return &pluginv1.ConnectResponse{}, nil
}

func (s *evilServer) CheckConnection(context.Context, *pluginv1.CheckConnectionRequest) (*pluginv1.CheckConnectionResponse, error) {
	if s.config["api_key"] == "" {
		return &pluginv1.CheckConnectionResponse{Error: &pluginv1.Error{Code: pluginv1.Code_CODE_UNAUTHORIZED, Message: "who are you?"}}, nil
	}
	switch s.config["base_url"] {
	case "untested":
		return &pluginv1.CheckConnectionResponse{NotTried: true}, nil
	case "untried":
		return &pluginv1.CheckConnectionResponse{NotTried: true, Note: "not with key " + s.config["api_key"]}, nil
	}
	return &pluginv1.CheckConnectionResponse{Account: "maria, key " + s.config["api_key"]}, nil
}

func (s *evilServer) Reconcile(_ context.Context, r *pluginv1.ReconcileRequest) (*pluginv1.ReconcileResponse, error) {
	return &pluginv1.ReconcileResponse{
		Applied: pluginv1.Error_APPLIED_APPLIED, Note: "found by " + r.GetRun().GetIdempotencyKey(), Output: &pluginv1.Value{Json: []byte(`{"text":"done"}`)},
	}, nil
}

func (s *evilServer) Execute(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	complete := func(output any) error {
		data, err := json.Marshal(output)
		if err != nil {
			return err
		}
		return stream.Send(completed(string(data)))
	}
	switch r.GetAction() {
	case "echo":
		return stream.Send(completed(string(r.GetInput().GetJson())))
	case "environ":
		return complete(map[string]any{"environ": os.Environ()})
	case "pid":
		return complete(map[string]any{"pid": os.Getpid(), "connects": s.connects, "config": s.config["base_url"]})
	case "state":
		return s.useState(r, stream)
	case "leak":
		return s.leak(r, stream)
	case "ask":
		return s.ask(r, stream)
	case "token":
		return s.useToken(r, stream)
	case "unauthorized":
		if !s.refused {
			s.refused = true
			return stream.Send(failure(&pluginv1.Error{Code: pluginv1.Code_CODE_UNAUTHORIZED, Message: "expired", Applied: pluginv1.Error_APPLIED_NOT_APPLIED}))
		}
		return complete(map[string]any{"text": s.config["base_url"]})
	case "reserve", "use":
		return hoard(r, complete)
	case "threads", "forks", "group":
		return takeTasks(r, complete)
	case "spawn":
		child := exec.Command("sleep", "300")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if strings.Contains(string(r.GetInput().GetJson()), `"off"`) {
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		if err := child.Start(); err != nil {
			return err
		}
		return complete(map[string]any{"child": child.Process.Pid})
	}
	return s.misbehave(r, stream)
}

// hoard takes MiB of memory for a moment, and writes to it where it is to be used.
func hoard(r *pluginv1.ExecuteRequest, complete func(any) error) error {
	var input struct{ Size int }
	if err := json.Unmarshal(r.GetInput().GetJson(), &input); err != nil {
		return err
	}
	var blocks [][]byte
	for range input.Size / 16 {
		block := make([]byte, 16<<20)
		for at := 0; at < len(block) && r.GetAction() == "use"; at += 4096 {
			block[at] = 1
		}
		blocks = append(blocks, block)
	}
	time.Sleep(time.Second)
	runtime.KeepAlive(blocks)
	return complete(map[string]any{"count": len(blocks)})
}

// bytesOf decodes what the input's text has in base64.
func (s *evilServer) bytesOf(r *pluginv1.ExecuteRequest) []byte {
	var input struct{ Text []byte }
	if err := json.Unmarshal(r.GetInput().GetJson(), &input); err != nil {
		return []byte(err.Error())
	}
	return input.Text
}

// say puts a document everywhere where one is for people.
func (s *evilServer) say(document []byte, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	line := logLine("look")
	line.GetLog().Fields = document
	if err := stream.Send(line); err != nil {
		return err
	}
	return stream.Send(failure(&pluginv1.Error{Code: pluginv1.Code_CODE_NOT_FOUND, Message: "no", Applied: pluginv1.Error_APPLIED_NOT_APPLIED, Details: document}))
}

func completed(output string) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: &pluginv1.Completed{Output: &pluginv1.Value{Json: []byte(output)}}}}
}

func failure(e *pluginv1.Error) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Failed{Failed: e}}
}

func logLine(text string) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Log{Log: &pluginv1.Log{Level: pluginv1.Log_LEVEL_INFO, Message: text}}}
}

func (s *evilServer) misbehave(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	switch r.GetAction() {
	case "crash":
		go panic("my heart with key " + s.config["api_key"])
		select {}
	case "hang":
		select {}
	case "slow":
		if err := stream.Send(logLine("I have begun")); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	case "huge":
		return stream.Send(completed(`{"text":"` + strings.Repeat("x", 100<<20) + `"}`))
	case "lie":
		return stream.Send(completed(`{"text":"fine","count":"three"}`))
	case "flood":
		for range 20_000 {
			if err := stream.Send(logLine(strings.Repeat("blah ", 20))); err != nil {
				return err
			}
		}
		return stream.Send(completed(`{}`))
	case "progress":
		for _, event := range []*pluginv1.ExecuteEvent{
			logLine("the key is " + s.config["api_key"]),
			{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Fraction: 7, Message: "half"}}},
			completed(`{}`),
		} {
			if err := stream.Send(event); err != nil {
				return err
			}
		}
		return nil
	case "nothing":
		return nil
	case "twice":
		_ = stream.Send(completed(`{}`))
		return stream.Send(completed(`{}`))
	case "later":
		return executeLater(stream.Send)
	case "strange":
		return status.Error(codes.DataLoss, "odd")
	case "pending":
		return stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: &pluginv1.Pending{
			RetryAfter: durationpb.New(3 * time.Second), Checkpoint: []byte("here"), Prompt: &pluginv1.Prompt{Title: "log in", UserCode: "ABCD"},
		}}})
	case "fail":
		return stream.Send(failure(&pluginv1.Error{
			Code: pluginv1.Code_CODE_RATE_LIMITED, Message: "slow down, " + s.config["api_key"], RetryAfter: durationpb.New(1500 * time.Millisecond),
			Applied: pluginv1.Error_APPLIED_NOT_APPLIED, Reason: "slow_down", HttpStatus: 429, Pointer: "/text", Limiter: "all",
			Details: []byte(`{"hint":"ask less","service":"evil"}`),
		}))
	case "grow":
		return s.grow(r, stream)
	case "note": // one byte longer than what came, or as long as the input says
		event := completed(`{}`)
		event.GetCompleted().NextCursor, event.GetCompleted().PageNote = "next", append(r.GetPageNote(), '!')
		if strings.Contains(string(r.GetInput().GetJson()), "long") {
			event.GetCompleted().PageNote = make([]byte, 4<<10+1)
		}
		return stream.Send(event)
	case "bytes": // the output is what the input has in base64
		return stream.Send(completed(string(s.bytesOf(r))))
	case "says": // in a line of the log, in meta and in the error
		return s.say(s.bytesOf(r), stream)
	case "text": // bytes that are no UTF-8 where the protocol has text
		return stream.Send(logLine("caf\xe9"))
	case "secret":
		return stream.Send(completed(`{"text":"a token","token":"s3cr3t-t0ken"}`))
	case "sensitive":
		event := completed(`{"text":"maria","notes":["plain","s3cr3t-n0te"]}`)
		event.GetCompleted().Output.Sensitive = []string{"/notes/1"}
		return stream.Send(event)
	case "forge":
		return stream.Send(completed(`{"text":"x","more":[{"\u0024secret":"OTHER"}]}`))
	}
	return status.Error(codes.Unimplemented, r.GetAction())
}

// hostClient dials the Host service as a plugin would, with any token.
func hostClient(socket, token string) (pluginv1grpc.HostClient, *grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///host",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial("unix", socket) }),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, token), method, req, reply, cc, opts...)
		}))
	if err != nil {
		return nil, nil, err
	}
	return pluginv1grpc.NewHostClient(conn), conn, nil
}

// useState tells what a few calls of the state service answered.
func (s *evilServer) useState(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	ctx := stream.Context()
	host, conn, err := hostClient(os.Getenv(handshake.EnvHostSocket), launchToken())
	if err != nil {
		return err
	}
	defer conn.Close()
	said := map[string]any{}
	for _, scope := range []string{"plugin", "connection/" + r.GetConnection(), "connection/other", "run", "all"} {
		put, err := host.PutState(ctx, &pluginv1.PutStateRequest{Scope: scope, Key: "k", Value: []byte("v")})
		if err != nil {
			said[scope] = status.Code(err).String()
			continue
		}
		again, err := host.PutState(ctx, &pluginv1.PutStateRequest{Scope: scope, Key: "k", Value: []byte("w")})
		if err != nil {
			return err
		}
		got, err := host.GetState(ctx, &pluginv1.GetStateRequest{Scope: scope, Key: "k"})
		if err != nil {
			return err
		}
		said[scope] = fmt.Sprintf("put %v, again %v, got %s at %d", put.GetOk(), again.GetOk(), got.GetValue(), got.GetVersion())
	}
	elsewhere := metadata.AppendToOutgoingContext(ctx, handshake.RunKey, "another-run")
	_, err = host.GetState(elsewhere, &pluginv1.GetStateRequest{Scope: "run", Key: "k"})
	said["another run"] = status.Code(err).String()
	thief, conn2, err := hostClient(os.Getenv(handshake.EnvHostSocket), "guessed")
	if err != nil {
		return err
	}
	defer conn2.Close()
	_, err = thief.GetState(ctx, &pluginv1.GetStateRequest{Scope: "plugin", Key: "k"})
	said["wrong token"] = status.Code(err).String()
	data, err := json.Marshal(said)
	if err != nil {
		return err
	}
	return stream.Send(completed(string(data)))
}

// useToken uses the connection's token and finds the first one refused.
func (s *evilServer) useToken(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	host, conn, err := hostClient(os.Getenv(handshake.EnvHostSocket), launchToken())
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := host.AcquireToken(stream.Context(), &pluginv1.AcquireTokenRequest{Connection: r.GetConnection()})
	if err != nil {
		return err
	}
	id := answer.GetToken().GetId()
	if lease := answer.GetLease(); lease != nil {
		id = "fresh"
		if _, err := host.CommitToken(stream.Context(), &pluginv1.CommitTokenRequest{LeaseId: lease.GetId(), Token: &pluginv1.Token{Id: id, AccessToken: "new-t0ken"}}); err != nil {
			return err
		}
	}
	if id == "old" {
		return stream.Send(failure(&pluginv1.Error{Code: pluginv1.Code_CODE_UNAUTHORIZED, Message: "expired", Applied: pluginv1.Error_APPLIED_NOT_APPLIED}))
	}
	return stream.Send(completed(`{"text":"used ` + id + `"}`))
}
