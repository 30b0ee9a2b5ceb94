// Package sdktest calls the actions of a plugin without a process: through the
// real gRPC service over memory, with a host that keeps state and tokens in
// memory. Point the config's base_url at an httptest server.
//
//	service := httptest.NewServer(...)
//	plugin := sdktest.Open(t, weather.New(), map[string]any{"base_url": service.URL})
//	result := plugin.Call("current", map[string]any{"city": "Bonn"})
package sdktest

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/proto/handshake"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
)

// Connection is the name that Open gives to the connection.
const Connection = "test"

// callTimeout ends a call that hangs, so that a test fails with its name.
const callTimeout = 30 * time.Second

// Plugin is a plugin under test with one open connection. It is safe for
// concurrent use.
type Plugin struct {
	t         testing.TB
	plugin    *sdk.Plugin
	http      *http.Client
	client    pluginv1connect.PluginClient
	host      *Host
	described Description

	recipe  []byte            // of the settings, for connections
	recipes map[string][]byte // of the settings, by action
}

// Open serves a plugin in this process and opens a connection with a config
// (encoded as JSON; nil = {}). Mistakes of the plugin and of the config fail
// the test. Everything is closed when the test ends.
func Open(t testing.TB, plugin *sdk.Plugin, config any) *Plugin {
	t.Helper()
	p := Serve(t, plugin)
	for _, problem := range p.Connect(Connection, config) {
		if !problem.Warning {
			t.Fatalf("open the connection: %s %s", problem.Pointer, problem.Summary)
		}
	}
	return p
}

// Serve serves a plugin in this process without a connection.
func Serve(t testing.TB, plugin *sdk.Plugin) *Plugin {
	t.Helper()
	host := &Host{keeper: newKeeper()}
	_, service := pluginv1connect.NewHostHandler(host.keeper)
	server, err := sdk.NewServer(plugin, sdk.ServerOptions{Host: dial(t, service)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := dial(t, server.Handler())
	p := &Plugin{t: t, plugin: plugin, http: client, client: pluginv1connect.NewPluginClient(client, "http://plugin", connect.WithGRPC()), host: host}
	p.described = description(p.describe(&pluginv1.DescribeRequest{HostVersion: "sdktest"}))
	return p
}

func (p *Plugin) describe(request *pluginv1.DescribeRequest) *pluginv1.DescribeResponse {
	p.t.Helper()
	described, err := p.client.Describe(p.t.Context(), request)
	if err != nil {
		p.t.Fatalf("describe: %v", err)
	}
	return described
}

// Client reaches the plugin's gRPC service, whatever the host of the URL, for a client
// of what the harness has no method for.
func (p *Plugin) Client() *http.Client { return p.http }

// Host returns the host that keeps the plugin's state and tokens.
func (p *Plugin) Host() *Host { return p.host }

// Describe returns what the plugin says of itself.
func (p *Plugin) Describe() Description { return p.described }

// Action returns the description of one action; a missing one fails the test.
func (p *Plugin) Action(name string) Action {
	p.t.Helper()
	for _, a := range p.described.Actions {
		if a.Name == name {
			return a
		}
	}
	p.t.Fatalf("the plugin has no action %q", name)
	return Action{}
}

// Connect opens or replaces a connection and returns the problems of its
// config.
func (p *Plugin) Connect(name string, config any) []sdk.Problem {
	p.t.Helper()
	response, err := p.client.Connect(p.t.Context(), &pluginv1.ConnectRequest{
		Connection: name, Config: &pluginv1.Value{Json: encode(p.t, config)}, Recipe: p.recipe,
	})
	if err != nil {
		p.t.Fatalf("connect: %v", err)
	}
	return problems(response.GetDiagnostics())
}

// CheckConnection tries the connection that Open made.
func (p *Plugin) CheckConnection() (account string, failure *sdk.Error) {
	p.t.Helper()
	response := p.tryConnection()
	return response.GetAccount(), sdkError(response.GetError())
}

func (p *Plugin) tryConnection() *pluginv1.CheckConnectionResponse {
	p.t.Helper()
	response, err := p.client.CheckConnection(p.t.Context(), &pluginv1.CheckConnectionRequest{Connection: Connection})
	if err != nil {
		p.t.Fatalf("check the connection: %v", err)
	}
	return response
}

// NotTried tries the connection that Open made, and returns whether nothing was asked
// of the service, with the reason that the plugin gave (Call.NotTried).
func (p *Plugin) NotTried() (why string, notTried bool) {
	p.t.Helper()
	response := p.tryConnection()
	return response.GetNote(), response.GetNotTried() && response.GetError() == nil
}

// Validate checks an input as the checker of workflows does; unknown names the
// inputs whose value is not known yet, as JSON Pointers.
func (p *Plugin) Validate(action string, input any, unknown ...string) []sdk.Problem {
	p.t.Helper()
	found, _ := p.ValidateNarrow(action, input, unknown...)
	return found
}

// ValidateNarrow is Validate with the narrowed output schema, nil for none.
func (p *Plugin) ValidateNarrow(action string, input any, unknown ...string) ([]sdk.Problem, json.RawMessage) {
	p.t.Helper()
	response, err := p.client.Validate(p.t.Context(), &pluginv1.ValidateRequest{
		Action: action, Input: &pluginv1.Value{Json: encode(p.t, input)}, Unknown: unknown, Recipe: p.recipes[action],
	})
	if err != nil {
		p.t.Fatalf("validate %s: %v", action, err)
	}
	return problems(response.GetDiagnostics()), response.GetOutputSchema()
}

// ItemsNamedBy is what the action says of its items for an input, see sdk.NarrowItems; "" for
// what its description says.
func (p *Plugin) ItemsNamedBy(action string, input any, unknown ...string) string {
	p.t.Helper()
	response, err := p.client.Validate(p.t.Context(), &pluginv1.ValidateRequest{
		Action: action, Input: &pluginv1.Value{Json: encode(p.t, input)}, Unknown: unknown, Recipe: p.recipes[action],
	})
	if err != nil {
		p.t.Fatalf("validate %s: %v", action, err)
	}
	return response.GetPagingIdentity()
}

// ValidateOn is ValidateNarrow by a host that knows the connection: config is what stands
// in it. missing names, as JSON Pointers, the secrets that are not told.
func (p *Plugin) ValidateOn(action string, config any, missing []string, input any, unknown ...string) ([]sdk.Problem, json.RawMessage) {
	p.t.Helper()
	response, err := p.client.Validate(p.t.Context(), &pluginv1.ValidateRequest{
		Action: action, Input: &pluginv1.Value{Json: encode(p.t, input)}, Unknown: unknown,
		Connection: Connection, Config: &pluginv1.Value{Json: encode(p.t, config)}, ConfigUnknown: missing,
	})
	if err != nil {
		p.t.Fatalf("validate %s: %v", action, err)
	}
	return problems(response.GetDiagnostics()), response.GetOutputSchema()
}

// Call runs one attempt of one page. Exactly one of Output, Pending and Err of
// the result is set; an output that does not fit the action's schema fails the
// test.
func (p *Plugin) Call(action string, input any, options ...Option) Result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), callTimeout)
	defer cancel()
	return p.CallContext(ctx, action, input, options...)
}

