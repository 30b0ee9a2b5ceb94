package pluginhost

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// firstMode begins the mode of a plugin that knows the first descriptor of the
// protocol alone, which follows in base64: its process may read no file of ours.
const firstMode = "first:"

// firstPlugin has no generated code: its messages are those of a descriptor.
type firstPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
	file protoreflect.FileDescriptor
}

func newFirstPlugin(encoded string) (*firstPlugin, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(raw, &set); err != nil {
		return nil, err
	}
	file, err := protodesc.NewFile(set.GetFile()[len(set.GetFile())-1], protoregistry.GlobalFiles)
	return &firstPlugin{file: file}, err
}

func (p *firstPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("no client")
}

// What the first plugin answers, as its own descriptor writes it: the names of enum
// values are those of before.
var firstAnswers = map[string]string{
	"Describe": `{"name":"evil","version":"0.1.0","plugin":{"features":["reconcile"]},"configSchema":"eyJ0eXBlIjoib2JqZWN0In0=","actions":[
		{"name":"echo","effect":"EFFECT_ONCE","inputSchema":"eyJ0eXBlIjoib2JqZWN0In0=","outputSchema":"e30="},
		{"name":"fail","effect":"EFFECT_READ","inputSchema":"eyJ0eXBlIjoib2JqZWN0In0=","outputSchema":"e30="}]}`,
	"Validate":        `{"diagnostics":[{"severity":"WARNING","summary":"hm"}]}`,
	"Connect":         `{}`,
	"CheckConnection": `{"account":"maria"}`,
	"Reconcile":       `{"applied":"PARTLY","note":"half"}`,
	"fail":            `{"failed":{"code":"NOT_FOUND","applied":"NOT_APPLIED","message":"no","details":"eyJoaW50IjoibG9vayJ9"}}`, // {"hint":"look"}
	"line":            `{"log":{"level":"WARN","message":"old words"}}`,
	"echo":            `{"completed":{"output":{"json":"eyJhIjoxfQ=="},"nextCursor":"2"}}`, // {"a":1}
}

func (p *firstPlugin) message(name protoreflect.Name, text string) (proto.Message, error) {
	m := dynamicpb.NewMessage(p.file.Messages().ByName(name))
	return m, protojson.Unmarshal([]byte(text), m)
}

func (p *firstPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	service := grpc.ServiceDesc{ServiceName: "flowrun.plugin.v1.Plugin", HandlerType: (*any)(nil)}
	for _, name := range []string{"Describe", "Validate", "Connect", "CheckConnection", "Reconcile"} {
		service.Methods = append(service.Methods, grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			if err := read(dynamicpb.NewMessage(p.file.Messages().ByName(protoreflect.Name(name + "Request")))); err != nil {
				return nil, err
			}
			return p.message(protoreflect.Name(name+"Response"), firstAnswers[name])
		}})
	}
	service.Streams = []grpc.StreamDesc{{StreamName: "Execute", ServerStreams: true, Handler: p.execute}}
	s.RegisterService(&service, nil)
	return nil
}

func (p *firstPlugin) execute(_ any, stream grpc.ServerStream) error {
	request := dynamicpb.NewMessage(p.file.Messages().ByName("ExecuteRequest"))
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	action := request.Get(request.Descriptor().Fields().ByName("action")).String()
	for _, answer := range []string{"line", action} {
		event, err := p.message("ExecuteEvent", firstAnswers[answer])
		if err != nil {
			return err
		}
		if err := stream.SendMsg(event); err != nil {
			return err
		}
	}
	return nil
}

func TestIssue15_WireAPluginOfTheFirstDescriptorRuns(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../proto/flowrun/plugin/v1/first.binpb")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, firstMode+base64.StdEncoding.EncodeToString(raw), nil)
	d, err := w.host.Describe(t.Context(), "evil")
	if err != nil {
		t.Fatal(err)
	}
	if echo, ok := d.Action("echo"); !ok || echo.Effect != plan.EffectOnce || d.Version != "0.1.0" || d.Login != nil {
		t.Errorf("described as %+v", d)
	}
	main := Connection{Name: "main", Plugin: "evil"}
	sink := &sinkOf{}
	answer := w.host.Call(t.Context(), runs.Request{Action: "evil.echo", RunID: "r", Step: "a", Attempt: 1, Input: json.RawMessage(`{"x":1}`)}, main, sink)
	if answer.Completed == nil || string(answer.Completed.Output) != `{"a":1}` || answer.Completed.NextCursor != "2" {
		t.Fatalf("echo: %+v", answer.Failed)
	}
	if len(sink.logs) != 1 || sink.logs[0].Level != "warn" {
		t.Errorf("logged %+v", sink.logs)
	}
	failure := w.fails("fail", `{}`, plan.KindNotFound)
	if failure.Applied != runs.NotApplied || failure.Hint.Text != "look" {
		t.Errorf("failed with %+v", failure)
	}
	if tested, failed := w.host.Check(t.Context(), main); failed != nil || tested.Account != "maria" || tested.NotTried {
		t.Errorf("tested: %+v, %v", tested, failed)
	}
	outcome, failed := w.host.Reconcile(t.Context(), runs.Request{Action: "evil.echo", RunID: "r", Step: "a", Input: json.RawMessage(`{}`)}, main)
	if failed != nil || outcome.Applied != runs.AppliedPartly || outcome.Note != "half" {
		t.Errorf("asked again: %+v, %v", outcome, failed)
	}
}

// later makes what a plugin says that was built with a newer minor: words, values and
// fields that this host does not know.
func later(m proto.Message) {
	unknown := protowire.AppendTag(nil, 2000, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendString(unknown, "of a later minor"))
}

func TestIssue15_WireAPluginOfALaterMinorRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "later", nil)
	d, err := w.host.Describe(t.Context(), "evil")
	if err != nil || d.ProtocolMinor != 99 || !strings.Contains(strings.Join(d.Features, " "), "time_travel") {
		t.Fatalf("described as %+v, %v", d, err)
	}
	sink := &sinkOf{}
	answer := w.host.Call(t.Context(), runs.Request{Action: "evil.later", RunID: "r", Step: "a", Attempt: 1, Input: json.RawMessage(`{}`)}, Connection{Name: "main"}, sink)
	if answer.Failed == nil || answer.Failed.Kind != plan.KindInternal || answer.Failed.Applied != runs.AppliedUnknown || answer.Failed.Message != "of later" {
		t.Errorf("a code of a later minor: %+v", answer)
	}
	if len(sink.logs) != 1 || sink.logs[0].Level != "info" {
		t.Errorf("a level of a later minor: %+v", sink.logs)
	}
	if got := w.ok("echo", `{"text":"x"}`); got["text"] != "x" {
		t.Errorf("echo: %v", got)
	}
}

// executeLater ends with values that no version knows yet.
func executeLater(send func(*pluginv1.ExecuteEvent) error) error {
	line := logLine("of later")
	line.GetLog().Level = 77
	later(line)
	if err := send(line); err != nil {
		return err
	}
	end := failure(&pluginv1.Error{Code: 77, Applied: 77, Message: "of later"})
	later(end.GetFailed())
	return send(end)
}
