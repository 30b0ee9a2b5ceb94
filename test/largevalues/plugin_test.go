package largevalues

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// deed is one thing that the raw plugin does. It says what came of each.
type deed struct {
	Put    string `json:"put,omitempty"` // name of the upload
	Get    string `json:"get,omitempty"` // digest
	Call   string `json:"call,omitempty"`
	Offset uint64 `json:"offset,omitempty"`
	Data   string `json:"data,omitempty"`
	Fill   int    `json:"fill,omitempty"` // so many bytes in the place of Data
	Note   string `json:"note,omitempty"`
	Last   bool   `json:"last,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	Times  int    `json:"times,omitempty"` // under names of their own; 0 = once
	Die    bool   `json:"die,omitempty"`   // kill -9 of itself
	Late   bool   `json:"late,omitempty"`  // when the call has ended: the next call does it, and tells what came of it
}

// rawInput is what the raw plugin is asked for.
type rawInput struct {
	Deeds []deed          `json:"deeds,omitempty"`
	Give  json.RawMessage `json:"give,omitempty"` // the reference to give; "last" = what the last deed gave
	From  json.RawMessage `json:"from,omitempty"`
	Fail  bool            `json:"fail,omitempty"`
}

const rawInputSchema = `{"type":"object","properties":{"deeds":{"type":"array","items":{"type":"object"}},"give":{},"from":{"type":["object","null"],"x-flowrun-blob":true},"fail":{"type":"boolean"}},"additionalProperties":false}`

const rawOutputSchema = `{"type":"object","properties":{"said":{"type":"array","items":{"type":"string"}},"blob":{"type":["object","null"],"x-flowrun-blob":true}},"required":["said"]}`

// rawPlugin is written on the generated code: it does what the SDK does not let an author do.
type rawPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	pluginv1grpc.UnimplementedPluginServer

	mu   sync.Mutex
	late []deed // of calls that have ended
}

func serveRaw() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.MagicCookieKey, MagicCookieValue: handshake.MagicCookieValue},
		Plugins:         goplugin.PluginSet{handshake.PluginSet: &rawPlugin{}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(64<<20))...)
		},
	})
}

// GRPCServer serves the plugin.
func (p *rawPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pluginv1grpc.RegisterPluginServer(s, p)
	return nil
}

// GRPCClient is not used.
func (p *rawPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// Describe says that there is one action.
func (p *rawPlugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{
		Name: "raw", Version: "1.0.0", ConfigSchema: []byte(`{"type":"object"}`), Plugin: &pluginv1.Capabilities{},
		Actions: []*pluginv1.Action{{Name: "do", Doc: "Do it.", InputSchema: []byte(rawInputSchema), OutputSchema: []byte(rawOutputSchema), Effect: pluginv1.Effect_EFFECT_READ}},
	}, nil
}

// Connect takes anything.
func (p *rawPlugin) Connect(context.Context, *pluginv1.ConnectRequest) (*pluginv1.ConnectResponse, error) {
	return &pluginv1.ConnectResponse{}, nil
}

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

var hostClient = sync.OnceValue(func() pluginv1grpc.HostClient {
	conn, err := grpc.NewClient("passthrough:///host",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20)),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return net.Dial("unix", os.Getenv(handshake.EnvHostSocket))
		}))
	if err != nil {
		panic(err)
	}
	return pluginv1grpc.NewHostClient(conn)
})

// Execute does the deeds of its input.
func (p *rawPlugin) Execute(r *pluginv1.ExecuteRequest, stream grpc.ServerStreamingServer[pluginv1.ExecuteEvent]) error {
	var in rawInput
	if err := json.Unmarshal(r.GetInput().GetJson(), &in); err != nil {
		return err
	}
	call := ""
	if named := metadata.ValueFromIncomingContext(stream.Context(), handshake.CallKey); len(named) == 1 {
		call = named[0]
	}
	said := []string{}
	p.mu.Lock()
	for _, d := range p.late {
		text, _ := do(stream.Context(), d.Call, d)
		said = append(said, "late: "+text)
	}
	p.late = nil
	p.mu.Unlock()
	if !r.GetBlobs() {
		said = append(said, "no blobs")
	}
	var last json.RawMessage
	for _, d := range in.Deeds {
		if d.Late {
			d.Call = call
			p.mu.Lock()
			p.late = append(p.late, d)
			p.mu.Unlock()
			continue
		}
		text, reference := do(stream.Context(), call, d)
		said = append(said, text)
		if reference != nil {
			last = reference
		}
	}
	if in.Fail {
		return stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Failed{Failed: &pluginv1.Error{
			Code: pluginv1.Code_CODE_UNAVAILABLE, Message: strings.Join(said, "; "), Applied: pluginv1.Error_APPLIED_NOT_APPLIED,
		}}})
	}
	output := map[string]any{"said": said}
	switch {
	case string(in.Give) == `"last"`:
		output["blob"] = last
	case len(in.Give) > 0:
		output["blob"] = in.Give
	}
	encoded, err := json.Marshal(output)
	if err != nil {
		return err
	}
	return stream.Send(&pluginv1.ExecuteEvent{Event: &pluginv1.ExecuteEvent_Completed{Completed: &pluginv1.Completed{Output: &pluginv1.Value{Json: encoded}}}})
}

// do does one deed, and tells what the host said.
func do(ctx context.Context, call string, d deed) (said string, reference json.RawMessage) {
	if d.Die {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill()
		}
		select {}
	}
	if d.Call != "" {
		call = d.Call
	}
	md := metadata.Pairs(handshake.LaunchTokenKey, launchToken())
	if call != "none" {
		md.Set(handshake.CallKey, call)
	}
	ctx = metadata.NewOutgoingContext(ctx, md)
	if d.Get != "" {
		response, err := hostClient().GetBlob(ctx, &pluginv1.GetBlobRequest{Digest: d.Get, Offset: d.Offset})
		if err != nil {
			return status.Code(err).String() + ": " + status.Convert(err).Message(), nil
		}
		sum := sha256.Sum256(response.GetData())
		return fmt.Sprintf("got %d of %d %s", len(response.GetData()), response.GetSize(), hex.EncodeToString(sum[:4])), nil
	}
	data := []byte(d.Data)
	if d.Fill > 0 {
		data = bytes.Repeat([]byte("x"), d.Fill)
	}
	for n := range max(1, d.Times) {
		name := d.Put
		if d.Times > 0 {
			name += strconv.Itoa(n)
		}
		response, err := hostClient().PutBlob(ctx, &pluginv1.PutBlobRequest{
			Upload: name, Offset: d.Offset, Data: data, Note: []byte(d.Note), Last: d.Last, Sensitive: d.Secret, Name: "f",
		})
		if err != nil {
			return status.Code(err).String() + ": " + status.Convert(err).Message(), reference
		}
		said = fmt.Sprintf("size %d", response.GetSize())
		if note := response.GetNote(); len(note) > 0 {
			said += " note " + string(note)
		}
		if reference = response.GetReference().GetJson(); reference != nil {
			said += " done"
		}
	}
	return said, reference
}
