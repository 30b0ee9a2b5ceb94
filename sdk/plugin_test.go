package sdk_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// recorder keeps the events of a call.
type recorder struct {
	events []*pluginv1.ExecuteEvent
	broken bool
}

func (r *recorder) send(event *pluginv1.ExecuteEvent) error {
	r.events = append(r.events, event)
	if r.broken {
		return errors.New("the host is gone")
	}
	return nil
}

func TestBrokenStreamEndsTheCall(t *testing.T) {
	server, err := sdk.NewServer(doer(), sdk.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	stream := &recorder{broken: true}
	request := &pluginv1.ExecuteRequest{Action: "do", Input: &pluginv1.Value{Json: []byte(`{"what":"panic"}`)}}
	if err := server.Run(t.Context(), request, stream.send); err == nil || len(stream.events) != 2 {
		t.Errorf("%v after %d events", err, len(stream.events))
	}
}

func TestMessageLimit(t *testing.T) {
	server, err := sdk.NewServer(doer(), sdk.ServerOptions{MessageLimit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	stream := &recorder{}
	if err := server.Run(t.Context(), &pluginv1.ExecuteRequest{Action: "do", Input: &pluginv1.Value{Json: []byte(`{"what":"large"}`)}}, stream.send); err != nil {
		t.Fatal(err)
	}
	if completed := stream.events[0].GetCompleted(); len(completed.GetOutput().GetJson()) < 9<<20 {
		t.Errorf("a host that takes 64 MiB got %v", stream.events[0].GetFailed())
	}
}

func read(*sdk.Call[serverConfig], doIn) (doOut, error) { return doOut{}, nil }

func TestNewFindsMistakes(t *testing.T) {
	other := func(*sdk.Call[struct{}], doIn) (doOut, error) { return doOut{}, nil }
	scalar := func(*sdk.Call[serverConfig], string) (doOut, error) { return doOut{}, nil }
	for want, p := range map[string]*sdk.Plugin{
		`plugin name "Bad Name"`:                       sdk.New("Bad Name", "1", ""),
		`plugin p has no version`:                      sdk.New("p", "", ""),
		`action "a" is declared twice`:                 sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Read("a", "", read)),
		`action name "A"`:                              sdk.New("p", "1", "", sdk.Read("A", "", read)),
		`a plugin has one config type`:                 sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Read("b", "", other)),
		`its input must be a struct`:                   sdk.New("p", "1", "", sdk.Read("a", "", scalar)),
		`limiter "l" is not declared`:                  sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.Limits("l"))),
		`limiter "l" is declared twice`:                sdk.New("p", "1", "", sdk.Limit("l", 1, time.Second), sdk.Limit("l", 1, time.Second)),
		`0 requests in 0s is no limit`:                 sdk.New("p", "1", "", sdk.Limit("l", 0, 0)),
		`scope field "zone" is not in the config`:      sdk.New("p", "1", "", sdk.Limit("l", 1, time.Second, sdk.Scope("zone"))),
		`cursor field "cursor" is not a field`:         sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.Paged("cursor", "", "next"))),
		`range field "from" is not a field`:            sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.RangeMax("from", "what", time.Hour))),
		`is not whole hours`:                           sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.RangeMax("what", "what", time.Minute))),
		`token action "t" is not an action`:            sdk.New("p", "1", "", sdk.TokenAction("t")),
		`the login's start "s" is not an action`:       sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Login{Start: "s", Wait: "a"}),
		`the login's wait "" is not an action`:         sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Login{Start: "a"}),
		`the delivery's action "s" is not an action`:   sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Delivery{Action: "s", Content: "t"}),
		`the delivery's action "a" is a read`:          sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Delivery{Action: "a", Content: "t"}),
		`the delivery names no input`:                  sdk.New("p", "1", "", sdk.Once("a", "", read), sdk.Delivery{Action: "a"}),
		`the login's revoke "r" is not an action`:      sdk.New("p", "1", "", sdk.Read("a", "", read), sdk.Login{Start: "a", Wait: "a", Revoke: "r"}),
		`the simulator has no program`:                 sdk.New("p", "1", "", sdk.Simulator("")),
		`default base URL: must start with http`:       sdk.New("p", "1", "", sdk.BaseURL("ftp://x")),
		`example e: invalid: there is no field`:        sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.Example("e", map[string]any{"what": "x", "no": 1}, nil))),
		`ValidateWith takes int, the action takes`:     sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.ValidateWith(func(int, []string) []sdk.Problem { return nil }))),
		`NarrowWith takes int, the action takes`:       sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.NarrowWith(func(int, []string) json.RawMessage { return nil }))),
		`schema type "text" is not a JSON type`:        sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.Output(json.RawMessage(`{"type":"text"}`)))),
		`ReconcileWith has other types than the actio`: sdk.New("p", "1", "", sdk.Read("a", "", read, sdk.ReconcileWith(func(*sdk.Call[serverConfig], doIn) (sdk.Reconciled[int], error) { return sdk.Reconciled[int]{}, nil }))),
	} {
		err := p.Err()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if _, serveErr := sdk.NewServer(p, sdk.ServerOptions{}); serveErr == nil {
			t.Errorf("%q is served", want)
		}
	}
}

