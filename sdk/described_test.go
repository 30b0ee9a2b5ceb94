package sdk_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/flowrun/flowrun/sdk"
	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
	"github.com/flowrun/flowrun/sdk/proto/pluginv1/pluginv1connect"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type routesSettings struct {
	Routes string `json:"routes" format:"project-file"`
	Auth   string `json:"auth" enum:"none,key" default:"none"`
}

// routesPlugin has an action for each line of a file: its name, its path. Its config has a
// key where the settings say so.
func routesPlugin() *sdk.Plugin {
	return sdk.New("routes", "1.0.0", "Routes of a file", sdk.Described[routesSettings, sdk.Value]{
		Describe: func(told sdk.Told[routesSettings]) (sdk.Manifest, error) {
			file, _ := told.File("/routes")
			m := sdk.Manifest{
				Config: sdk.Value(`{"type":"object","properties":{"base_url":{"type":"string"}},"required":["base_url"],"additionalProperties":false}`), Recipe: []byte(told.Settings.Auth),
				Parts: []sdk.Part{sdk.Limit("api", 5, 1e9)},
			}
			if told.Settings.Auth == "key" {
				m.Config = sdk.Value(`{"type":"object","properties":{"base_url":{"type":"string"},"key":{"type":"string","writeOnly":true}},"required":["base_url","key"],"additionalProperties":false}`)
			}
			paths := map[string]string{}
			for line := range strings.Lines(string(file.Content)) {
				name, path, ok := strings.Cut(strings.TrimSpace(line), " ")
				switch {
				case name == "panic":
					panic("oh no")
				case !ok:
					m.Warnings = append(m.Warnings, sdk.Warningf("/routes", "%s: %s is left out", file.Path, name))
					continue
				}
				paths[name] = path
				m.Actions = append(m.Actions, sdk.Entry{Name: name, Doc: "Route " + path, Effect: sdk.EffectRead, Options: []sdk.ActionOption{sdk.Limits("api"), sdk.Paged("cursor", "items", "next")}})
			}
			m.Action = func(name string) (sdk.ActionBody, error) {
				if paths[name] == "broken" {
					return sdk.ActionBody{}, errors.New("nobody can describe it")
				}
				return sdk.ActionBody{
					Input:  sdk.Value(`{"type":"object","properties":{"cursor":{"type":"string"},"size":{"type":"integer","default":7},"deep":{"type":"object","properties":{"on":{"type":"boolean","default":true}}}},"additionalProperties":false}`),
					Output: sdk.Value(`{"type":"object","properties":{"items":{"type":"array"},"next":{"type":"string"},"path":{"type":"string"},"input":{"type":"object"},"auth":{"type":"string"}},"required":["items"]}`),
					Recipe: []byte(paths[name]), Options: []sdk.ActionOption{sdk.Example("all", sdk.Value(`{"size":3}`), nil), sdk.Fault(sdk.CodeNotFound, "gone", "There is none")},
				}, nil
			}
			return m, nil
		},
		Execute: func(c *sdk.Call[sdk.Value], recipe []byte, input sdk.Value) (sdk.Value, error) {
			if string(recipe) == "wrong" {
				return sdk.Value(`{"items": "none"}`), nil
			}
			return json.Marshal(map[string]any{"items": []any{}, "path": string(recipe), "input": input, "auth": string(c.Recipe()), "config": c.Config})
		},
		Validate: func(recipe []byte, input sdk.Value, _ []string) ([]sdk.Problem, sdk.Value) {
			if strings.Contains(string(input), `"size":13`) {
				return []sdk.Problem{sdk.Problemf("/size", "not on %s", recipe)}, nil
			}
			return nil, sdk.Value(`{"type":"object","properties":{"items":{"type":"array"}},"required":["items"]}`)
		},
		ValidateConfig: func(recipe []byte, config sdk.Value) []sdk.Problem {
			if strings.Contains(string(config), "refused") {
				return []sdk.Problem{sdk.Problemf("/base_url", "refused for auth %s", recipe)}
			}
			return nil
		},
		Reconcile: func(_ *sdk.Call[sdk.Value], recipe []byte, _ sdk.Value) (sdk.Reconciled[sdk.Value], error) {
			return sdk.Reconciled[sdk.Value]{Applied: sdk.AppliedFully, Note: string(recipe)}, nil
		},
	})
}

