package auth

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// effects are those of the table of actions.
var effects = map[string]string{
	"device_start": "idempotent", "device_poll": "idempotent", "device_wait": "idempotent",
	"token": "read", "refresh": "idempotent", "revoke": "idempotent", "status": "read",
	"resource_get": "read", "deployments_list": "read", "scim_users_list": "read",
}

func TestPluginIsSound(t *testing.T) {
	if err := New().Err(); err != nil {
		t.Fatal(err)
	}
	for _, a := range sdktest.Serve(t, New()).Describe().Actions {
		if len(a.Examples) == 0 || len(a.Faults) < 3 || a.Doc == "" {
			t.Errorf("action %s lacks examples, faults or doc", a.Name)
		}
	}
}

func TestA59_TenActionsAndNoMore(t *testing.T) {
	got := map[string]string{}
	for _, a := range sdktest.Serve(t, New()).Describe().Actions {
		got[a.Name] = a.Effect
	}
	if diff := cmp.Diff(effects, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestInputsAndOutputsAreThoseOfTheTable(t *testing.T) {
	p := sdktest.Serve(t, New())
	for action, want := range map[string][2]string{
		"device_start":     {"scopes", "expires_at flow_id interval_s user_code verification_url verification_url_display"},
		"device_poll":      {"flow_id", "missing_scopes scopes state wait_s"},
		"device_wait":      {"flow_id restart", "expires_at missing_scopes scopes state"},
		"token":            {"min_ttl_s", "expires_at refreshed scopes token token_type"},
		"refresh":          {"", "expires_at scopes"},
		"revoke":           {"forget which", "revoked"},
		"status":           {"", "expires_at refresh_expires_at renewable scopes state"},
		"resource_get":     {"headers token_in url", "body headers status"},
		"deployments_list": {"credential", "response"},
		"scim_users_list":  {"count scim_scheme start_index", "next_cursor response total users"},
	} {
		a := p.Action(action)
		got := [2]string{names(t, a.Input), names(t, a.Output)}
		if got != want {
			t.Errorf("%s has %v, want %v", action, got, want)
		}
	}
}

// names returns the properties of a schema, sorted.
func names(t *testing.T, schema []byte) string {
	t.Helper()
	var s struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal(s.Properties) // sorts them
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	var list []string
	_, _ = decoder.Token()
	for decoder.More() {
		name, _ := decoder.Token()
		list = append(list, name.(string))
		var skipped json.RawMessage
		_ = decoder.Decode(&skipped)
	}
	return strings.Join(list, " ")
}

func TestA01_URLsOfTheAuthorizationServer(t *testing.T) {
	p := sdktest.Serve(t, New())
	for _, setting := range []string{"auth_url", "issuer", "device_authorization_endpoint", "token_endpoint", "revocation_endpoint"} {
		for _, bad := range []string{"auth.example", "http://auth.example", "http://127.0.0.1.example", "https://u:p@auth.example", "https://auth.example?x=1", "ftp://127.0.0.1", "https://auth.example#f"} {
			if problems := p.Connect("c", in{setting: bad}); len(problems) != 1 || problems[0].Pointer != "/"+setting {
				t.Errorf("%s %q: %v", setting, bad, problems)
			}
		}
		for _, good := range []string{"https://auth.example", "https://auth.example/oauth2/", "http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:8080"} {
			if problems := p.Connect("c", in{setting: good}); len(problems) != 0 {
				t.Errorf("%s %q: %v", setting, good, problems)
			}
		}
	}
	if problems := p.Connect("c", nil); len(problems) != 0 {
		t.Errorf("a connection without settings: %v", problems)
	}
}

func TestOtherSettings(t *testing.T) {
	p := sdktest.Serve(t, New())
	for name, tt := range map[string]struct {
		config  in
		pointer string
	}{
		"a place for the secret":  {in{"client_auth": "header"}, "/client_auth"},
		"a place for the token":   {in{"revoke_token_in": "header"}, "/revoke_token_in"},
		"a base_url":              {in{"base_url": "https://x.example"}, "/base_url"},
		"a scope of two words":    {in{"scopes": []string{"a", "b c"}}, "/scopes/1"},
		"a proxy":                 {in{"proxy": "nowhere"}, "/proxy"},
		"a file that isn't there": {in{"ca_file": "/nowhere/ca.pem"}, "/ca_file"},
	} {
		if problems := p.Connect("c", tt.config); len(problems) != 1 || problems[0].Pointer != tt.pointer {
			t.Errorf("%s: %v", name, problems)
		}
	}
	for _, host := range []string{"", "https://api.example.com", "api.example.com/me", "a b", "*.example.com", "host:port", "u@host"} {
		if problems := p.Connect("c", in{"allow_hosts": []string{"ok.example", host}}); len(problems) != 1 || problems[0].Pointer != "/allow_hosts/1" {
			t.Errorf("allow_hosts %q: %v", host, problems)
		}
	}
	for _, host := range []string{"api.example.com", "api.example.com:8443", "127.0.0.1", "::1", "[::1]", "[::1]:8443", "localhost:1"} {
		if problems := p.Connect("c", in{"allow_hosts": []string{host}}); len(problems) != 0 {
			t.Errorf("allow_hosts %q: %v", host, problems)
		}
	}
	if problems := p.Connect("c", in{"client_auth": "none", "client_secret": "never sent"}); len(problems) != 1 || !problems[0].Warning {
		t.Errorf("a secret that is never sent: %v", problems)
	}
}

func TestA05_EndpointsOfTheirOwn(t *testing.T) {
	w := open(t, authsim.Options{}, in{
		"auth_url": nil, "device_authorization_endpoint": "{url}/device/code", "token_endpoint": "{url}/token", "revocation_endpoint": "{url}/revoke",
	})
	w.login()
	output(t, w.Call("refresh", nil))
	output(t, w.Call("revoke", nil))
	if w.count("") != 4 { // no discovery
		t.Errorf("sent %+v", w.all())
	}
}

func TestA05_DiscoveryOnlyWithAnIssuer(t *testing.T) {
	for name, missing := range map[string]bool{"openid": false, "rfc8414": true} {
		w := open(t, authsim.Options{Quirks: authsim.Quirks{DiscoveryIsMissing: missing}}, in{"auth_url": nil, "issuer": "{url}/"})
		w.login()
		output(t, w.Call("refresh", nil))
		output(t, w.Call("revoke", nil))
		asked := w.count("/.well-known/openid-configuration") + w.count("/.well-known/oauth-authorization-server")
		if want := map[bool]int{false: 1, true: 2}[missing]; asked != want {
			t.Errorf("%s: %d requests for metadata, want %d", name, asked, want)
		}
	}
	w := open(t, authsim.Options{}, nil)
	w.login()
	if w.count("") != 2 {
		t.Errorf("without an issuer: %+v", w.all())
	}
}

func TestA05_MetadataThatIsNotBelieved(t *testing.T) {
	for name, body := range map[string]string{
		"of another issuer":      `{"issuer":"https://evil.example","token_endpoint":"https://evil.example/token"}`,
		"without an issuer":      `{"token_endpoint":"https://evil.example/token"}`,
		"an endpoint over http":  `{"issuer":"{url}","device_authorization_endpoint":"http://evil.example/device"}`,
		"an endpoint of no kind": `{"issuer":"{url}","device_authorization_endpoint":"/device"}`,
		"no JSON":                `<html>`,
	} {
		w := open(t, authsim.Options{}, in{"auth_url": nil, "issuer": "{url}"})
		w.answer(200, strings.ReplaceAll(body, "{url}", w.url))
		if e := fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeUnexpectedResponse, ""); e.Applied != sdk.NotApplied {
			t.Errorf("%s: %+v", name, e)
		}
		if w.count("") != 1 {
			t.Errorf("%s: sent %+v", name, w.all())
		}
	}
	w := open(t, authsim.Options{}, in{"auth_url": nil, "issuer": "{url}"})
	w.answer(200, `{"issuer":`+quote(w.url)+`}`)
	if e := fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeInvalid, ""); !strings.Contains(e.Message, "device_authorization_endpoint") {
		t.Errorf("got %v", e)
	}
}

