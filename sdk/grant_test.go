package sdk_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// authorizer is a service with an authorization server of its own: each token that it
// gives is the only one that it takes.
type authorizer struct {
	mu      sync.Mutex
	forms   []url.Values  // token requests
	headers []http.Header // of these
	calls   int           // requests to the service
	given   int           // tokens
	refuse  int           // how many of the next requests get a 401
	answer  string        // of the token endpoint, "" = a token
	status  int           // of that answer
}

func (a *authorizer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path == "/oauth/token" {
		a.token(w, r)
		return
	}
	a.calls++
	if a.refuse > 0 || r.Header.Get("Authorization") != fmt.Sprintf("Bearer canary-access-%d", a.given) {
		a.refuse--
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.NewEncoder(w).Encode(map[string]string{"text": r.Header.Get("Content-Type") + " " + string(body)})
}

func (a *authorizer) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	a.forms, a.headers = append(a.forms, r.PostForm), append(a.headers, r.Header)
	if a.answer != "" {
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.answer)
		return
	}
	a.given++
	_, _ = fmt.Fprintf(w, `{"access_token":"canary-access-%d","token_type":"bearer","expires_in":"3600","refresh_token":"canary-refresh-%d"}`, a.given, a.given)
}

type grantConfig struct {
	sdk.HTTPSettings
	ID     string `json:"client_id"`
	Secret string `json:"client_secret" secret:"true"`
	First  string `json:"refresh_token,omitempty" secret:"true"`
	InBody bool   `json:"in_body" default:"false"`
	Scope  string `json:"scope" default:"read"`
	Away   string `json:"token_url" default:"/oauth/token"`
}

type grantOut struct {
	Text string `json:"text"`
}

// grantPlugin posts a form, with the client's own credentials or a refresh token.
func grantPlugin() *sdk.Plugin {
	send := func(c *sdk.Call[grantConfig], grant sdk.Grant) (out grantOut, err error) {
		response, err := c.HTTP().WithHeader("X-Own", "mine").WithGrant(grant).PostForm("/things", url.Values{"a": {"1 2"}})
		if err != nil {
			return out, err
		}
		return out, response.JSON(&out)
	}
	credentials := func(c *sdk.Call[grantConfig]) sdk.Grant {
		return sdk.ClientCredentials{TokenURL: c.Config.Away, ClientID: c.Config.ID, ClientSecret: c.Config.Secret, Scopes: []string{c.Config.Scope}, InBody: c.Config.InBody}
	}
	return sdk.New("granted", "1.0.0", "Has tokens",
		sdk.CheckConnection(func(c *sdk.Call[grantConfig]) (string, error) {
			_, err := c.TokenOf(credentials(c))
			return c.Config.ID, err
		}),
		sdk.Keyed("own", "With the client's credentials", func(c *sdk.Call[grantConfig], _ sdk.NoInput) (grantOut, error) { return send(c, credentials(c)) }),
		sdk.Keyed("renew", "With a refresh token", func(c *sdk.Call[grantConfig], _ sdk.NoInput) (grantOut, error) {
			return send(c, sdk.RefreshToken{TokenURL: c.Config.Away, ClientID: c.Config.ID, ClientSecret: c.Config.Secret, RefreshToken: c.Config.First})
		}),
	)
}

const grantSecret = "canary se/cret"