func routes(text, auth string) sdktest.Told {
	return sdktest.Told{Name: "crm-eu", Settings: map[string]any{"routes": "routes.txt", "auth": auth}, Files: map[string]string{"/routes": text}}
}

func TestIssue16_1_ADescribedPlugin(t *testing.T) {
	t.Parallel()
	p := sdktest.OpenTold(t, routesPlugin(), routes("users /users\nlonely\n", "key"), map[string]any{"base_url": "https://crm.example/", "key": "k-123456"})
	d := p.Describe()
	if d.Name != "crm-eu" || len(d.Actions) != 1 || len(d.Limiters) != 1 || strings.Join(d.Features, " ") != "reconcile execute_stream settings index" {
		t.Errorf("%+v", d)
	}
	if len(d.Problems) != 1 || !d.Problems[0].Warning || d.Problems[0].Pointer != "/routes" || !strings.Contains(d.Problems[0].Summary, "lonely") {
		t.Errorf("what it leaves out: %+v", d.Problems)
	}
	if a := p.Action("users"); a.Paging == nil || a.Paging.Identity != "*" || len(a.Limiters) != 1 || len(a.Examples) != 1 || len(a.Faults) != 1 {
		t.Errorf("%+v", a)
	}
	result := p.Call("users", map[string]any{"deep": map[string]any{}})
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	sdktest.Equal(t, result.Output, map[string]any{
		"items": []any{}, "path": "/users", "auth": "key", "input": map[string]any{"size": 7, "deep": map[string]any{"on": true}},
		"config": map[string]any{"base_url": "https://crm.example", "key": "k-123456"},
	})
	problems, narrowed := p.ValidateNarrow("users", map[string]any{"size": 13})
	if len(problems) != 1 || problems[0].Summary != "not on /users" || narrowed != nil {
		t.Errorf("%+v", problems)
	}
	if problems, narrowed = p.ValidateNarrow("users", nil); len(problems) != 0 || narrowed == nil {
		t.Errorf("%+v %s", problems, narrowed)
	}
	if problems := p.Validate("users", map[string]any{"sise": 1}); len(problems) != 1 || problems[0].Pointer != "/sise" {
		t.Errorf("%+v", problems)
	}
	if problems := p.Connect("other", map[string]any{"base_url": "https://refused.example", "key": "k"}); len(problems) != 1 || problems[0].Summary != "refused for auth key" {
		t.Errorf("%+v", problems)
	}
	if problems := p.Connect("other", map[string]any{"base_url": "https://crm.example"}); len(problems) != 1 || problems[0].Pointer != "/key" {
		t.Errorf("%+v", problems)
	}
	if r := p.Reconcile("users", nil); r.Applied != sdk.AppliedFully || r.Note != "/users" {
		t.Errorf("%+v", r)
	}
}

func TestIssue16_1_AnAnswerThatBreaksItsDescription(t *testing.T) {
	t.Parallel()
	p := sdktest.OpenTold(t, routesPlugin(), routes("users wrong\n", "none"), map[string]any{"base_url": "https://crm.example"})
	result := p.Call("users", nil)
	if result.Err == nil || result.Err.Code != sdk.CodeUnexpectedResponse || result.Err.Applied != sdk.NotApplied || !strings.Contains(result.Err.Message, "users") {
		t.Errorf("%+v", result.Err)
	}
}

func TestIssue16_1_SettingsAreHeldAgainstTheirSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings map[string]any
		pointer  string
	}{
		"a word that is none": {map[string]any{"routes": "r", "auth": "kee"}, "/auth"},
		"another name":        {map[string]any{"routes": "r", "rutes": "r"}, "/rutes"},
		"what is missing":     {map[string]any{}, "/routes"},
	} {
		d := sdktest.Tell(t, routesPlugin(), sdktest.Told{Settings: c.settings}).Describe()
		if len(d.Problems) != 1 || d.Problems[0].Warning || d.Problems[0].Pointer != c.pointer || len(d.Actions) != 0 {
			t.Errorf("%s: %+v", name, d.Problems)
		}
	}
}

// client reaches the plugin's service past the harness.
func client(p *sdktest.Plugin) pluginv1connect.PluginClient {
	return pluginv1connect.NewPluginClient(p.Client(), "http://plugin", connect.WithGRPC())
}

