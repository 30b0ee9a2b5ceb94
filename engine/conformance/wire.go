package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// connectionName is that of the one connection that the kit opens.
const connectionName = "kit"

// answer is how one Execute ended.
type answer struct {
	completed *pluginv1.Completed
	pending   *pluginv1.Pending
	failed    *pluginv1.Error
	events    int // before the last
	finals    int
	after     int // events behind the first final one
	err       error
}

// ok reports whether the call completed as the protocol asks.
func (a *answer) ok() bool { return a.err == nil && a.completed != nil }

// String says in one line how it ended.
func (a *answer) String() string {
	switch {
	case a.err != nil:
		return "the gRPC error " + a.err.Error()
	case a.completed != nil:
		return "completed: " + brief(a.completed.GetOutput().GetJson())
	case a.pending != nil:
		return "pending: " + a.pending.GetMessage()
	case a.failed != nil:
		return "failed: " + failureText(a.failed)
	}
	return "the end of the stream, without completed, pending or failed"
}

func failureText(e *pluginv1.Error) string {
	text := codeName(e.GetCode()) + ", " + appliedName(e.GetApplied())
	if e.GetReason() != "" {
		text += ", reason " + e.GetReason()
	}
	if e.GetPointer() != "" {
		text += ", pointer " + e.GetPointer()
	}
	return text + ": " + brief([]byte(e.GetMessage()))
}

func brief(doc []byte) string {
	const most = 300
	if len(doc) > most {
		return strings.ToValidUTF8(string(doc[:most]), "") + fmt.Sprintf("… (%d bytes)", len(doc))
	}
	return string(doc)
}

// call is a call that the plugin can do.
type call struct {
	action   *action
	input    []byte
	count    *Count
	first    *answer    // how it ended when it was tried
	requests []*request // that it sent then
}

func (c *call) String() string { return "Execute " + c.action.GetName() + " with " + brief(c.input) }

// request is an Execute of the call.
func (k *kit) request(c *call, key string) *pluginv1.ExecuteRequest {
	return &pluginv1.ExecuteRequest{
		Action: c.action.GetName(), Connection: connectionName, Input: &pluginv1.Value{Json: c.input}, Blobs: true,
		Run: &pluginv1.RunContext{
			Workflow: "kit", RunId: "01kit" + key, StepId: "kit", Attempt: 1, IdempotencyKey: key, ScheduledAt: timestamppb.New(k.Now()),
			Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		},
	}
}

// key is an idempotency key that no other call has.
func (k *kit) key() string {
	random := make([]byte, 8)
	_, _ = io.ReadFull(k.Entropy, random)
	return fmt.Sprintf("kit-%x", random)
}

// maxRests is how often a call is made again that its service had no time for.
const maxRests = 3

// execute makes a call, again where the service asks for a rest: the host keeps limits, and
// the kit what the service says of them.
func (k *kit) execute(ctx context.Context, p *process, r *pluginv1.ExecuteRequest) *answer {
	for rests := 0; ; rests++ {
		got := k.attempt(ctx, p, r)
		limited := got.failed != nil && codeName(got.failed.GetCode()) == "rate_limited" && k.service.passes()
		if !limited || rests == maxRests {
			return got
		}
		select {
		case <-time.After(min(max(got.failed.GetRetryAfter().AsDuration(), 200*time.Millisecond), startLimit)):
		case <-ctx.Done():
			return got
		}
	}
}

// attempt makes one attempt and reads its stream to the end.
func (k *kit) attempt(ctx context.Context, p *process, r *pluginv1.ExecuteRequest) *answer {
	if k.streaming.Load() {
		return k.attemptStreamed(ctx, p, r)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.rpc.Execute(metadata.AppendToOutgoingContext(p.authorized(ctx), handshake.CallKey, cmp.Or(r.GetRun().GetIdempotencyKey(), "of no run")), r)
	if err != nil {
		return &answer{err: err}
	}
	got := &answer{}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			got.err = err
			k.ear.hear("the gRPC error of "+r.GetAction(), []byte(err.Error()))
			return got
		}
		k.take(r.GetAction(), event, got)
	}
}