func TestClientAuth(t *testing.T) {
	w := open(t, authsim.Options{Quirks: authsim.Quirks{BasicAuth: true}}, in{"client_auth": "basic"})
	w.login()
	if got := w.last(); got.form(t).Has("client_secret") || !strings.HasPrefix(got.header.Get("Authorization"), "Basic ") {
		t.Errorf("sent %+v", got)
	}
	output(t, w.Call("refresh", nil))

	// a server that takes the secret in the form while it is pending, and refuses after approval
	w = open(t, authsim.Options{Quirks: authsim.Quirks{LateClientCheck: true}}, nil)
	flow := w.start()
	r := w.wait(in{"flow_id": flow["flow_id"]}, func(p *sdk.Pending) { _ = w.sim.Approve(p.Prompt.UserCode) })
	if e := fails(t, r, sdk.CodeInvalid, "invalid_client"); !strings.Contains(e.Hint, "client_auth") {
		t.Errorf("hint %q", e.Hint)
	}

	w = open(t, authsim.Options{}, in{"client_auth": "none"})
	w.start()
	w.clock.pass(5e9)
	w.poll(w.start())
	if w.last().form(t).Has("client_secret") {
		t.Errorf("sent %+v", w.last())
	}
}

func TestQuirksOfOtherServers(t *testing.T) {
	w := open(t, authsim.Options{PendingStatus: 400, Rotate: true, Quirks: authsim.Quirks{
		SlowDownStatus: 400, VerificationURI: true, NoInterval: true, NoScope: true, TokenType: "bearer", MixedCaseCodes: true, RevokeUnknownIsOK: true,
	}}, nil)
	flow := w.start()
	if flow["interval_s"] != 5.0 {
		t.Errorf("without interval: %v", flow)
	}
	n := 0
	r := w.wait(in{"flow_id": flow["flow_id"]}, func(p *sdk.Pending) {
		if n++; n == 3 {
			_ = w.sim.Approve(p.Prompt.UserCode)
		}
	})
	output(t, r)
	output(t, w.Call("refresh", nil))
	w.sim.RevokeAll()
	if out := output(t, w.Call("revoke", nil)); out["revoked"] != true {
		t.Errorf("revoke: %v", out)
	}
}