func TestIssue16_1_WhatComesWithoutItsRecipeIsRefused(t *testing.T) {
	t.Parallel()
	p := sdktest.Serve(t, routesPlugin())
	raw := client(p)
	for name, recipe := range map[string][]byte{"none": nil, "one of another plugin": []byte("\xff\xff"), "one of another action": {0x0a, 0x01, 'x'}} {
		if _, err := raw.Validate(t.Context(), &pluginv1.ValidateRequest{Action: "users", Recipe: recipe}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
			t.Errorf("%s: %v", name, err)
		}
	}
	settings := &pluginv1.Settings{
		Value: &pluginv1.Value{Json: []byte(`{"routes":"r"}`)}, Files: []*pluginv1.SettingsFile{{Pointer: "/routes", Path: "r", Content: []byte("users /users\nbad broken\n")}},
	}
	for name, want := range map[string]string{"none": `the index has no action "none"`, "bad": "nobody can describe it"} {
		_, err := raw.DescribeActions(t.Context(), &pluginv1.DescribeActionsRequest{Name: "crm", Settings: settings, Actions: []string{name}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	settings.Files[0].Content = []byte("panic\n")
	if _, err := raw.Describe(t.Context(), &pluginv1.DescribeRequest{Name: "crm", Settings: settings}); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a panic: %v", err)
	}
	if _, err := raw.Describe(t.Context(), &pluginv1.DescribeRequest{}); err != nil {
		t.Errorf("after the panic: %v", err)
	}
	if _, err := client(sdktest.Serve(t, sdk.New("plain", "1.0.0", "", sdk.Read("a", "", func(*sdk.Call[struct{}], struct{}) (struct{}, error) { return struct{}{}, nil })))).
		DescribeActions(t.Context(), &pluginv1.DescribeActionsRequest{}); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("a plugin without an index: %v", err)
	}
}

func TestIssue16_1_MistakesOfAnAuthor(t *testing.T) {
	t.Parallel()
	type secretSettings struct {
		Key string `json:"key" secret:"true"`
	}
	describe := func(sdk.Told[struct{}]) (sdk.Manifest, error) { return sdk.Manifest{}, nil }
	execute := func(*sdk.Call[struct{}], []byte, sdk.Value) (sdk.Value, error) { return nil, nil }
	described := sdk.Described[struct{}, struct{}]{Describe: describe, Execute: execute}
	for want, parts := range map[string][]sdk.Part{
		"has no actions besides":   {described, sdk.Read("a", "", func(*sdk.Call[struct{}], struct{}) (struct{}, error) { return struct{}{}, nil })},
		"Described twice":          {described, described},
		"needs Describe and":       {sdk.Described[struct{}, struct{}]{Describe: describe}},
		"parts of its manifest":    {described, sdk.TokenAction("token")},
		"settings: they have secr": {sdk.Described[secretSettings, struct{}]{Describe: func(sdk.Told[secretSettings]) (sdk.Manifest, error) { return sdk.Manifest{}, nil }, Execute: execute}},
	} {
		if err := sdk.New("p", "1.0.0", "", parts...).Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestIssue16_1_ATypedConfigOfADescribedPlugin(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	defer service.Close()
	plugin := sdk.New("typed", "1.0.0", "", sdk.Described[struct{}, sdk.HTTPSettings]{
		Describe: func(sdk.Told[struct{}]) (sdk.Manifest, error) {
			return sdk.Manifest{Actions: []sdk.Entry{{Name: "ask", Effect: sdk.EffectRead}}, Action: func(string) (sdk.ActionBody, error) {
				return sdk.ActionBody{Input: sdk.Value(`{"type":"object"}`), Output: sdk.Value(`{"type":"object"}`)}, nil
			}}, nil
		},
		Execute: func(c *sdk.Call[sdk.HTTPSettings], _ []byte, _ sdk.Value) (out sdk.Value, err error) {
			err = c.HTTP().GetJSON("/", nil, &out)
			return out, err
		},
	})
	p := sdktest.OpenTold(t, plugin, sdktest.Told{}, map[string]any{"base_url": service.URL + "/"})
	if result := p.Call("ask", nil); result.Err != nil {
		t.Error(result.Err)
	}
}