// wire is a client of what the harness has no method for.
func wire(p *sdktest.Plugin) pluginv1connect.PluginClient {
	return pluginv1connect.NewPluginClient(p.Client(), "http://plugin", connect.WithGRPC())
}

// wireDescription is what a host gets.
func wireDescription(t *testing.T, p *sdktest.Plugin) *pluginv1.DescribeResponse {
	t.Helper()
	described, err := wire(p).Describe(t.Context(), &pluginv1.DescribeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return described
}

func TestDescribe(t *testing.T) {
	type pageIn struct {
		From   time.Time `json:"from"`
		To     time.Time `json:"to"`
		Cursor *string   `json:"cursor"`
	}
	list := func(*sdk.Call[httpConfig], pageIn) ([]string, error) { return nil, nil }
	open := func() *sdktest.Plugin {
		return sdktest.Open(t, sdk.New("p", "1.0.0", "A plugin",
			sdk.BaseURL("https://api.example.com/"), sdk.Hosts("cdn.example.com"), sdk.Env("P_DEBUG"), sdk.TokenAction("list"), sdk.Login{Start: "list", Wait: "list", Scopes: []string{"all"}}, sdk.Delivery{Action: "list", Content: "cursor", Title: "t"}, sdk.Simulator("p-sim", "--quiet"),
			sdk.Limit("all", 60, time.Minute, sdk.FixedWindow(), sdk.MaxConcurrent(4), sdk.Scope("base_url", "token")),
			sdk.Idempotent("list", "List", list, sdk.Limits("all"), sdk.Paged("cursor", "", "next"), sdk.RangeMax("from", "to", 48*time.Hour),
				sdk.Incremental(), sdk.Timeout(time.Minute), sdk.Deprecated("use other"), sdk.Fault(sdk.CodeNotFound, "gone", "It is gone"),
				sdk.Example("a day", map[string]any{"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}, []string{"x"}), sdk.Output(json.RawMessage(`{"type": "array"}`))),
		), nil)
	}
	described := wireDescription(t, open())
	const want = `name:"p" version:"1.0.0"`
	text := strings.Join(strings.Fields(described.String()), " ")
	for _, part := range []string{
		want, `effect:EFFECT_IDEMPOTENT`, `default_timeout:{seconds:60}`, `limiters:"all"`, `cursor_field:"cursor"`, `max:{seconds:172800}`, `incremental:true`,
		`deprecated:"use other"`, `code:CODE_NOT_FOUND`, `fixed_window:true max_concurrent:4 scope:"base_url" scope:"token"`, `env:"P_DEBUG" hosts:"cdn.example.com"`,
		`token_action:"list"`, `login:{start:"list" wait:"list" scopes:"all"}`, `delivery:{action:"list" content:"cursor" title:"t"}`, `simulator:"p-sim" simulator:"--quiet"`, `output_schema:"{\"type\": \"array\"}"`, `\"default\":\"https://api.example.com/\"`, `sdk:"go/`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the description lacks %s:\n%s", part, text)
		}
	}
	if strings.Contains(string(described.GetConfigSchema()), `"required"`) {
		t.Errorf("base_url has a default and is required: %s", described.GetConfigSchema())
	}
	if again := wireDescription(t, open()).String(); strings.Join(strings.Fields(again), " ") != text {
		t.Error("the same plugin describes itself in another way")
	}
}