func TestCheckConnection(t *testing.T) {
	w := open(t, authsim.Options{}, nil)
	if _, e := w.CheckConnection(); e != nil || w.count("/api/v1/deployments") != 1 || w.count("/api/scim/v2/Users") != 1 || w.count("") != 2 {
		t.Errorf("got %v after %+v", e, w.all())
	}
	w.reconnect(in{"scim_token": "wrong"})
	if _, e := w.CheckConnection(); e == nil || e.Code != sdk.CodeUnauthorized {
		t.Errorf("a wrong token: %v", e)
	}
	w.reconnect(in{"scim_token": nil, "api_key": nil})
	before := w.count("")
	if _, e := w.CheckConnection(); e == nil || e.Code != sdk.CodeAuthRequired || !strings.Contains(e.Hint, "connections login") {
		t.Errorf("without a login: %v", e)
	}
	if w.count("") != before {
		t.Error("something was sent")
	}
	w.login()
	if _, e := w.CheckConnection(); e != nil {
		t.Errorf("with a login: %v", e)
	}
	if why, not := w.NotTried(); !not || why != "the login is stored, and nothing can try it without using it" {
		t.Errorf("with a login alone: %t, %q", not, why)
	}
	w.reconnect(in{"auth_url": nil, "issuer": "{url}"})
	before = w.count("")
	if why, not := w.NotTried(); not || w.count("") != before+1 || w.count("/.well-known/openid-configuration") != 1 {
		t.Errorf("with an issuer: %t, %q, sent %+v", not, why, w.all())
	}
	w.answer(503, "down")
	if _, e := w.CheckConnection(); e == nil || e.Code != sdk.CodeUnavailable {
		t.Errorf("an issuer that is down: %v", e)
	}
	w.reconnect(in{"issuer": nil, "auth_url": "{url}"})
	w.reconnect(in{"client_id": nil, "auth_url": nil})
	w.Host().SetToken(sdktest.Connection, "", sdk.Token{})
	if _, e := w.CheckConnection(); e == nil || e.Code != sdk.CodeInvalid {
		t.Errorf("without any credential: %v", e)
	}
}

func TestExamplesWork(t *testing.T) {
	w := open(t, authsim.Options{}, in{"allow_hosts": []string{"api.example.com"}})
	w.login()
	for _, a := range w.Describe().Actions {
		for _, e := range a.Examples {
			var input in
			if err := json.Unmarshal(e.Input, &input); err != nil {
				t.Fatal(err)
			}
			if problems := w.Validate(a.Name, input); len(problems) != 0 {
				t.Errorf("%s, %s: %v", a.Name, e.Name, problems)
			}
		}
	}
}

func TestCAFileIsNeeded(t *testing.T) {
	w := open(t, authsim.Options{}, in{"ca_file": nil})
	e := fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeUnavailable, "")
	if !strings.Contains(e.Hint, "ca_file") || strings.Contains(e.Hint, "base_url") || e.Applied != sdk.NotApplied {
		t.Errorf("got %+v", e)
	}
}
