package auth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/plugins/auth/authsim"
	"github.com/flowrun/flowrun/sdk"
)

// placeOf tells where a request has the client's secret.
func (s sent) placeOf(t *testing.T) string {
	t.Helper()
	switch {
	case strings.HasPrefix(s.header.Get("Authorization"), "Basic ") && s.form(t).Get("client_secret") == "":
		return authBasic
	case s.header.Get("Authorization") == "" && s.form(t).Get("client_secret") != "":
		return authBody
	case s.header.Get("Authorization") == "":
		return authNone
	}
	return "both"
}

// places lists how the client authenticated at a path, request by request.
func (w *world) places(path string) string {
	w.t.Helper()
	var places []string
	for _, r := range w.all() {
		if r.path == path {
			places = append(places, r.placeOf(w.t))
		}
	}
	return strings.Join(places, " ")
}

// TestIssue12_08_AConfidentialClientLogsIn goes through login, renewal and
// revocation at servers that authenticate the client at each endpoint.
func TestIssue12_08_AConfidentialClientLogsIn(t *testing.T) {
	basic, post := []string{"client_secret_basic"}, []string{"client_secret_post"}
	both := []string{"client_secret_post", "private_key_jwt", "client_secret_basic"}
	for name, tt := range map[string]struct {
		quirks   authsim.Quirks
		config   in
		metadata in

		device, token, revoke string // where the secret was, request by request
	}{
		"as documented": {authsim.Quirks{}, nil, nil, "none", "body body", "none"},
		"without metadata": {authsim.Quirks{BodyAuth: true, ClientAlways: true}, in{"revoke_token_in": "body"}, nil,
			"none body", "body body", "body"},
		"without metadata, client_auth body": {authsim.Quirks{ClientAlways: true}, in{"client_auth": "body", "revoke_token_in": "body"}, nil,
			"none body", "body body", "body"},
		"without metadata, client_auth basic": {authsim.Quirks{BasicAuth: true, ClientAlways: true}, in{"client_auth": "basic"}, nil,
			"basic", "basic basic", "basic"},
		"metadata says nothing": {authsim.Quirks{BasicAuth: true}, in{"issuer": "{url}"}, in{}, "basic", "basic basic", "basic basic"},
		"metadata says Basic": {authsim.Quirks{BasicAuth: true}, in{"issuer": "{url}"}, in{"token_endpoint_auth_methods_supported": basic},
			"basic", "basic basic", "basic basic"},
		"metadata says the form": {authsim.Quirks{BodyAuth: true}, in{"issuer": "{url}"},
			in{"token_endpoint_auth_methods_supported": post, "revocation_endpoint_auth_methods_supported": post}, "body", "body body", "body body"},
		"the form, and nothing of revocation": {authsim.Quirks{BodyAuth: true}, in{"issuer": "{url}"}, in{"token_endpoint_auth_methods_supported": post},
			"body", "body body", "basic body body"},
		"both, and the client is of Basic": {authsim.Quirks{BasicAuth: true}, in{"issuer": "{url}"}, in{"token_endpoint_auth_methods_supported": both},
			"basic", "basic basic", "basic basic"},
		"both, and the client is of the form": {authsim.Quirks{BodyAuth: true}, in{"issuer": "{url}"}, in{"token_endpoint_auth_methods_supported": both},
			"basic body", "basic body body", "basic body body"},
		"both, and client_auth says the form": {authsim.Quirks{BodyAuth: true}, in{"issuer": "{url}", "client_auth": "body"},
			in{"token_endpoint_auth_methods_supported": both}, "body", "body body", "body body"},
		"client_auth is not in the metadata": {authsim.Quirks{BasicAuth: true}, in{"issuer": "{url}", "client_auth": "body"},
			in{"token_endpoint_auth_methods_supported": basic, "revocation_endpoint_auth_methods_supported": basic}, "basic", "basic basic", "basic basic"},
		"one for each": {authsim.Quirks{}, in{"issuer": "{url}"},
			in{"token_endpoint_auth_methods_supported": post, "revocation_endpoint_auth_methods_supported": basic}, "body", "body body", "basic basic"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.quirks.ClientAlways = tt.quirks.ClientAlways || tt.metadata != nil
			w := open(t, authsim.Options{Quirks: tt.quirks, Metadata: tt.metadata}, tt.config)
			w.login()
			output(t, w.Call("refresh", nil))
			if out := output(t, w.Call("revoke", nil)); out["revoked"] != true || w.sim.Live() != 0 {
				t.Errorf("revoke: %v", out)
			}
			for path, want := range map[string]string{"/device/code": tt.device, "/token": tt.token, "/revoke": tt.revoke} {
				if got := w.places(path); got != want {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
			if last := w.last(); tt.metadata != nil && (last.query != "" || last.form(t).Get("token") == "") {
				t.Errorf("the revocation is not that of RFC 7009: %+v", last)
			}
		})
	}
}

// TestIssue12_08_AWrongSecretIsSaid: the retry does not hide what is wrong.
func TestIssue12_08_AWrongSecretIsSaid(t *testing.T) {
	w := open(t, authsim.Options{Quirks: authsim.Quirks{ClientAlways: true}}, in{"client_secret": "canary-wrong-secret"})
	r := w.Call("device_start", in{"scopes": scopes})
	if e := fails(t, r, sdk.CodeInvalid, "invalid_client"); !strings.Contains(e.Hint, "client_secret") || strings.Contains(texts(r), "canary") {
		t.Errorf("got %+v", e)
	}
	if got := w.places("/device/code"); got != "none body" {
		t.Errorf("sent %s", got)
	}
	w.reconnect(in{"client_auth": "none", "client_secret": nil})
	fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeInvalid, "invalid_client")
	if got := w.places("/device/code"); got != "none body none" {
		t.Errorf("without a secret: sent %s", got)
	}
}

// TestIssue12_08_MethodsThatAreNotOffered: a server that takes no secret is told
// apart before anything is sent to it.
func TestIssue12_08_MethodsThatAreNotOffered(t *testing.T) {
	w := open(t, authsim.Options{Metadata: in{"token_endpoint_auth_methods_supported": []string{"private_key_jwt", "tls_client_auth"}}}, in{"issuer": "{url}"})
	e := fails(t, w.Call("device_start", in{"scopes": scopes}), sdk.CodeUnsupported, "")
	if e.Applied != sdk.NotApplied || !strings.Contains(e.Message, "private_key_jwt") || w.count("/device/code") != 0 {
		t.Errorf("got %+v", e)
	}
	w = open(t, authsim.Options{Metadata: in{"token_endpoint_auth_methods_supported": []string{"none"}}}, in{"issuer": "{url}"})
	w.start()
	if got := w.places("/device/code"); got != "none" {
		t.Errorf("sent %s", got)
	}
}

// TestIssue12_08_TheBasicHeaderIsEncoded: id and secret are form-encoded first
// (RFC 6749 2.3.1).
func TestIssue12_08_TheBasicHeaderIsEncoded(t *testing.T) {
	config := Config{ClientID: "a:b c", ClientSecret: "p%ä+:&"}
	user, password, _ := (&http.Request{Header: basicHeader(config)}).BasicAuth()
	id, _ := url.QueryUnescape(user)
	secret, _ := url.QueryUnescape(password)
	if id != config.ClientID || secret != config.ClientSecret || strings.Contains(user, ":") {
		t.Errorf("%q %q", user, password)
	}
}