func openGrant(t *testing.T, more map[string]any) (*sdktest.Plugin, *authorizer) {
	t.Helper()
	service := &authorizer{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	config := map[string]any{"base_url": server.URL, "client_id": "me:you", "client_secret": grantSecret}
	for name, value := range more {
		config[name] = value
	}
	return sdktest.Open(t, grantPlugin(), config), service
}

func TestIssue15_ClientCredentials(t *testing.T) {
	p, service := openGrant(t, nil)
	for range 2 {
		var out grantOut
		p.Call("own", nil).Decode(t, &out)
		if out.Text != "application/x-www-form-urlencoded a=1+2" {
			t.Errorf("the form arrived as %q", out.Text)
		}
	}
	if len(service.forms) != 1 || service.calls != 2 {
		t.Fatalf("%d token requests and %d others for two calls", len(service.forms), service.calls)
	}
	if got := service.forms[0].Encode(); got != "grant_type=client_credentials&scope=read" {
		t.Errorf("asked for a token with %s", got)
	}
	asked := service.headers[0]
	if id, secret, ok := (&http.Request{Header: asked}).BasicAuth(); !ok || id != url.QueryEscape("me:you") || secret != url.QueryEscape(grantSecret) {
		t.Errorf("the client says that it is %q with %q", id, secret)
	}
	if asked.Get("X-Own") != "" || asked.Get("Idempotency-Key") != "" {
		t.Errorf("the token request has headers of the call: %v", asked)
	}
	if account, failure := p.CheckConnection(); account != "me:you" || failure != nil {
		t.Errorf("the test of the connection: %q, %v", account, failure)
	}
	p.Connect(sdktest.Connection, map[string]any{"base_url": "http://127.0.0.1:1", "client_id": "other", "client_secret": "x"})
	if failure := p.Call("own", nil).Err; failure == nil || failure.Applied != sdk.NotApplied || failure.Code != sdk.CodeUnavailable {
		t.Errorf("another client uses the token of the first: %v", failure)
	}
}

func TestIssue15_OneRenewalAfter401(t *testing.T) {
	p, service := openGrant(t, map[string]any{"in_body": true})
	p.Call("own", nil).Decode(t, &grantOut{})
	service.refuse = 1
	p.Call("own", nil).Decode(t, &grantOut{})
	if service.given != 2 || service.calls != 3 {
		t.Errorf("%d tokens and %d requests after one refusal", service.given, service.calls)
	}
	if form := service.forms[1]; form.Get("client_id") != "me:you" || form.Get("client_secret") != grantSecret || service.headers[1].Get("Authorization") != "" {
		t.Errorf("in the body: %v", form)
	}
	service.refuse = 5
	failure := p.Call("own", nil).Err
	if failure == nil || failure.Code != sdk.CodeUnauthorized || service.given != 3 || service.calls != 5 {
		t.Errorf("a service that refuses all: %v after %d tokens and %d requests", failure, service.given, service.calls)
	}
	if p.Host().OpenLeases() != 0 {
		t.Error("a lease is open")
	}
}

func TestIssue15_RefreshToken(t *testing.T) {
	p, service := openGrant(t, map[string]any{"refresh_token": "canary-first", "client_secret": ""})
	p.Call("renew", nil).Decode(t, &grantOut{})
	p.Host().Age(sdktest.Connection, "", time.Hour)
	p.Call("renew", nil).Decode(t, &grantOut{})
	for i, want := range []string{"canary-first", "canary-refresh-1"} {
		if form := service.forms[i]; form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != want || form.Get("client_id") != "me:you" {
			t.Errorf("renewal %d with %v", i, form)
		}
	}
	if stored := p.Host().Token(sdktest.Connection, ""); stored.RefreshToken != "canary-refresh-2" || !stored.ExpiresAt.After(time.Now().Add(50*time.Minute)) {
		t.Errorf("stored %+v", stored)
	}
	bare, _ := openGrant(t, nil)
	if failure := bare.Call("renew", nil).Err; failure == nil || failure.Code != sdk.CodeAuthRequired || failure.Hint == "" {
		t.Errorf("without a refresh token: %+v", failure)
	}
}

func TestIssue15_RefusalsOfTheAuthorizationServer(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		answer string
		code   sdk.Code
		keeps  bool // the refresh token that is stored
	}{
		"a wrong secret":           {401, `{"error":"invalid_client"}`, sdk.CodeUnauthorized, true},
		"a wrong secret, no words": {401, `no`, sdk.CodeUnauthorized, true},
		"a grant that is gone":     {400, `{"error":"invalid_grant"}`, sdk.CodeAuthRequired, false},
		"a scope that is not":      {400, `{"error":"invalid_scope"}`, sdk.CodeInvalid, true},
		"a client without grants":  {400, `{"error":"unauthorized_client"}`, sdk.CodeForbidden, true},
		"an unknown grant":         {400, `{"error":"unsupported_grant_type"}`, sdk.CodeUnsupported, true},
		"too busy":                 {503, `{"error":"temporarily_unavailable"}`, sdk.CodeUnavailable, true},
		"too fast":                 {400, `{"error":"slow_down"}`, sdk.CodeRateLimited, true},
		"a proxy's page":           {403, `<html>invalid_grant</html>`, sdk.CodeForbidden, true},
		"an error of the server":   {500, `oops`, sdk.CodeUnavailable, true},
		"no token":                 {200, `{"token_type":"bearer"}`, sdk.CodeUnexpectedResponse, true},
		"no JSON":                  {200, `<html>log in</html>`, sdk.CodeUnexpectedResponse, true},
		"another kind of token":    {200, `{"access_token":"canary-mac","token_type":"mac"}`, sdk.CodeUnsupported, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, service := openGrant(t, nil)
			service.status, service.answer = c.status, c.answer
			p.Host().SetToken(sdktest.Connection, "", sdk.Token{ID: "1", AccessToken: "canary-old", RefreshToken: "canary-kept", ExpiresAt: time.Now()})
			failure := p.Call("renew", nil).Err
			if failure == nil || failure.Code != c.code || failure.Applied != sdk.NotApplied {
				t.Fatalf("want %s, got %+v", c.code, failure)
			}
			if text := fmt.Sprintf("%+v", *failure); strings.Contains(text, "canary") {
				t.Errorf("a secret shows: %s", text)
			}
			if kept := p.Host().Token(sdktest.Connection, "").RefreshToken == "canary-kept"; kept != c.keeps {
				t.Errorf("the refresh token is kept: %t", kept)
			}
			if service.calls != 0 || len(service.forms) != 1 || p.Host().OpenLeases() != 0 {
				t.Errorf("%d requests, %d token requests, %d open leases", service.calls, len(service.forms), p.Host().OpenLeases())
			}
		})
	}
}

// The secret goes to the token endpoint of the config, wherever that is, and the token
// not there.
func TestIssue15_TheTokenEndpointOnAnotherOrigin(t *testing.T) {
	server := &authorizer{}
	away := httptest.NewServer(server)
	t.Cleanup(away.Close)
	p, service := openGrant(t, map[string]any{"token_url": away.URL + "/oauth/token"})
	service.given = 1 // takes the first token of the other
	p.Call("own", nil).Decode(t, &grantOut{})
	if len(server.forms) != 1 || len(service.forms) != 0 || server.calls != 0 || service.calls != 1 {
		t.Errorf("away %d and %d, at home %d and %d", len(server.forms), server.calls, len(service.forms), service.calls)
	}
}
