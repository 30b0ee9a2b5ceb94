// Command leaky is a plugin of the raw protocol, without the SDK, that tells the secret
// of its connection in the field that its config, its input or a file of its home names.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

func main() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the lifeline
		os.Exit(0)
	}()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins:    goplugin.PluginSet{handshake.PluginSet: &leaky{checks: map[string]protoreflect.FullName{}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server { return grpc.NewServer(opts...) },
	})
}

type leaky struct {
	goplugin.NetRPCUnsupportedPlugin
	pluginv1grpc.UnimplementedPluginServer
	key    string
	mu     sync.Mutex
	checks map[string]protoreflect.FullName // what to tell it in, by connection
}

func (l *leaky) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1grpc.RegisterPluginServer(s, l)
	return nil
}

func (l *leaky) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// kept is a file of the home that an earlier process, or the test in its place, wrote.
func kept(name string) string {
	content, _ := os.ReadFile(filepath.Join(os.Getenv("HOME"), name))
	return strings.TrimSpace(string(content))
}

const outputs = `{"type":"object","properties":{"text":{"type":"string"},"rows":{"type":"array","items":{"type":"integer"}},"next":{"type":"string"}},"additionalProperties":true}`

func described(name string) *pluginv1.DescribeResponse {
	inputs := []byte(`{"type":"object","properties":{"field":{"type":"string"},"cursor":{"type":"string"}}}`)
	paging := &pluginv1.Paging{CursorField: "cursor", ItemsField: "rows", NextField: "next", Identity: "-"}
	return &pluginv1.DescribeResponse{
		Name: name, Version: "1.0.0", Plugin: &pluginv1.Capabilities{},
		ConfigSchema: []byte(`{"type":"object","properties":{"field":{"type":"string"},"check":{"type":"string"},"api_key":{"type":"string","writeOnly":true}}}`),
		Actions: []*pluginv1.Action{
			{Name: "act", Effect: pluginv1.Effect_EFFECT_READ, InputSchema: inputs, OutputSchema: []byte(outputs), Incremental: true},
			{Name: "pages", Effect: pluginv1.Effect_EFFECT_READ, InputSchema: inputs, OutputSchema: []byte(outputs), Paging: paging},
		},
	}
}

// Describe tells what an earlier process has kept, in one field.
func (l *leaky) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	response := described(filepath.Base(os.Args[0]))
	if field := kept("field"); field != "" {
		poison(response, protoreflect.FullName(field), kept("canary"))
	}
	return response, nil
}

func (l *leaky) field(document []byte) protoreflect.FullName {
	var named struct{ Field string }
	_ = json.Unmarshal(document, &named)
	return protoreflect.FullName(named.Field)
}

// told is the canary as far as the process knows it.
func (l *leaky) told() string {
	if l.key != "" {
		return l.key
	}
	return kept("canary")
}

func (l *leaky) Validate(_ context.Context, r *pluginv1.ValidateRequest) (*pluginv1.ValidateResponse, error) {
	response := &pluginv1.ValidateResponse{}
	if field := l.field(r.GetInput().GetJson()); strings.HasPrefix(string(field), "flowrun.plugin.v1.Diagnostic.") || strings.HasPrefix(string(field), "flowrun.plugin.v1.Validate") {
		poison(response, field, l.told())
		for _, d := range response.GetDiagnostics() {
			d.Severity = pluginv1.Diagnostic_SEVERITY_WARNING
			if d.GetSummary() == "" {
				d.Summary = "look"
			}
		}
	}
	return response, nil
}

func (l *leaky) Connect(_ context.Context, r *pluginv1.ConnectRequest) (*pluginv1.ConnectResponse, error) {
	var config struct {
		APIKey string                `json:"api_key"`
		Check  protoreflect.FullName `json:"check"`
	}
	if err := json.Unmarshal(r.GetConfig().GetJson(), &config); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.key = config.APIKey
	l.checks[r.GetConnection()] = config.Check
	response := &pluginv1.ConnectResponse{}
	if field := l.field(r.GetConfig().GetJson()); strings.HasPrefix(string(field), "flowrun.plugin.v1.Diagnostic.") {
		poison(response, field, l.key)
		response.Diagnostics[0].Severity = pluginv1.Diagnostic_SEVERITY_ERROR
	}
	return response, nil
}

// CheckConnection tells it in the field that the connection's config names.
func (l *leaky) CheckConnection(_ context.Context, r *pluginv1.CheckConnectionRequest) (*pluginv1.CheckConnectionResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	field := l.checks[r.GetConnection()]
	response := &pluginv1.CheckConnectionResponse{NotTried: field.Name() == "note"}
	poison(response, field, l.key)
	if response.GetError() != nil {
		response.Error.Code = pluginv1.Code_CODE_INVALID
	}
	return response, nil
}

func (l *leaky) Execute(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	field := l.field(r.GetInput().GetJson())
	switch field {
	case "stderr":
		fmt.Fprintln(os.Stderr, poisoned("stderr", l.key))
	case "stdout":
		fmt.Println(poisoned("stdout", l.key))
	case "status":
		return status.Error(codes.DataLoss, poisoned("status", l.key))
	case "crash":
		panic(poisoned("crash", l.key))
	}
	if given := l.cameBack(r, field); given != "" {
		return stream.Send(completed(`{"text":"` + given + `","rows":[2]}`))
	}
	event := &pluginv1.ExecuteEvent{}
	if reaches(event.ProtoReflect().Descriptor(), field, 0) {
		return l.answer(field, stream)
	}
	heard := "asked"
	if err := l.ask(stream.Context(), r.GetConnection(), field); err != nil {
		fmt.Fprintln(os.Stderr, err)
		heard = "the host said " + status.Code(err).String()
	}
	return stream.Send(completed(`{"text":"` + heard + `"}`))
}

