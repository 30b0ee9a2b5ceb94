package wire

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flowrun/flowrun/proto/pluginv1grpc"
	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// firstHost is a host that was built from the first descriptor of the protocol: it has
// no generated code, and its messages are those of that descriptor.
type firstHost struct {
	t      *testing.T
	file   protoreflect.FileDescriptor
	plugin *grpc.ClientConn

	mu        sync.Mutex
	answer    string   // to AcquireToken
	committed []string // what came with CommitToken
}

func startFirstHost(t *testing.T, p *sdk.Plugin) *firstHost {
	t.Helper()
	raw, err := os.ReadFile("../../proto/flowrun/plugin/v1/first.binpb")
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	file, err := protodesc.NewFile(set.GetFile()[len(set.GetFile())-1], protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	h := &firstHost{t: t, file: file}
	server := grpc.NewServer()
	server.RegisterService(h.service(), nil)
	h.plugin = servePlugin(t, p, server)
	return h
}

// service has the two calls that are asked for a token.
func (h *firstHost) service() *grpc.ServiceDesc {
	method := func(name string, answer func(request string) string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := h.message(name + "Request")
			if err := read(request); err != nil {
				return nil, err
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			response := h.message(name + "Response")
			return response, protojson.Unmarshal([]byte(answer(protojson.Format(request))), response)
		}}
	}
	return &grpc.ServiceDesc{ServiceName: "flowrun.plugin.v1.Host", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{
		method("AcquireToken", func(string) string { return h.answer }),
		method("CommitToken", func(request string) string { h.committed = append(h.committed, request); return `{}` }),
	}}
}

func (h *firstHost) message(name string) *dynamicpb.Message {
	return dynamicpb.NewMessage(h.file.Messages().ByName(protoreflect.Name(name)))
}

func (h *firstHost) ask(name, request string) string {
	h.t.Helper()
	in, out := h.message(name+"Request"), h.message(name+"Response")
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		h.t.Fatal(err)
	}
	if err := h.plugin.Invoke(h.t.Context(), "/flowrun.plugin.v1.Plugin/"+name, in, out); err != nil {
		h.t.Fatal(err)
	}
	return compact(out)
}

// execute returns the last event of a call.
func (h *firstHost) execute(request string) string {
	h.t.Helper()
	in := h.message("ExecuteRequest")
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		h.t.Fatal(err)
	}
	stream, err := h.plugin.NewStream(h.t.Context(), &grpc.StreamDesc{ServerStreams: true}, "/flowrun.plugin.v1.Plugin/Execute")
	if err != nil {
		h.t.Fatal(err)
	}
	if err := stream.SendMsg(in); err != nil {
		h.t.Fatal(err)
	}
	_ = stream.CloseSend()
	last := ""
	for {
		event := h.message("ExecuteEvent")
		if err := stream.RecvMsg(event); err != nil {
			return last
		}
		last = compact(event)
	}
}

// compact is a message without what the first descriptor does not know, in JSON with
// its names.
func compact(m *dynamicpb.Message) string {
	text, err := protojson.MarshalOptions{}.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var b []byte
	inText := false
	for i, c := range text { // protojson puts spaces at random
		if c == '"' && (i == 0 || text[i-1] != '\\') {
			inText = !inText
		}
		if c != ' ' || inText {
			b = append(b, c)
		}
	}
	return string(b)
}