// take notes an event of a stream.
func (k *kit) take(name string, event *pluginv1.ExecuteEvent, got *answer) {
	final := true
	switch e := event.GetEvent().(type) {
	case *pluginv1.ExecuteEvent_Completed:
		got.completed = e.Completed
		k.ear.hear("the output of "+name, k.withoutSecrets(name, e.Completed.GetOutput()))
		k.ear.hear("the meta of "+name, e.Completed.GetMeta())
	case *pluginv1.ExecuteEvent_Pending:
		got.pending = e.Pending
		k.ear.hear("the pending answer of "+name, &pluginv1.Pending{Message: e.Pending.GetMessage(), Prompt: e.Pending.GetPrompt()})
	case *pluginv1.ExecuteEvent_Failed:
		got.failed = e.Failed
		k.ear.hear("the error of "+name, e.Failed)
	default:
		final = false
		got.events++
		k.ear.hear("the log or progress of "+name, event)
	}
	if got.finals > 0 {
		got.after++
	}
	if final {
		got.finals++
	}
}

// validate asks for a static check.
func (k *kit) validate(ctx context.Context, p *process, name string, input []byte, unknown ...string) (*pluginv1.ValidateResponse, error) {
	request := &pluginv1.ValidateRequest{Action: name, Input: &pluginv1.Value{Json: input}, Unknown: unknown}
	k.configure(request)
	response, err := p.rpc.Validate(p.authorized(ctx), request)
	if err == nil {
		k.ear.hear("what Validate says of "+name, response)
	}
	return response, err
}

// errorsIn are the diagnostics that refuse.
func errorsIn(diagnostics []*pluginv1.Diagnostic) []*pluginv1.Diagnostic {
	var refused []*pluginv1.Diagnostic
	for _, d := range diagnostics {
		if d.GetSeverity() != warning {
			refused = append(refused, d)
		}
	}
	return refused
}

// saidOf puts diagnostics into words.
func saidOf(diagnostics []*pluginv1.Diagnostic) string {
	if len(diagnostics) == 0 {
		return "no diagnostic"
	}
	var parts []string
	for _, d := range diagnostics {
		at := d.GetPointer()
		if at == "" {
			at = "no pointer"
		}
		severity := "error"
		if d.GetSeverity() == warning {
			severity = "warning"
		}
		parts = append(parts, severity+" at "+at+": "+d.GetSummary())
	}
	return strings.Join(parts, "; ")
}

// unknownField adds a field that no version has yet.
func unknownField(m proto.Message) {
	extra := protowire.AppendTag(nil, 1999, protowire.BytesType)
	extra = protowire.AppendBytes(extra, []byte("of a newer host"))
	m.ProtoReflect().SetUnknown(append(m.ProtoReflect().GetUnknown(), extra...))
}

// shown is a message for a report.
func shown(m proto.Message) string {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var compact any // protojson puts spaces in at random
	if json.Unmarshal(text, &compact) != nil {
		return brief(text)
	}
	text, _ = json.Marshal(compact) // it was read from JSON
	return brief(text)
}

// pause waits for as long as a pending answer asks, at most two seconds.
func pause(ctx context.Context, p *pluginv1.Pending) error {
	select {
	case <-time.After(min(p.GetRetryAfter().AsDuration(), 2*time.Second)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// configure puts the config of the connection into a question to a plugin that looks at
// it, without its secrets.
func (k *kit) configure(request *pluginv1.ValidateRequest) {
	if !slices.Contains(k.described.GetPlugin().GetFeatures(), handshake.FeatureValidateConfig) || len(k.connection) == 0 {
		return
	}
	var config map[string]json.RawMessage
	var described struct {
		Properties map[string]struct {
			Secret bool `json:"writeOnly"`
		} `json:"properties"`
	}
	if json.Unmarshal(k.connection, &config) != nil || json.Unmarshal(k.described.GetConfigSchema(), &described) != nil {
		return
	}
	for name, setting := range described.Properties {
		if _, there := config[name]; there && setting.Secret {
			delete(config, name)
			request.ConfigUnknown = append(request.ConfigUnknown, "/"+name)
		}
	}
	slices.Sort(request.ConfigUnknown)
	open, _ := json.Marshal(config) // of JSON values
	request.Connection, request.Config = connectionName, &pluginv1.Value{Json: open}
}