// CallContext is Call that ends with ctx.
func (p *Plugin) CallContext(ctx context.Context, action string, input any, options ...Option) Result {
	p.t.Helper()
	asked := newRequest(options)
	ctx, named := connect.NewClientContext(ctx)
	named.RequestHeader().Set(handshake.CallKey, asked.key) // what uploads go on by
	stream, err := p.client.Execute(ctx, &pluginv1.ExecuteRequest{
		Action: action, Connection: asked.connection, Input: &pluginv1.Value{Json: encode(p.t, input)}, Run: asked.run(), Blobs: !asked.noBlobs,
		Checkpoint: asked.checkpoint, PageCursor: asked.cursor, Watermark: asked.watermark, PageNote: asked.note, AllPages: asked.allPages,
		Recipe: p.recipes[action],
	})
	if ended := endOfContext(err); ended != nil { // before the request was sent
		return Result{Err: ended}
	}
	if err != nil {
		p.t.Fatalf("execute %s: %v", action, err)
	}
	result := p.collect(action, stream)
	if result.Output != nil {
		p.checkOutput(action, result.Output)
	}
	return result
}

// Reconciled is the answer of an action's ReconcileWith.
type Reconciled struct {
	Applied   sdk.Applied
	Output    json.RawMessage // nil = not known
	Sensitive []string        // JSON Pointers of secret parts of Output
	Note      string
}

// Reconcile asks "did it happen?" of a call with this input, as the host does when
// its answer was lost. It takes the options of that call.
func (p *Plugin) Reconcile(action string, input any, options ...Option) Reconciled {
	p.t.Helper()
	asked := newRequest(options)
	response, err := p.client.Reconcile(p.t.Context(), &pluginv1.ReconcileRequest{
		Action: action, Connection: asked.connection, Input: &pluginv1.Value{Json: encode(p.t, input)}, Run: asked.run(), Checkpoint: asked.checkpoint,
		Recipe: p.recipes[action],
	})
	if err != nil {
		p.t.Fatalf("reconcile %s: %v", action, err)
	}
	return Reconciled{
		Applied: sdk.Applied(response.GetApplied()), Output: response.GetOutput().GetJson(), Sensitive: response.GetOutput().GetSensitive(), Note: response.GetNote(),
	}
}

func (p *Plugin) collect(action string, stream *connect.ServerStreamForClient[pluginv1.ExecuteEvent]) Result {
	p.t.Helper()
	var result Result
	ended := 0
	defer func() { _ = stream.Close() }() // it was read to its end
	for stream.Receive() {
		if ended > 0 {
			p.t.Fatalf("execute %s: an event after the last one: %v", action, stream.Msg())
		}
		if result.add(stream.Msg()) {
			ended++
		}
	}
	if ended := endOfContext(stream.Err()); ended != nil { // without the plugin's last word
		return Result{Err: ended, Logs: result.Logs}
	}
	if err := stream.Err(); err != nil {
		p.t.Fatalf("execute %s: the stream broke: %v", action, err)
	}
	if ended != 1 {
		p.t.Fatalf("execute %s: the stream ended without a last event", action)
	}
	return result
}

// endOfContext is the error of a call whose context ended, nil for any other end.
func endOfContext(err error) *sdk.Error {
	if err == nil {
		return nil
	}
	switch connect.CodeOf(err) {
	case connect.CodeCanceled:
		return &sdk.Error{Code: sdk.CodeCanceled, Message: "the call was canceled"}
	case connect.CodeDeadlineExceeded:
		return &sdk.Error{Code: sdk.CodeTimeout, Message: "no answer in time"}
	}
	return nil
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	if v == nil {
		return []byte("{}")
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// Equal fails the test unless the JSON document is this value.
func Equal(t testing.TB, got json.RawMessage, want any) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal(encode(t, want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("another document:\n got %s\nwant %s", encode(t, g), encode(t, w))
	}
}