// servePlugin serves a plugin in this process, for grpc-go's client. Its host is grpc-go's
// server.
func servePlugin(t testing.TB, p *sdk.Plugin, host *grpc.Server) *grpc.ClientConn {
	t.Helper()
	dir := socketFolder(t)
	hostListener, pluginListener := listenUnix(t, filepath.Join(dir, "host")), listenUnix(t, filepath.Join(dir, "plugin"))
	go func() { _ = host.Serve(hostListener) }()
	t.Cleanup(host.Stop)
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", hostListener.Addr().String())
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	server, err := sdk.NewServer(p, sdk.ServerOptions{Host: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	serving := &http.Server{Handler: server.Handler(), Protocols: new(http.Protocols)}
	serving.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = serving.Serve(pluginListener) }()
	t.Cleanup(func() { _ = serving.Close() })
	conn, err := grpc.NewClient("unix:"+pluginListener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// socketFolder is a folder with a name that is short enough for sockets.
func socketFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listenUnix(t testing.TB, socket string) net.Listener {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

type wireOut struct {
	Text string `json:"text"`
}

func wirePlugin() *sdk.Plugin {
	return sdk.New("wire", "1.0.0", "Speaks to old hosts",
		sdk.Read("use", "Use the token", func(c *sdk.Call[struct{}], _ sdk.NoInput) (wireOut, error) {
			token, err := c.Token(sdk.TokenRequest{Refresh: func(context.Context, *sdk.Token) (*sdk.Token, error) {
				return &sdk.Token{AccessToken: "fresh-token"}, nil
			}})
			if err != nil {
				return wireOut{}, err
			}
			return wireOut{Text: token.ID}, nil
		}),
		sdk.Read("look", "Look at the token", func(c *sdk.Call[struct{}], _ sdk.NoInput) (wireOut, error) {
			stored, err := c.StoredToken()
			return wireOut{Text: stored.State}, err
		}),
		sdk.Once("fail", "Fail", func(*sdk.Call[struct{}], sdk.NoInput) (wireOut, error) {
			return wireOut{}, sdk.RateLimited(0, "too fast").WithHint("wait")
		}),
	)
}

func TestIssue15_WireTheSDKServesAHostOfTheFirstDescriptor(t *testing.T) {
	h := startFirstHost(t, wirePlugin())
	const token = `{"token":{"accessToken":"old-token","id":"t1"}}`
	const lease = `{"lease":{"id":"l1"}}`
	h.answer = token
	if got := h.ask("Connect", `{"connection":"main","config":{"json":"e30="},"configHash":"1"}`); got != `{}` {
		t.Errorf("connect: %s", got)
	}
	if got := h.ask("CheckConnection", `{"connection":"main"}`); got != `{}` {
		t.Errorf("the test of a connection: %s", got)
	}
	call := func(action string) string {
		return h.execute(`{"action":"` + action + `","connection":"main","input":{"json":"e30="}}`)
	}
	if got := call("use"); got != `{"completed":{"output":{"json":"eyJ0ZXh0IjoidDEifQ=="}}}` { // {"text":"t1"}
		t.Errorf("a token: %s", got)
	}
	const details = `"details":"eyJhY3Rpb24iOiJmYWlsIiwic2VydmljZSI6IndpcmUifQ=="`
	if got := call("fail"); got != `{"failed":{"code":"RATE_LIMITED","message":"too fast","applied":"NOT_APPLIED",`+details+`}}` {
		t.Errorf("a failure: %s", got)
	}
	const unsupported = `{"failed":{"code":"UNSUPPORTED","message":"the host can't tell the state of a token","applied":"NOT_APPLIED","details":"eyJhY3Rpb24iOiJsb29rIiwic2VydmljZSI6IndpcmUifQ=="}}`
	if got := call("look"); got != unsupported {
		t.Errorf("a look at a token: %s", got)
	}
	h.answer = lease // takes the question for one of a token that is to be renewed
	if got := call("look"); got != unsupported || len(h.committed) != 1 {
		t.Errorf("a look that got a lease: %s, which was ended with %q", got, h.committed)
	}
	if got := call("use"); got == "" || len(h.committed) != 2 {
		t.Errorf("a renewal: %s, %q", got, h.committed)
	}
}

// A host of a later minor sends words and fields that nobody knows yet; the
// description is the same for it.
func TestIssue15_WireTheSDKServesAHostOfALaterMinor(t *testing.T) {
	client := pluginv1grpc.NewPluginClient(servePlugin(t, wirePlugin(), grpc.NewServer()))
	later := func(m proto.Message) {
		m.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 2000, protowire.BytesType), "of a later minor"))
	}
	request := &pluginv1.DescribeRequest{HostVersion: "99", ProtocolMinor: 99, Host: &pluginv1.Capabilities{Features: []string{"time_travel"}}}
	later(request)
	newer, err := client.Describe(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	older, err := client.Describe(t.Context(), &pluginv1.DescribeRequest{})
	if err != nil || !proto.Equal(newer, older) {
		t.Errorf("the description depends on the host: %v", err)
	}
	call := &pluginv1.ExecuteRequest{Action: "fail", Input: &pluginv1.Value{Json: []byte(`{}`)}, Run: &pluginv1.RunContext{}}
	later(call)
	later(call.GetRun())
	stream, err := client.Execute(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	event, err := stream.Recv()
	if err != nil || event.GetFailed().GetCode() != pluginv1.Code_CODE_RATE_LIMITED {
		t.Errorf("got %v, %v", event, err)
	}
	if _, err := stream.Recv(); err == nil {
		t.Error("more than one event")
	}
}