// cameBack says whether what the plugin left for itself is what it left; "" = nothing
// was given.
func (l *leaky) cameBack(r *pluginv1.ExecuteRequest, field protoreflect.FullName) string {
	name := strings.TrimPrefix(string(field), "flowrun.plugin.v1.")
	given := map[string]string{
		"Pending.checkpoint": string(r.GetCheckpoint()), "Completed.next_cursor": r.GetPageCursor(),
		"Completed.watermark": string(r.GetWatermark()), "Completed.page_note": string(r.GetPageNote()),
	}[name]
	switch {
	case given == poisoned(name, l.key):
		return "as it was"
	case given != "":
		return "changed"
	case len(r.GetCheckpoint()) > 0 || r.GetPageCursor() != "":
		return "done"
	}
	return ""
}

func completed(output string) *pluginv1.ExecuteEvent {
	return &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: &pluginv1.Completed{Output: &pluginv1.Value{Json: []byte(output)}}}}
}

// answer sends the one event that has the field.
func (l *leaky) answer(field protoreflect.FullName, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	for _, event := range []*pluginv1.ExecuteEvent{
		{Event: &pluginv1.ExecuteEvent_Log{Log: &pluginv1.Log{Level: pluginv1.Log_LEVEL_INFO}}},
		{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Fraction: 0.5}}},
		completed(`{"text":"fine","rows":[1]}`),
		{Event: &pluginv1.ExecuteEvent_Pending{Pending: &pluginv1.Pending{Checkpoint: []byte("here")}}},
		{Event: &pluginv1.ExecuteEvent_Failed{Failed: &pluginv1.Error{Code: pluginv1.Code_CODE_NOT_FOUND}}},
	} {
		set := event.ProtoReflect().WhichOneof(event.ProtoReflect().Descriptor().Oneofs().Get(0))
		if !reaches(set.Message(), field, 0) {
			continue
		}
		fill(event.ProtoReflect().Mutable(set).Message(), field, l.key)
		if c := event.GetCompleted(); c != nil && field == "flowrun.plugin.v1.Completed.page_note" {
			c.NextCursor = "2"
		}
		if err := stream.Send(event); err != nil {
			return err
		}
		if event.GetLog() == nil && event.GetProgress() == nil {
			return nil
		}
	}
	return stream.Send(completed(`{"text":"fine","rows":[1]}`))
}

// launchToken reads the token from the descriptor that the host left open.
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

// ask sends the host every request that has the field.
func (l *leaky) ask(ctx context.Context, connection string, field protoreflect.FullName) error {
	token := launchToken()
	socket := os.Getenv(handshake.EnvHostSocket)
	conn, err := grpc.NewClient("passthrough:///host", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial("unix", socket) }))
	if err != nil {
		return err
	}
	defer conn.Close()
	if named := metadata.ValueFromIncomingContext(ctx, handshake.CallKey); len(named) == 1 {
		ctx = metadata.AppendToOutgoingContext(ctx, handshake.CallKey, named[0])
	}
	ctx = metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, token)
	host := pluginv1grpc.NewHostClient(conn)
	for method, request := range map[string]proto.Message{
		"GetState": &pluginv1.GetStateRequest{Scope: "plugin", Key: "k"}, "PutState": &pluginv1.PutStateRequest{Scope: "plugin", Key: string(field.Name()), Value: []byte("v")},
		"AcquireToken": &pluginv1.AcquireTokenRequest{Connection: connection}, "CommitToken": &pluginv1.CommitTokenRequest{},
		"PutBlob": &pluginv1.PutBlobRequest{Upload: "u", Data: []byte("v"), Last: true}, "GetBlob": &pluginv1.GetBlobRequest{},
	} {
		if !poison(request, field, l.key) {
			continue
		}
		if commit, is := request.(*pluginv1.CommitTokenRequest); is {
			acquired, err := host.AcquireToken(ctx, &pluginv1.AcquireTokenRequest{Connection: connection, Key: string(field.Name())})
			if err != nil {
				return err
			}
			if commit.GetLeaseId() == "" {
				commit.LeaseId = acquired.GetLease().GetId()
			}
			switch {
			case commit.GetError() != nil:
				commit.Error.Code = pluginv1.Code_CODE_AUTH_REQUIRED
			case commit.GetToken().GetAccessToken() == "":
				commit.Token = &pluginv1.Token{AccessToken: "t0ken-of-the-suite", Extra: commit.GetToken().GetExtra(), TokenType: commit.GetToken().GetTokenType(), Id: commit.GetToken().GetId(), RefreshToken: commit.GetToken().GetRefreshToken()}
			}
		}
		answer := map[string]proto.Message{
			"GetState": &pluginv1.GetStateResponse{}, "PutState": &pluginv1.PutStateResponse{}, "AcquireToken": &pluginv1.AcquireTokenResponse{}, "CommitToken": &pluginv1.CommitTokenResponse{},
			"PutBlob": &pluginv1.PutBlobResponse{}, "GetBlob": &pluginv1.GetBlobResponse{},
		}[method]
		if err := conn.Invoke(ctx, "/flowrun.plugin.v1.Host/"+method, request, answer); err != nil {
			return err
		}
	}
	return nil
}
