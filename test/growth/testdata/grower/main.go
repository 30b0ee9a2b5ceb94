// Command grower is a plugin of the raw protocol, without the sdk, that lets one
// part of what it says grow for ever: each of its actions is named after the part.
package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// parts are what grows. A name that ends in _within keeps each answer within its
// own quota, and gives so many answers that the journal is full.
func parts() []string {
	return []string{
		"next_cursor", "next_cursor_within", "watermark", "meta", "meta_within", "page_note", "output_within", "checkpoint", "checkpoint_within", "message",
		"prompt", "error_message", "error_details", "progress", "log", "log_fields", "state_value", "state", "state_keys",
	}
}

var token = readToken()

func main() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the lifeline
		os.Exit(0)
	}()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue,
		},
		Plugins: goplugin.PluginSet{handshake.PluginSet: &plugin{}},
		Logger:  hclog.New(&hclog.LoggerOptions{Output: os.Stderr, JSONFormat: true, Level: hclog.Warn}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20))...)
		},
	})
}

type plugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (*plugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1grpc.RegisterPluginServer(s, &server{})
	return nil
}

func (*plugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type server struct {
	pluginv1grpc.UnimplementedPluginServer
}

func (*server) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	response := &pluginv1.DescribeResponse{
		Name: "grower", Version: "1.0.0", Doc: "grows", Plugin: &pluginv1.Capabilities{},
	}
	for _, part := range parts() {
		response.Actions = append(response.Actions, &pluginv1.Action{
			Name: part, Doc: "Let " + part + " grow", Effect: pluginv1.Effect_EFFECT_READ,
			InputSchema:  []byte(`{"type":"object","properties":{"cursor":{"type":"string"}}}`),
			OutputSchema: []byte(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"integer"}},"text":{"type":"string"}},"required":["items"]}`),
			Paging:       &pluginv1.Paging{CursorField: "cursor", ItemsField: "items"},
		})
	}
	return response, nil
}

func (*server) Connect(context.Context, *pluginv1.ConnectRequest) (*pluginv1.ConnectResponse, error) {
	return &pluginv1.ConnectResponse{}, nil
}

func (*server) Execute(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	part, within := strings.CutSuffix(r.GetAction(), "_within")
	size := 5 << 20
	if within {
		size = map[string]int{"next_cursor": 16 << 10, "meta": 64 << 10, "output": 4 << 20, "checkpoint": 1 << 20}[part] - 100
	}
	return grow(r, stream, part, text(size))
}

// text is another one at each call: equal parts of large values are stored once.
func text(size int) string {
	random := rand.NewChaCha8([32]byte(binary.BigEndian.AppendUint64(make([]byte, 24), uint64(time.Now().UnixNano()))))
	raw := make([]byte, size/2+1)
	_, _ = random.Read(raw) // it never fails
	return hex.EncodeToString(raw)[:size]
}

// grow answers with a page of which one part is text.
func grow(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent], part, text string) error {
	page := time.Now().UnixNano()
	completed := &pluginv1.Completed{Output: &pluginv1.Value{Json: fmt.Appendf(nil, `{"items":[%d]}`, page)}, NextCursor: fmt.Sprint(page)}
	pending := &pluginv1.Pending{RetryAfter: durationpb.New(time.Millisecond)}
	failed := &pluginv1.Error{Code: pluginv1.Code_CODE_UNAVAILABLE, Message: "busy", Applied: pluginv1.Error_APPLIED_NOT_APPLIED}
	quoted, _ := json.Marshal(text)
	done := &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: completed}}
	waits := &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Pending{Pending: pending}}
	fails := &pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Failed{Failed: failed}}
	switch part {
	case "next_cursor":
		completed.NextCursor += text
	case "watermark":
		completed.Watermark = []byte(text)
	case "meta":
		completed.Meta = quoted
	case "page_note":
		completed.PageNote = []byte(text)
	case "output":
		completed.Output.Json = fmt.Appendf(nil, `{"items":[%d],"text":%s}`, page, quoted)
	case "checkpoint":
		pending.Checkpoint = []byte(text)
		done = waits
	case "message":
		pending.Message = text
		done = waits
	case "prompt":
		pending.Prompt = &pluginv1.Prompt{Title: "log in", Message: text}
		done = waits
	case "error_message":
		failed.Message = text
		done = fails
	case "error_details":
		failed.Details = quoted
		done = fails
	case "progress":
		if err := stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Progress{Progress: &pluginv1.Progress{Message: text}}}); err != nil {
			return err
		}
	case "log", "log_fields":
		return logForEver(stream, part)
	case "state_value", "state", "state_keys":
		if err := keepForEver(stream.Context(), part, text); err != nil {
			fmt.Fprintln(os.Stderr, "refused:", err) // and says that all went well
		}
		completed.NextCursor = ""
	}
	return stream.Send(done)
}

func logForEver(stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent], part string) error {
	line := &pluginv1.Log{Message: strings.Repeat("l", 60_000)}
	if part == "log_fields" {
		line = &pluginv1.Log{Message: "m", Fields: []byte(`{"f":"` + strings.Repeat("l", 60_000) + `"}`)}
	}
	for {
		if err := stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Log{Log: line}}); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// keepForEver writes into the plugin's state until it is refused.
func keepForEver(ctx context.Context, part, text string) error {
	conn, err := grpc.NewClient("unix:"+os.Getenv(handshake.EnvHostSocket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, handshake.LaunchTokenKey, token)
	host := pluginv1grpc.NewHostClient(conn)
	value := []byte(text)
	switch part {
	case "state":
		value = value[:1<<20]
	case "state_keys":
		value = value[:10]
	}
	for n := 0; ; n++ {
		if _, err := host.PutState(ctx, &pluginv1.PutStateRequest{Scope: "plugin", Key: fmt.Sprintf("%s-%d", part, n), Value: value}); err != nil {
			return err
		}
	}
}

// launchTokenFD names the descriptor that a host gives the token by, where it does
// not stand in the environment.
const launchTokenFD = "FLOWRUN_LAUNCH_TOKEN_FD"

// readToken reads the launch token, which the host presents and is asked with.
func readToken() string {
	fd, err := strconv.Atoi(os.Getenv(launchTokenFD))
	if err != nil {
		return os.Getenv(handshake.EnvLaunchToken)
	}
	token, _ := io.ReadAll(os.NewFile(uintptr(fd), "token"))
	return strings.TrimSpace(string(token))
}
